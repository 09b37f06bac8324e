package projection

import (
	"maps"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How a visit ended, beside succeeded and failed.
const (
	visitOpen     = "open"
	visitSentBack = "sent-back"
	visitReset    = "reset"
	visitDropped  = "dropped"
)

// visit returns the present visit of a node with the counts of the node's state, or
// nil when it has not begun, as that of a start node never does.
func (x *execution) visit(node string) *visit {
	st := x.state.GetNodes()[node]
	number := max(st.GetVisit(), 1)
	for i := range x.visits {
		if v := &x.visits[i]; v.number == number && v.node == node {
			v.count(st)
			return v
		}
	}
	return nil
}

// begin begins the present visit of a node, unless it has begun already.
func (x *execution) begin(e *loomv1.Event) {
	if x.visit(e.Node) != nil {
		return
	}
	st := x.state.GetNodes()[e.Node]
	v := visit{node: e.Node, number: max(st.GetVisit(), 1), started: clock(e.Time), outcome: visitOpen}
	v.count(st)
	x.visits = append(x.visits, v)
}

// count takes over what the state of the node has of its present visit.
func (v *visit) count(st *loomv1.NodeState) {
	v.attempts, v.timeouts = st.GetAttempts(), 0
	for _, a := range slices.Backward(st.GetHistory()) {
		if a.GetVisit() != v.number {
			break
		}
		if a.GetTimedOut() {
			v.timeouts++
		}
	}
}

func (v *visit) end(e *loomv1.Event, outcome string) {
	if v != nil {
		v.ended, v.outcome = clock(e.Time), outcome
	}
}

// leave ends the visits that an event cuts short, before it is folded.
func (x *execution) leave(e *loomv1.Event) {
	var nodes []string
	how := visitReset
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ReworkStarted:
		nodes = f.ReworkStarted.GetResetNodes()
	case *loomv1.Event_ExecutionMoved:
		nodes = f.ExecutionMoved.GetResetNodes()
	case *loomv1.Event_ExecutionEnded:
		nodes, how = slices.Collect(maps.Keys(x.state.GetNodes())), visitDropped
	}
	for _, id := range nodes {
		st := x.state.GetNodes()[id]
		if st == nil || settled(st) {
			continue
		}
		if e.GetReworkStarted() != nil && id == e.Node {
			x.visit(id).end(e, visitSentBack)
			continue
		}
		x.visit(id).end(e, how)
	}
}

func settled(st *loomv1.NodeState) bool {
	switch st.GetStatus() {
	case loomv1.NodeStatus_NODE_STATUS_SUCCEEDED, loomv1.NodeStatus_NODE_STATUS_FAILED, loomv1.NodeStatus_NODE_STATUS_SKIPPED,
		loomv1.NodeStatus_NODE_STATUS_DETACHED:
		return true
	}
	return false
}

// visited notes what an event that was folded means for the visit of its node.
func (x *execution) visited(e *loomv1.Event) {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptDispatched:
		if f.AttemptDispatched.GetNumber() == 1 {
			x.begin(e)
		}
		x.visit(e.Node)
	case *loomv1.Event_AttemptEnded:
		x.visit(e.Node)
	case *loomv1.Event_ApprovalRequested:
		if e.Node != "" && x.state.GetNodes()[e.Node].GetAttempts() == 0 {
			x.begin(e)
		}
	case *loomv1.Event_NodeCompleted, *loomv1.Event_NodeSkipped:
		x.visit(e.Node).end(e, word(x.state.GetNodes()[e.Node].GetStatus()))
	}
}
