package simulation

import (
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// passable reads the gate of a node, for itself: workflowtest draws few
// conditions.
func (o *oracle) passable(x *execution, n *nodeOracle) bool {
	if n.def.Gate == nil || n.waived {
		return true
	}
	switch n.def.Gate.Condition {
	case "true":
		return true
	case "execution.dispatches % 2 == 0":
		return x.dispatches%2 == 0
	case "execution.dispatches > 3":
		return x.dispatches > 3
	}
	return false
}

func (o *oracle) gateFailed(x *execution, n *nodeOracle, f *loomv1.GateFailed) {
	action := strings.ToLower(strings.TrimPrefix(f.Action.String(), "GATE_ACTION_"))
	o.w.see("gate: " + action)
	if o.passable(x, n) || !o.ready(x, n.def.Id) {
		o.broken(9, "the gate of %s fails though it holds, or before its time", n.def.Id)
	}
	if f.Action == loomv1.GateAction_GATE_ACTION_REPLAN {
		x.replans = n.def.Id
		if n.replans++; n.replans > n.def.Gate.Max {
			o.broken(5, "the gate of %s sends work back for the %d. time, it may %d times", n.def.Id, n.replans, n.def.Gate.Max)
		}
	}
}

// halted says whether an open escalation of the execution halts all else.
func (o *oracle) halted(x *execution) bool {
	return slices.ContainsFunc(o.inbox, func(a *asked) bool { return a.Execution == x.id && a.Halts })
}

// taken reads the condition of an edge that was not taken on the CEO's word, past a
// gap, or past a node that had nothing left to do.
func (o *oracle) taken(x *execution, n *nodeOracle, s *loomv1.EdgeSettled) {
	if !s.Taken || s.Outcome == "override" || s.Outcome == "gap" || s.Outcome == "nothing left" {
		return
	}
	i := slices.IndexFunc(x.def.Edges, func(e *loomv1.EdgeDefinition) bool { return e.Id == s.Edge })
	holds := true
	switch x.def.Edges[i].Condition {
	case "false", "context.missing == 1":
		holds = false
	case "outcome.ok":
		holds = n.good
	case "!outcome.ok":
		holds = !n.good
	}
	if !holds {
		o.broken(9, "edge %s is taken, and its condition %q does not hold", s.Edge, x.def.Edges[i].Condition)
	}
}
