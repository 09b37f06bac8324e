package project_test

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// watch reads the facts of a project in their order, believes nothing but them,
// and holds them to what must be true of every history. The numbers are those
// of the invariants that the simulation checks too.
type watch struct {
	w        *twins
	read     int
	open     map[string]*seen            // attempts that are outstanding
	visits   map[[2]string]int           // dispatches in the present visit of a node
	granted  map[[2]string]int           // how often the CEO gave a node its attempts again
	asked    map[string]*loomv1.Approval // approvals that are open
	ended    map[string]bool             // executions
	made     map[string]string           // who made the patch that stands, by execution
	verified map[string]string           // the commit that was verified last, by execution
	landed   map[string]string
	steered  map[string]bool // moved, or told to go on without something
}

// seen is an outstanding attempt.
type seen struct {
	execution, node, role string
	by                    *loomv1.Claimant
}

func newWatch(w *twins) *watch {
	return &watch{
		w: w, open: map[string]*seen{}, visits: map[[2]string]int{}, granted: map[[2]string]int{}, asked: map[string]*loomv1.Approval{},
		ended: map[string]bool{}, made: map[string]string{}, verified: map[string]string{}, landed: map[string]string{}, steered: map[string]bool{},
	}
}

// follow reads what is new.
func (o *watch) follow() {
	order := ""
	for _, e := range o.w.events[o.read:] {
		if f := e.GetOverrideGiven(); f != nil {
			if order = f.Verb; f.Reason == "" || f.Signed == nil {
				o.bad(e, "invariant 23: an order without a reason or a signature")
			}
		}
		o.work(e)
		o.steering(e, order)
	}
	o.read = len(o.w.events)
}

func (o *watch) bad(e *loomv1.Event, format string, args ...any) {
	o.w.t.Fatalf("%s\nevent %d: %v", fmt.Sprintf(format, args...), e.Number, e)
}

// node returns what the definition of an execution says of a node.
func (o *watch) node(e *loomv1.Event) *loomv1.NodeDefinition {
	p := o.w.one.Snapshot()
	for _, n := range p.Definitions[p.Executions[e.Execution].DefinitionHash].GetNodes() {
		if n.Id == e.Node {
			return n
		}
	}
	return nil
}

func (o *watch) work(e *loomv1.Event) {
	a, at := o.open[e.Attempt], [2]string{e.Execution, e.Node}
	switch f := e.Fact.(type) {
	case *loomv1.Event_AttemptDispatched:
		o.dispatched(e, f.AttemptDispatched)
	case *loomv1.Event_AttemptClaimed:
		o.claimed(e, f.AttemptClaimed.Claimant)
	case *loomv1.Event_ClaimReleased, *loomv1.Event_AttemptParked:
		if a == nil {
			o.bad(e, "invariant 7: it is not outstanding")
		}
		a.by = nil
	case *loomv1.Event_AttemptEnded:
		if a == nil {
			o.bad(e, "invariant 7: it is not outstanding")
		}
		delete(o.open, e.Attempt)
		o.outcome(e, a, f.AttemptEnded.Outcome)
	case *loomv1.Event_ReworkStarted:
		o.reset(e, f.ReworkStarted.ResetNodes)
	case *loomv1.Event_ExecutionMoved:
		o.reset(e, f.ExecutionMoved.ResetNodes)
	case *loomv1.Event_ExecutionForked:
		o.made[e.Execution] = "" // by somebody in another execution
	case *loomv1.Event_ApprovalDecided:
		d := f.ApprovalDecided.Decision
		if d == loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY || d == approves {
			o.granted[at]++
		}
	case *loomv1.Event_Landed:
		if o.verified[e.Execution] != f.Landed.Landing.Commit {
			o.bad(e, "invariant 28: it landed, but %q was verified", o.verified[e.Execution])
		}
		o.landed[e.Execution] = f.Landed.Landing.Commit
	}
}

func (o *watch) dispatched(e *loomv1.Event, d *loomv1.AttemptDispatched) {
	at := [2]string{e.Execution, e.Node}
	for _, a := range o.open {
		if a.execution == e.Execution && a.node == e.Node {
			o.bad(e, "invariant 6: another attempt of the node is outstanding")
		}
	}
	if o.ended[e.Execution] {
		o.bad(e, "invariant 8: the execution has ended")
	}
	o.visits[at]++
	n := o.node(e)
	if most := int(max(n.MaxAttempts, 1)) * (1 + o.granted[at]); n.MaxAttempts > 0 && o.visits[at] > most {
		o.bad(e, "invariant 5: attempt %d of a visit, the most is %d", o.visits[at], most)
	}
	if want := reservedFor(n.Kind); want != "" && d.Role != want {
		o.bad(e, "invariant 10: it is for %s only", want)
	}
	o.open[e.Attempt] = &seen{execution: e.Execution, node: e.Node, role: d.Role}
}

func reservedFor(k loomv1.NodeKind) string {
	switch k {
	case loomv1.NodeKind_NODE_KIND_COMMIT, loomv1.NodeKind_NODE_KIND_LAND:
		return "engineering-manager"
	case loomv1.NodeKind_NODE_KIND_VERIFY:
		return "qa-engineer"
	}
	return ""
}

func (o *watch) claimed(e *loomv1.Event, by *loomv1.Claimant) {
	a := o.open[e.Attempt]
	switch {
	case a == nil || a.by != nil:
		o.bad(e, "invariant 7: it is not free")
	case roleOfAgent(by) != a.role:
		o.bad(e, "invariant 10: it is for %s", a.role)
	case o.node(e).Kind == loomv1.NodeKind_NODE_KIND_VERIFY && o.made[e.Execution] == by.Agent:
		o.bad(e, "invariant 12: it would verify its own work")
	}
	a.by = by
}

func roleOfAgent(by *loomv1.Claimant) string {
	for i := len(by.Agent) - 1; i >= 0; i-- {
		if by.Agent[i] == '/' {
			return by.Agent[:i]
		}
	}
	return ""
}

func (o *watch) outcome(e *loomv1.Event, a *seen, out *loomv1.Outcome) {
	if out.Status != success {
		return
	}
	if out.Change != nil && a.by != nil {
		o.made[e.Execution] = a.by.Agent
	}
	if len(out.Checks) > 0 {
		o.verified[e.Execution] = out.Checks[0].Commit
	}
}

func (o *watch) reset(e *loomv1.Event, nodes []string) {
	for _, n := range nodes {
		delete(o.visits, [2]string{e.Execution, n})
		delete(o.granted, [2]string{e.Execution, n})
	}
}

// steering watches what the CEO and the limits do.
func (o *watch) steering(e *loomv1.Event, order string) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ApprovalRequested:
		for _, a := range o.asked {
			if a.Execution != "" && a.Execution == f.ApprovalRequested.Approval.Execution && a.Node == e.Node {
				o.bad(e, "invariant 22: %s is open about the same", a.Id)
			}
		}
		o.asked[f.ApprovalRequested.Approval.Id] = f.ApprovalRequested.Approval
	case *loomv1.Event_ApprovalDecided:
		o.decided(e, f.ApprovalDecided)
	case *loomv1.Event_ApprovalLapsed:
		delete(o.asked, f.ApprovalLapsed.Approval)
	case *loomv1.Event_ExecutionMoved:
		o.ordered(e, order, "move")
	case *loomv1.Event_WorkPaused:
		o.ordered(e, order, "pause")
	case *loomv1.Event_WorkResumed:
		o.ordered(e, order, "resume")
	case *loomv1.Event_ExecutionStarted:
		if o.asked[e.Bead] != nil {
			o.bad(e, "invariant 22: an approval is worked on")
		}
	case *loomv1.Event_ExecutionEnded:
		o.end(e, order, f.ExecutionEnded.Status)
	}
}

func (o *watch) ordered(e *loomv1.Event, got, want string) {
	if got != want {
		o.bad(e, "invariant 23: it follows from the order %q", got)
	}
	o.steered[e.Execution] = true
}

func (o *watch) decided(e *loomv1.Event, f *loomv1.ApprovalDecided) {
	a, cmd := o.asked[f.Approval], &loomv1.CeoCommand{}
	if err := proto.Unmarshal(f.Signed.GetPayload(), cmd); err != nil || a == nil || cmd.GetDecide().GetDigest() != a.Digest {
		o.bad(e, "invariant 11: %v was not what was signed", a)
	}
	delete(o.asked, f.Approval)
	o.steered[e.Execution] = o.steered[e.Execution] || a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION
}

func (o *watch) end(e *loomv1.Event, order string, status loomv1.ExecutionStatus) {
	if o.ended[e.Execution] {
		o.bad(e, "invariant 8: it ended before")
	}
	o.ended[e.Execution] = true
	for id, a := range o.open {
		if a.execution == e.Execution {
			o.bad(e, "invariant 8: attempt %s is outstanding", id)
		}
	}
	p := o.w.one.Snapshot()
	x := p.Executions[e.Execution]
	switch {
	case status == loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED && order != "close" && x.Parent == "":
		o.bad(e, "invariant 23: nobody ordered it")
	case status == loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED && x.Definition == "duty" && !o.steered[e.Execution] && o.landed[e.Execution] == "" && x.ForkedFrom == nil:
		o.bad(e, "invariant 28: it is done, and nothing has landed")
	}
}

// queueIsDerivable wants the queue to be what the executions say.
func (o *watch) queueIsDerivable() {
	p := o.w.one.Snapshot()
	got, want := o.w.one.Queued(), free(p)
	if !slices.EqualFunc(got, want, func(a, b *loomv1.Assignment) bool { return a.Attempt == b.Attempt && a.Generation == b.Generation }) {
		o.w.t.Fatalf("invariant 30: queued %v, want %v", got, want)
	}
	for _, a := range want {
		if x := p.Executions[a.Attempt[:strings.LastIndex(a.Attempt, "-a")]]; mustHold(p, x) {
			o.w.t.Fatalf("invariant 24: %s is queued and held", a.Attempt)
		}
	}
}
