package workflow

import (
	"fmt"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// byNothing labels edges that are taken because there was nothing left to do.
const byNothing = "nothing left"

// Withdraw takes back the change that stands, for example because it landed with
// other work. What was approved or is being asked about it lapses, and the question
// is not put again: there is nothing left to approve, and the commit node finds out
// what the target has.
func (r Run) Withdraw(reason string) error {
	if !running(r.X) || r.X.Change == nil {
		return nil
	}
	if err := r.withdrawChange("", reason); err != nil {
		return err
	}
	return r.advance()
}

// Withdrawable says whether a change can be withdrawn from outside: it is not yet
// approved, nor on its way to the target, where git finds out by itself; and it is
// meant for the target.
func (r Run) Withdrawable() bool {
	if r.X.Change == nil || r.X.Approved != nil || r.X.Candidate != nil || !running(r.X) {
		return false
	}
	commits := func(n *node) bool { return n.Kind == loomv1.NodeKind_NODE_KIND_COMMIT }
	open := func(n *node) bool { return commits(n) && r.state(n).GetAttempt() != nil }
	return slices.ContainsFunc(r.Def.order, commits) && !slices.ContainsFunc(r.Def.order, open)
}

// withdrawChange clears the change that stands and what is open about it.
func (r Run) withdrawChange(node, reason string) error {
	if err := r.Emit(&loomv1.Event{Node: node, Fact: &loomv1.Event_ChangeProposed{
		ChangeProposed: &loomv1.ChangeProposed{Reason: reason},
	}}); err != nil {
		return err
	}
	if r.X.Approved != nil {
		if err := r.Emit(lapse(node, r.X.Approved.Approval, reason)); err != nil {
			return err
		}
	}
	for _, n := range r.Def.order {
		st := r.state(n)
		if st.GetApproval() == "" || st.Asks != loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL {
			continue
		}
		if err := r.lapse(n, st.Approval, reason); err != nil {
			return err
		}
		if err := r.askWithout(n); err != nil {
			return err
		}
	}
	return nil
}

// askWithout goes on at an approval whose change is withdrawn: it is passed over
// where that was what it is about, and otherwise asked without one.
func (r Run) askWithout(n *node) error {
	if r.nothingToApprove(n) {
		return r.doneWithout(n, "there is nothing to approve")
	}
	return r.ask(n)
}

// nothingToApprove says whether an approval node is about the change that a commit
// node is to make a candidate of, and the work before it has left none.
func (r Run) nothingToApprove(n *node) bool {
	covers := func(m *node) bool { return m.Kind == loomv1.NodeKind_NODE_KIND_COMMIT && m.approver == n }
	return r.X.Change == nil && n.isApproval() && slices.ContainsFunc(r.Def.order, covers) && r.firstWorking(n) != nil
}

// nothingToLand says whether a landing finds that the target has all of it, and
// that this was verified.
func (r Run) nothingToLand(n *node) bool {
	return n.Kind == loomv1.NodeKind_NODE_KIND_LAND && r.X.Candidate.GetPresent() && r.vouched(n, r.X.Candidate.Commit) == nil
}

// doneWithout passes a node over that has nothing to do, and goes on after it.
func (r Run) doneWithout(n *node, why string) error {
	if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_NodeSkipped{NodeSkipped: &loomv1.NodeSkipped{Reason: why}}}); err != nil {
		return err
	}
	return r.settle(n, r.onward(n), byNothing)
}

// unconfirmed returns where work begins again whose verification found that the
// target has not what was asked for, though there was nothing to commit: the first
// node that worked. It does so as often as the node may send work back, and once
// where it says nothing of that.
func (r Run) unconfirmed(n *node) *node {
	if n.Kind != loomv1.NodeKind_NODE_KIND_VERIFY || !r.X.Candidate.GetPresent() || r.state(n).GetReworks() >= max(n.OnFailure.GetMax(), 1) {
		return nil
	}
	return r.firstWorking(n)
}

// firstWorking returns the first working node before n that has run in its present
// visit, or nil.
func (r Run) firstWorking(n *node) *node {
	for _, m := range r.Def.order[:n.index] {
		if m.working() && n.follows(m) && len(r.state(m).GetHistory()) > 0 && ran(r.state(m)) {
			return m
		}
	}
	return nil
}

// Nothing says of an execution that it ended with nothing left to do, and by what;
// it is empty for any other.
func Nothing(x *loomv1.Execution) string {
	c := x.GetCandidate()
	switch {
	case !c.GetPresent() || x.Landing != nil:
		return ""
	case c.DoneByBead != "":
		return fmt.Sprintf("nothing was left to do: commit %s of bead %s has the change, and %s of the target passed", short(c.DoneByCommit), c.DoneByBead, short(c.Commit))
	}
	return fmt.Sprintf("nothing was left to do: commit %s of the target passed as it is", short(c.Commit))
}
