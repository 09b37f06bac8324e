package workflow

import (
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Move goes on at a node of the CEO's choice, whichever it is. All that is open
// at nodes is withdrawn. The node and what follows it begin anew, with their
// history kept; what else is not settled is skipped. So nothing but the node can
// start next, by the same rule as ever, its gate included. A question about a
// limit stays open, and the node waits for its answer: a move answers it no more
// than it ends a pause.
//
// What was approved lapses if an approval begins anew. A move stands in for no
// evidence: commit, verify and land want theirs as before.
func (r Run) Move(to, reason string) error {
	for _, n := range r.Def.order { // one key cannot pass by what takes several
		if m := r.Def.nodes[to]; n.Keys > 1 && m != nil && n != m && !n.follows(m) && r.state(n).GetStatus() != succeeded {
			return fault.New("key/missing", "node %q takes the signatures of %d keys, and would be passed by", n.Id, n.Keys).At("node").Got(to).
				Want("answer what it asks, or move to where it is still to come")
		}
	}
	return r.turnTo(to, reason, "the CEO moved on to "+to)
}

// GoTo goes on at a node as a move would, for a reason that is nobody's order.
func (r Run) GoTo(to, reason string) error { return r.turnTo(to, reason, reason) }

// AskAgain goes back to the approval that covers what is done, as a move would,
// because what it rested on no longer holds. It does nothing where no approval
// covers anything, or the work has landed.
func (r Run) AskAgain(node, reason string) error {
	if r.X.Approved == nil || r.X.Landing != nil {
		return nil
	}
	return r.turnTo(node, reason, reason)
}

// turnTo goes on at a node; words say why what is open ends.
func (r Run) turnTo(to, reason, words string) error {
	n := r.Def.nodes[to]
	switch {
	case !running(r.X):
		return r.notRunning()
	case r.X.Closing != nil:
		return fault.New("override/ended", "execution %q is being closed since %s", r.X.Id, r.X.Closing.Time.AsTime().Format(timeLayout))
	case n == nil:
		return fault.New("workflow/node", "workflow %q has no node %q", r.X.Definition, to).At("node")
	case n.Detached:
		return fault.New("workflow/detached", "node %q is detached: it is done after the end", to).At("node")
	}
	from := r.at(n)
	part := slices.DeleteFunc(r.touched(n), func(n *node) bool { return r.state(n).GetStatus() == unreached })
	if err := r.withdraw(r.Def.order, words); err != nil {
		return err
	}
	if err := r.moved(from, n, part, reason, words); err != nil {
		return err
	}
	return r.advance()
}

// at returns where the execution is: the first node with something open, or n.
func (r Run) at(n *node) *node {
	for _, m := range r.Def.order {
		if st := r.state(m); st.GetStatus() != unreached && !isSettled(st) {
			return m
		}
	}
	return n
}

// moved resets the part that a move begins anew, skips what it leaves behind,
// and sees to it that an edge leads to the target.
func (r Run) moved(from, to *node, part []*node, reason, words string) error {
	if r.X.Approved != nil && slices.ContainsFunc(part, (*node).isApproval) {
		if err := r.lapse(from, r.X.Approved.Approval, words); err != nil {
			return err
		}
	}
	via, edges := r.anew(to, part)
	if err := r.emit(from, &loomv1.Event{Fact: &loomv1.Event_ExecutionMoved{ExecutionMoved: &loomv1.ExecutionMoved{
		To: to.Id, ResetNodes: ids(part), ResetEdges: edges, Reason: reason,
	}}}); err != nil {
		return err
	}
	if err := r.leave(to, via); err != nil {
		return err
	}
	return r.enter(via)
}

// anew returns the edges that are to be unsettled so that a part can begin anew
// at a node, and the one among them, if any, that then has to be taken.
func (r Run) anew(to *node, part []*node) (via *edge, edges []string) {
	via, edges = r.entry(to), r.settledFrom(part)
	if _, settled := r.X.Edges[via.id()]; settled {
		edges = append(edges, via.Id)
	}
	return via, edges
}

// enter takes an edge on nobody's outcome, unless it has been settled since.
func (r Run) enter(via *edge) error {
	if _, settled := r.X.Edges[via.id()]; via == nil || settled {
		return nil
	}
	return r.emit(via.from, &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{
		Edge: via.Id, From: via.From, To: via.To, Taken: true, Outcome: byOverride,
	}}})
}

// entry returns the edge into a node that has to be taken so that it can
// start: nil if one is, or none leads there; else one that is open yet, or else
// one that is dead.
func (r Run) entry(to *node) *edge {
	var open, dead *edge
	for _, e := range to.in {
		switch taken, settled := r.X.Edges[e.Id]; {
		case taken:
			return nil
		case !settled && open == nil:
			open = e
		case settled && dead == nil:
			dead = e
		}
	}
	if open != nil {
		return open
	}
	return dead
}

// leave skips what is not settled and does not follow a node, but takes the
// edge that is to lead there.
func (r Run) leave(to *node, via *edge) error {
	for _, n := range r.Def.order {
		if n == to || n.follows(to) || isSettled(r.state(n)) {
			continue
		}
		var taken []*edge
		if via != nil && via.from == n {
			taken = []*edge{via}
		}
		if err := r.passOver(n, taken, byOverride); err != nil {
			return err
		}
	}
	return nil
}

// id is an edge's id, or "" for no edge.
func (e *edge) id() string {
	if e == nil {
		return ""
	}
	return e.Id
}

// notRunning refuses what can only be done to a running execution.
func (r Run) notRunning() error {
	return fault.New("override/ended", "execution %q is not running: it is %s", r.X.Id, statusWord(r.X.Status))
}
