package project

import (
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// recheck has an execution, and all that works for it, take over the checks that the
// project has now.
func (d *decision) recheck(c *loomv1.RecheckExecution) error {
	x, err := d.runningOne(c.GetExecution())
	if err != nil {
		return err
	}
	return d.recheckTree(x)
}

func (d *decision) recheckTree(x *loomv1.Execution) error {
	defer d.about(x)()
	if err := d.run(x).Recheck(d.s.required(d.s.p.Definitions[x.DefinitionHash]), d.s.approval); err != nil {
		return err
	}
	for _, c := range d.s.childrenOf(x) {
		if !running(c) {
			continue
		}
		if err := d.recheckTree(c); err != nil {
			return err
		}
	}
	return nil
}
