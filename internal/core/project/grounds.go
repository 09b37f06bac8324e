package project

import (
	"fmt"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// An approval rests on decisions: the one that records it, those that led to
// that, and the options that they took. When one of them is superseded or given
// up the approval lapses, and with it the place in the queue of the commit lock.

func (d *decision) followShaken(e *loomv1.Event) {
	if f := e.GetDecisionAbandoned(); f != nil {
		d.shake(f.Id, fmt.Sprintf("what it rests on was given up: %s, because %s", f.Id, f.Reason))
		return
	}
	f := e.GetDecisionSuperseded()
	why := fmt.Sprintf("what it rests on was superseded: %s by %s", f.Old, f.New)
	if r := f.Edge.GetRationale(); r != "" {
		why += ", because " + r
	}
	d.shake(f.Old, why)
}

// shake has the CEO asked again about work that rests on what counts no more,
// once the core that decides is done.
func (d *decision) shake(id, why string) {
	shaken := d.s.shakenBy(id)
	for _, x := range d.s.running() {
		if x.Approved == nil || x.Landing != nil || !shaken[x.Approved.Decision] {
			continue
		}
		d.later(func() error { return d.askAgain(x.Id, cut(why, MaxReason)) })
	}
}

func (d *decision) askAgain(execution, why string) error {
	x := d.s.execution(execution)
	if !running(x) || x.Approved == nil {
		return nil
	}
	defer d.about(x)()
	return d.run(x).AskAgain(d.s.approval(x.Approved.Approval).GetNode(), why)
}

// shakenBy returns a node and all that rests on it.
func (s *State) shakenBy(id string) map[string]bool {
	shaken := map[string]bool{id: true}
	for _, n := range s.graph.Dependents(id) {
		shaken[n.Id] = true
	}
	return shaken
}

// contradiction refuses to let work be committed whose decisions took an option
// that an active decision of other running work rejected, or the other way
// round, or one of whose rivals that took: what is approved cannot both be
// right. What a train has taken along, and found good, may be on its target
// already and is not refused any more.
func (s *State) contradiction(x *loomv1.Execution) error {
	if x.GetApproved().GetDecision() == "" || workflow.PassedByTrain(x) {
		return nil
	}
	for _, n := range s.graph.Ancestors(x.Approved.Decision, loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO) {
		if n.Type != loomv1.DecisionType_DECISION_TYPE_DECISION || n.Status != loomv1.DecisionStatus_DECISION_STATUS_ACTIVE {
			continue
		}
		for _, e := range s.graph.Edges(n.Id, "") {
			if other := s.opponent(x, e); other != nil {
				return fault.New("graph/contradiction", "%s of %s %s %s, which %s of %s %s", n.Id, x.Id, took(e.Type), e.To,
					other.Id, other.Execution, took(against(e.Type))).
					Want("supersede or abandon one of the two decisions, or close one of the two beads")
			}
			if other, rival := s.rival(x, e); other != nil {
				return fault.New("graph/contradiction", "%s of %s chose %s, and %s of %s chose %s, which cannot be right together", n.Id, x.Id, e.To,
					other.Id, other.Execution, rival).
					Want("supersede or abandon one of the two decisions, or close one of the two beads")
			}
		}
	}
	return nil
}

// contradicted is contradiction of the execution of an attempt.
func (s *State) contradicted(attempt string) error {
	x, _ := s.attempt(attempt)
	return s.contradiction(x)
}

// opponent returns an active decision of other running work that is against
// what an edge says of an option, or nil.
func (s *State) opponent(x *loomv1.Execution, e *loomv1.DecisionEdge) *loomv1.DecisionNode {
	opposite := against(e.Type)
	if opposite == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_UNSPECIFIED {
		return nil
	}
	for _, o := range s.graph.Edges("", e.To) {
		n, _ := s.graph.Node(o.From)
		if o.Type == opposite && n.GetStatus() == loomv1.DecisionStatus_DECISION_STATUS_ACTIVE &&
			n.GetExecution() != x.Id && s.open[n.GetExecution()] && !s.graph.Imported(n.Id) {
			return n
		}
	}
	return nil
}

// rival returns an active decision of other running work that took an option
// which cannot be right together with the one that an edge takes, and that
// option.
func (s *State) rival(x *loomv1.Execution, e *loomv1.DecisionEdge) (*loomv1.DecisionNode, string) {
	if e.Type != loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN || !s.graph.Contested(e.To) {
		return nil, ""
	}
	for _, other := range s.running() {
		if other.Id == x.Id {
			continue
		}
		for _, n := range s.graph.List(graph.Filter{
			Execution: other.Id, Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Status: loomv1.DecisionStatus_DECISION_STATUS_ACTIVE,
		}) {
			for _, o := range s.graph.Edges(n.Id, "") {
				if o.Type == e.Type && s.graph.Rivals(e.To, o.To) {
					return n, o.To
				}
			}
		}
	}
	return nil, ""
}

// against returns the edge that says the opposite, unspecified for an edge that
// has none.
func against(t loomv1.DecisionEdgeType) loomv1.DecisionEdgeType {
	switch t {
	case loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN:
		return loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED
	case loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED:
		return loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN
	}
	return loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_UNSPECIFIED
}

func took(t loomv1.DecisionEdgeType) string {
	if t == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN {
		return "chose"
	}
	return "rejected"
}
