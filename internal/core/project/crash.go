package project

import (
	"fmt"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// reportCrash files what agents of a role crashed with, as an error report of
// Loom's own, once this command has decided the attempt. The same again is an
// occurrence of the same bug, and where the governor lets no more through it asks
// the CEO, as for any report: the attempt has ended all the same.
func (d *decision) reportCrash(c *loomv1.AgentCrash, role string) {
	r := &loomv1.ErrorReport{
		Service: Self, Kind: workflow.Crashed, Crash: true, Stack: cut(c.Stack, maxStack),
		Message: cut(fmt.Sprintf("an agent of role %s crashed: %s", role, first(c.Message, "no reason given")), maxCrash),
	}
	d.later(func() error {
		defer d.aside()()
		d.bead, d.execution, d.node, d.attempt = "", "", "", ""
		_, err := d.fileError(r)
		if d.broken == nil && fault.Code(err) != "" { // refused by the governor, or because nothing here mends bugs
			return nil
		}
		return err
	})
}

// MaxCrashes is the most crashes at one attempt that a project can allow.
const MaxCrashes = 100

// What a report keeps of a crash.
const (
	maxCrash = 4 << 10
	maxStack = 8 << 10
)
