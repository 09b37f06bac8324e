package workflow

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// rework sends work from a node back to an ancestor: the target and whatever
// it has led to begin a new visit, with their history kept, and the edges out
// of them are unsettled again. Open attempts and approvals among them are
// withdrawn, and an approval that they gave lapses. A target that had been
// passed over runs this time.
func (r Run) rework(from, to *node, count uint32, reason string) error {
	return r.reworkAs(from, to, &loomv1.ReworkStarted{Count: count, Reason: reason})
}

// reworkAs is rework with a fact that says how it counts and why.
func (r Run) reworkAs(from, to *node, f *loomv1.ReworkStarted) error {
	part := r.anewFor(from, to)
	if err := r.withdraw(part, "the work goes back to "+to.Id); err != nil {
		return err
	}
	if r.X.Approved != nil && slices.ContainsFunc(part, (*node).isApproval) {
		if err := r.lapse(from, r.X.Approved.Approval, "the work goes back to "+to.Id); err != nil {
			return err
		}
	}
	via, edges := r.anew(to, part)
	f.To, f.ResetNodes, f.ResetEdges = to.Id, ids(part), edges
	if err := r.emit(from, &loomv1.Event{Fact: &loomv1.Event_ReworkStarted{ReworkStarted: f}}); err != nil {
		return err
	}
	return r.enter(via)
}

// touched returns a node and those after it that have been reached.
func (r Run) touched(to *node) []*node {
	part := []*node{to}
	for _, n := range r.Def.order[to.index+1:] {
		if n.follows(to) && r.state(n).GetStatus() != unreached {
			part = append(part, n)
		}
	}
	return part
}

func (r Run) settledFrom(part []*node) []string {
	var edges []string
	for _, n := range part {
		for _, e := range n.out {
			if _, ok := r.X.Edges[e.Id]; ok {
				edges = append(edges, e.Id)
			}
		}
	}
	return edges
}

func ids(nodes []*node) []string {
	s := make([]string, len(nodes))
	for i, n := range nodes {
		s[i] = n.Id
	}
	return s
}

// withdrawAll ends everything that is open.
func (r Run) withdrawAll(why string) error {
	if err := r.withdraw(r.Def.order, why); err != nil || r.X.LimitApproval == "" {
		return err
	}
	return r.Emit(lapse("", r.X.LimitApproval, why))
}

// HostStops is why an agent gives an attempt back whose host is stopped.
const HostStops = "host is stopping"

// Withdrawn is the code of an attempt that was ended before it came to anything: its
// work was stopped, or went on elsewhere.
const Withdrawn = "attempt/withdrawn"

// withdraw ends the open attempts and approvals of some nodes.
func (r Run) withdraw(nodes []*node, why string) error {
	for _, n := range nodes {
		st := r.state(n)
		if a := st.GetAttempt(); a != nil {
			out := &loomv1.Outcome{Status: failure, Code: Withdrawn, Summary: why}
			if err := r.endAttempt(n, a, out, false); err != nil {
				return err
			}
		}
		if st.GetApproval() != "" {
			if err := r.lapse(n, st.Approval, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastWorking returns the last working node before n that has run in its
// present visit, or nil.
func (r Run) lastWorking(n *node) *node {
	for i := n.index - 1; i >= 0; i-- {
		if m := r.Def.order[i]; m.working() && n.follows(m) && len(r.state(m).GetHistory()) > 0 && ran(r.state(m)) {
			return m
		}
	}
	return nil
}

func ran(st *loomv1.NodeState) bool { return st.Status == succeeded || st.Status == failed }
