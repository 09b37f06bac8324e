package workflow

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The actions of a gate that does not hold, by their short names.
const (
	gateBlocks  = loomv1.GateAction_GATE_ACTION_BLOCK
	gateSkips   = loomv1.GateAction_GATE_ACTION_SKIP
	gateReplans = loomv1.GateAction_GATE_ACTION_REPLAN
	gateFails   = loomv1.GateAction_GATE_ACTION_FAIL
)

// readGate reads a node's gate and, if it does not hold, does what the gate
// says. It says whether the node may start and, if not, whether work went back.
// A gate that cannot be read blocks.
func (r Run) readGate(n *node) (open, back bool, err error) {
	open, unreadable := n.pass.Holds(r.earlier(n))
	if open {
		return true, false, nil
	}
	action, why := max(n.Gate.OnFailure, gateBlocks), fmt.Sprintf("the gate of %q does not hold: %s", n.Id, n.pass)
	used := r.state(n).GetReplans()
	switch {
	case unreadable != nil:
		action, why = gateBlocks, fmt.Sprintf("the gate of %q cannot be read: %s", n.Id, unreadable)
	case action == gateReplans && used >= n.Gate.Max && n.Gate.Passes:
		return true, false, nil
	case action == gateReplans && used >= n.Gate.Max:
		action, why = gateBlocks, fmt.Sprintf("%s, after it sent work back %s", why, times(used))
	}
	return false, action == gateReplans, r.shut(n, action, why, used)
}

// shut does what a gate says that does not hold.
func (r Run) shut(n *node, action loomv1.GateAction, why string, used uint32) error {
	f := &loomv1.GateFailed{Action: action, Reason: why}
	if action == gateReplans {
		f.Count = used + 1
	}
	if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_GateFailed{GateFailed: f}}); err != nil {
		return err
	}
	switch action {
	case gateSkips:
		return r.gap(n, why, byGap)
	case gateReplans:
		return r.rework(n, n.replan, r.state(n).GetReworks(), why)
	case gateFails:
		return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED, why)
	}
	return r.request(n, &loomv1.Approval{
		Kind: escalation, Gate: true, Reason: "gate/blocked: " + why,
		Question: cut(fmt.Sprintf("%s is kept from starting: how is %q to continue?", n.Id, r.Bead.GetGoal()), SummaryBytes),
	})
}

// gap goes on without a node, and notes that.
func (r Run) gap(n *node, why, label string) error {
	if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_GapNoted{GapNoted: &loomv1.GapNoted{Reason: why}}}); err != nil {
		return err
	}
	if r.state(n).GetStatus() == unreached {
		return r.passOver(n, r.onward(n), label)
	}
	return r.complete(n, false, r.onward(n), label)
}

func times(n uint32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
