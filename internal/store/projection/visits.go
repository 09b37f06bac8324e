package projection

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// visitKey names a visit of a node of an execution.
type visitKey struct {
	node  string
	visit uint32
}

// visit is what a transaction has to write of one.
type visit struct {
	started            *timestamppb.Timestamp // unset unless it begins in this transaction
	ended              *timestamppb.Timestamp
	outcome            string
	attempts, timeouts uint32
}

// How a visit ended, beside succeeded and failed.
const (
	visitOpen     = "open"
	visitSentBack = "sent-back"
	visitReset    = "reset"
	visitDropped  = "dropped"
)

// visit returns the present visit of a node, filled from the node's state.
func (x *execution) visit(node string) *visit {
	st := x.state.GetNodes()[node]
	key := visitKey{node, max(st.GetVisit(), 1)}
	v := x.visits[key]
	if v == nil {
		v = &visit{outcome: visitOpen}
		x.visits[key] = v
	}
	v.attempts, v.timeouts = st.GetAttempts(), 0
	for _, a := range slices.Backward(st.GetHistory()) {
		if a.GetVisit() != key.visit {
			break
		}
		if a.GetTimedOut() {
			v.timeouts++
		}
	}
	return v
}

// begin marks that a visit begins, unless it has begun already.
func (v *visit) begin(e *loomv1.Event) {
	if v.started == nil {
		v.started = e.Time
	}
}

func (v *visit) end(e *loomv1.Event, outcome string) { v.ended, v.outcome = e.Time, outcome }

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
	case loomv1.NodeStatus_NODE_STATUS_SUCCEEDED, loomv1.NodeStatus_NODE_STATUS_FAILED, loomv1.NodeStatus_NODE_STATUS_SKIPPED:
		return true
	}
	return false
}

// visited notes what an event that was folded means for the visit of its node.
func (x *execution) visited(e *loomv1.Event) {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptDispatched:
		if v := x.visit(e.Node); f.AttemptDispatched.GetNumber() == 1 {
			v.begin(e)
		}
	case *loomv1.Event_AttemptEnded:
		x.visit(e.Node)
	case *loomv1.Event_ApprovalRequested:
		if e.Node == "" {
			return
		}
		if v := x.visit(e.Node); v.attempts == 0 {
			v.begin(e)
		}
	case *loomv1.Event_NodeCompleted, *loomv1.Event_NodeSkipped:
		x.visit(e.Node).end(e, word(x.state.GetNodes()[e.Node].GetStatus()))
	}
}

// flushVisits writes the visits that were touched. One that ends without having
// begun, as that of a start node, has no row.
func (w *writer) flushVisits(ctx context.Context, id string, visits map[visitKey]*visit) error {
	keys := slices.SortedFunc(maps.Keys(visits), func(a, b visitKey) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.visit, b.visit))
	})
	for _, k := range keys {
		v := visits[k]
		ended, err := maybe(v.ended), error(nil)
		if v.started != nil {
			err = w.exec(ctx, "visit", id, k.node, k.visit, clock(v.started), ended, v.outcome, v.attempts, v.timeouts)
		} else {
			err = w.exec(ctx, "visited", ended, v.outcome, v.attempts, v.timeouts, id, k.node, k.visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// approval keeps when the CEO was asked and answered.
func (w *writer) approval(ctx context.Context, e *loomv1.Event) error {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ApprovalRequested:
		a := f.ApprovalRequested.GetApproval()
		return w.exec(ctx, "asked", a.GetId(), e.Project, a.GetBead(), a.GetExecution(), a.GetNode(), a.GetVisit(), word(a.GetKind()), clock(e.Time))
	case *loomv1.Event_ApprovalDecided:
		return w.exec(ctx, "decided", clock(e.Time), word(f.ApprovalDecided.GetDecision()), f.ApprovalDecided.GetApproval())
	case *loomv1.Event_ApprovalLapsed: // one that was decided stays as it is
		return w.exec(ctx, "decided", clock(e.Time), "lapsed", f.ApprovalLapsed.GetApproval())
	}
	return nil
}
