package workflow

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// CloseNow ends the execution on the CEO's word, whoever is in the middle of what.
func (r Run) CloseNow(reason string) error {
	if !running(r.X) {
		return r.notRunning()
	}
	return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED, reason)
}

// Close has the execution end at a step's boundary, see [Run.EndClosing]: from now on
// it is held, so whoever is in the middle of a step gives the attempt back after it.
// Closing again changes nothing.
func (r Run) Close(reason string) error {
	if !running(r.X) {
		return r.notRunning()
	}
	if r.X.Closing != nil {
		return nil
	}
	return r.Emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionClosing{ExecutionClosing: &loomv1.ExecutionClosing{Reason: reason}}})
}

// EndClosing ends an execution that is closing and that nobody is in the middle of a
// step of; the caller knows that of those that work for it. What was done with the very
// last step counts: where it left nothing to do, the execution is complete.
func (r Run) EndClosing() error {
	if !running(r.X) || r.X.Closing == nil || InStep(r.X) {
		return nil
	}
	over := !slices.ContainsFunc(r.Def.order, func(n *node) bool { return !isSettled(r.state(n)) })
	if over {
		return r.done()
	}
	return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED, r.X.Closing.Text)
}

// InStep says whether an agent is in the middle of a step of an execution: whether
// anybody holds an attempt of it.
func InStep(x *loomv1.Execution) bool {
	for _, st := range x.GetNodes() {
		if st.GetAttempt().GetClaimant() != nil {
			return true
		}
	}
	return false
}
