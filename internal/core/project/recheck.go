package project

import (
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// recheck has an execution take over the checks that the project has now.
func (d *decision) recheck(c *loomv1.RecheckExecution) error {
	x, err := d.runningOne(c.GetExecution())
	if err != nil {
		return err
	}
	defer d.about(x)()
	return d.run(x).Recheck(d.s.required(d.s.p.Definitions[x.DefinitionHash]), d.s.approval)
}
