package workflow

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Recheck gives the execution other checks of its project, which count from the next
// verification on. Open questions about nodes are asked anew, since the checks are a
// part of them; asked returns what was asked. The same checks change nothing.
func (r Run) Recheck(checks []string, asked func(id string) *loomv1.Approval) error {
	if !running(r.X) {
		return r.notRunning()
	}
	if slices.Equal(checks, r.X.ProjectChecks) {
		return nil
	}
	if err := r.Emit(&loomv1.Event{Fact: &loomv1.Event_ChecksTaken{ChecksTaken: &loomv1.ChecksTaken{Checks: checks}}}); err != nil {
		return err
	}
	for _, n := range r.Def.order {
		id := r.state(n).GetApproval()
		if id == "" {
			continue
		}
		old := asked(id)
		if err := r.lapse(n, old.Id, "the checks of the execution are others now"); err != nil {
			return err
		}
		if err := r.request(n, &loomv1.Approval{Kind: old.Kind, Question: old.Question, Reason: old.Reason, Gate: old.Gate}); err != nil {
			return err
		}
	}
	return nil
}

// rechecked folds checks of the project that were taken over.
func (f folder) rechecked(checks []string) {
	f.x.ProjectChecks = slices.Clone(checks)
	f.x.Checks = required(f.x)
}
