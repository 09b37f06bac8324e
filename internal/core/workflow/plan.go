package workflow

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// plans says whether a node makes the plan of those after it.
func (n *node) plans() bool {
	return n.Phase.GetPart() == loomv1.PhasePart_PHASE_PART_PLAN
}

// planning says whether a node has to wait because a planner before it is about
// to plan anew. What has begun by the plan before goes on.
func (r Run) planning(n *node) bool {
	for _, m := range r.Def.order[:n.index] {
		if m.plans() && n.follows(m) {
			return !isSettled(r.state(m))
		}
	}
	return false
}

// anewFor returns the nodes that begin anew when work goes back from one to
// another: all that this has led to, or, for one that plans, what looks at the
// plan, and where the work came from, which was not done; what was done by the
// plan before stays.
func (r Run) anewFor(from, to *node) []*node {
	part := r.touched(to)
	if !to.plans() {
		return part
	}
	return slices.DeleteFunc(part, func(n *node) bool {
		return n != to && n != from && !slices.Contains(r.Def.def.GetBlueprint().GetAfter(), n.Id)
	})
}

// adopt has the execution go on by the definition that a planner's outcome asks
// for. A plan that cannot be carried out makes the outcome a failure, with all
// that is wrong with it in the notes. It returns what to go on with: the run on
// the new definition, and its node.
func (r Run) adopt(n *node, a *loomv1.Attempt, out *loomv1.Outcome) (Run, *node, *loomv1.Outcome, error) {
	if !n.plans() || out.Status != success || r.Planned == nil {
		return r, n, out, nil
	}
	def, plan, err := r.Planned(out)
	var f *loomv1.PlanAdopted
	if err == nil && def != nil {
		f, err = r.carried(n, def)
	}
	var bad *fault.Error
	switch {
	case errors.As(err, &bad):
		return r, n, unsound(out, bad), nil
	case err != nil || def == nil:
		return r, n, out, err
	}
	plan = proto.CloneOf(plan)
	plan.Number = r.X.Plan.GetNumber() + 1
	f.Definition, f.Hash, f.Plan = def.def, plan.DefinitionHash, plan
	if err := r.Emit(&loomv1.Event{Node: n.Id, Attempt: a.Id, Fact: &loomv1.Event_PlanAdopted{PlanAdopted: f}}); err != nil {
		return r, n, out, err
	}
	r.Def = def
	return r, def.nodes[n.Id], out, nil
}

// unsound is the failure that a plan is which cannot be carried out.
func unsound(out *loomv1.Outcome, bad *fault.Error) *loomv1.Outcome {
	out = proto.CloneOf(out)
	out.Status, out.Code, out.Refusal = failure, bad.Code, cut(bad.Error(), SummaryBytes)
	out.Notes = cut(notAdopted+bad.Lines()+"\n"+out.Notes, NotesBytes)
	return out
}

// notAdopted begins the notes of an unsound plan.
const notAdopted = "The plan was not adopted:\n"

// wasUnsound says whether what was recorded of an outcome is that its plan is
// unsound, with notes that were added to its own.
func wasUnsound(recorded, given *loomv1.Outcome) bool {
	return strings.HasPrefix(recorded.GetNotes(), notAdopted) &&
		(strings.HasSuffix(recorded.Notes, "\n"+given.GetNotes()) || strings.HasSuffix(recorded.Notes, cutMark))
}

// carried says what of the execution is carried over to another definition:
// what has begun must be in it as it was, and edges between what has begun and
// what has not are as the nodes before them ended.
func (r Run) carried(planner *node, def *Compiled) (*loomv1.PlanAdopted, error) {
	f := &loomv1.PlanAdopted{Edges: map[string]bool{}}
	for _, id := range slices.Sorted(maps.Keys(r.X.Nodes)) {
		was, is, begun := r.Def.nodes[id], def.nodes[id], r.state(r.Def.nodes[id]).GetStatus() != unreached
		switch {
		case begun && id != planner.Id && (is == nil || !proto.Equal(was.NodeDefinition, is.NodeDefinition)):
			return nil, fault.New("plan/begun", "node %q has begun, and the plan changes it", id)
		case is == nil:
			f.DroppedNodes = append(f.DroppedNodes, id)
		}
	}
	if def.nodes[planner.Id] == nil || !def.nodes[planner.Id].plans() {
		return nil, fault.New("plan/begun", "the planner is not in its own plan")
	}
	for _, n := range def.order {
		for _, e := range n.out {
			if taken, settled := r.carriedEdge(n, e); settled {
				f.Edges[e.Id] = taken
			}
		}
	}
	return f, nil
}

// carriedEdge says whether an edge of the new definition is settled, and taken:
// as it was, or, where it is new, as its source ended.
func (r Run) carriedEdge(n *node, e *edge) (taken, settled bool) {
	was := r.Def.nodes[n.Id]
	if was == nil {
		return false, false
	}
	led := false
	for _, o := range was.out {
		t, is := r.X.Edges[o.Id]
		if o.To == e.To && o.Outcome == e.Outcome && o.Condition == e.Condition {
			return t, is
		}
		led = led || t
	}
	st := r.state(was)
	return st.GetStatus() == succeeded || led, isSettled(st)
}

// planned folds a plan that was adopted: definition, edges and nodes.
func (f folder) planned(p *loomv1.PlanAdopted) error {
	if f.x.Nodes[f.e.Node].GetAttempt().GetId() != f.e.Attempt || f.e.Attempt == "" || p.GetHash() == "" {
		return f.wrong("no planner is at work")
	}
	for _, id := range p.DroppedNodes {
		if st := f.x.Nodes[id]; st == nil || st.Status != unreached || st.Attempt != nil || st.Approval != "" {
			return f.wrong("node %q cannot be dropped", id)
		}
	}
	for _, id := range p.DroppedNodes {
		delete(f.x.Nodes, id)
	}
	f.x.DefinitionHash, f.x.Edges = p.Hash, maps.Clone(p.Edges)
	if f.x.Edges == nil {
		f.x.Edges = map[string]bool{}
	}
	f.x.Plan = proto.CloneOf(p.Plan)
	f.x.Plan.At = f.e.Time
	return nil
}
