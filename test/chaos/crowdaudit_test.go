package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// auditor reads a project's events in order and lists what must never be. What
// it holds is its own: it asks none of the cores.
type auditor struct {
	problems   []string
	last       *loomv1.Event
	defs       map[string]*loomv1.Definition // by hash
	beads      map[string]*auditBead
	executions map[string]*auditExecution
	attempts   map[string]*auditAttempt
	approvals  map[string]*loomv1.Approval
	answers    map[string]int    // to approvals
	granted    map[string]uint32 // attempts, by execution, node and visit
	nonces     map[string]bool
	overrides  map[string]int // by verb
	order      *loomv1.Event  // the newest override
	acted      bool           // and it has moved or closed something
	paused     bool
}

type auditBead struct {
	*loomv1.Bead
	status  loomv1.BeadStatus
	started int // executions
}

type auditExecution struct {
	bead, parent string
	def          *loomv1.Definition
	status       loomv1.ExecutionStatus
	open         map[string]string // attempt by node
	begun        map[string]bool   // nodes
	plan         uint32            // number of the newest
}

type auditAttempt struct {
	process string
	claims  []uint64 // starts of the host
	held    bool
	ended   *loomv1.AttemptEnded
	planned bool // a plan of it was adopted
}

func newAuditor() *auditor {
	return &auditor{
		defs: map[string]*loomv1.Definition{}, beads: map[string]*auditBead{}, executions: map[string]*auditExecution{},
		attempts: map[string]*auditAttempt{}, approvals: map[string]*loomv1.Approval{}, answers: map[string]int{},
		granted: map[string]uint32{}, nonces: map[string]bool{}, overrides: map[string]int{},
	}
}

func (a *auditor) say(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

// told returns the problems, at most a screen of them.
func (a *auditor) told() []string {
	if n := len(a.problems); n > 40 {
		return append(a.problems[:40:40], fmt.Sprintf("and %d more", n-40))
	}
	return a.problems
}

// add reads the next event.
func (a *auditor) add(e *loomv1.Event) {
	if e.Number != a.last.GetNumber()+1 {
		a.say("event %d comes after %d", e.Number, a.last.GetNumber())
	}
	if a.last != nil && e.Time.AsTime().Before(a.last.Time.AsTime()) {
		a.say("event %d is earlier than the one before", e.Number)
	}
	a.last = e
	if x := a.executions[e.Execution]; x != nil && x.status != running && !epilogue(e) {
		a.say("event %d is about execution %s, which has ended: %T", e.Number, e.Execution, e.Fact)
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_DefinitionStored:
		a.defs[f.DefinitionStored.Hash] = f.DefinitionStored.Definition
	case *loomv1.Event_BeadFiled:
		a.filed(e, f.BeadFiled.Bead)
	case *loomv1.Event_BeadStatusChanged:
		a.beads[e.Bead].status = f.BeadStatusChanged.Status
	case *loomv1.Event_ExecutionStarted:
		a.started(e, f.ExecutionStarted)
	case *loomv1.Event_ExecutionEnded:
		a.ended(e, f.ExecutionEnded)
	case *loomv1.Event_ApprovalRequested:
		a.approvals[f.ApprovalRequested.Approval.Id] = f.ApprovalRequested.Approval
	case *loomv1.Event_ApprovalDecided:
		a.decided(e, f.ApprovalDecided)
	case *loomv1.Event_PlanAdopted:
		a.adopted(e, f.PlanAdopted)
	}
	a.addAttempt(e)
	a.addOrder(e)
}

// epilogue says whether an event may be about an execution that has ended: what
// its end means to others, and what somebody asked of it in vain.
func epilogue(e *loomv1.Event) bool {
	switch e.Fact.(type) {
	case *loomv1.Event_BeadStatusChanged, *loomv1.Event_DecisionAdded, *loomv1.Event_DecisionLinked,
		*loomv1.Event_CommandRefused, *loomv1.Event_ApprovalRefused:
		return true
	}
	return false
}

const running = loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING

func (a *auditor) filed(e *loomv1.Event, b *loomv1.Bead) {
	if a.beads[b.Id] != nil {
		a.say("bead %s is filed twice", b.Id)
	}
	a.beads[b.Id] = &auditBead{Bead: b, status: b.Status}
}

func (a *auditor) started(e *loomv1.Event, f *loomv1.ExecutionStarted) {
	if a.executions[e.Execution] != nil {
		a.say("execution %s begins twice", e.Execution)
	}
	a.beads[e.Bead].started++
	a.executions[e.Execution] = &auditExecution{bead: e.Bead, parent: f.Parent, def: a.defs[f.DefinitionHash], status: running, open: map[string]string{}, begun: map[string]bool{}}
}

// adopted checks a plan: one of an attempt that is outstanding, the next of its
// execution, with all that has begun as it was.
func (a *auditor) adopted(e *loomv1.Event, f *loomv1.PlanAdopted) {
	x, at := a.executions[e.Execution], a.attempts[e.Attempt]
	if !a.outstanding(e) || at == nil {
		return
	}
	if at.planned || f.Plan.GetNumber() != x.plan+1 {
		a.say("plan %d of execution %s is adopted after plan %d, for the same attempt: %t", f.Plan.GetNumber(), e.Execution, x.plan, at.planned)
	}
	for _, n := range x.def.GetNodes() {
		same := slices.ContainsFunc(f.Definition.GetNodes(), func(m *loomv1.NodeDefinition) bool { return proto.Equal(n, m) })
		if x.begun[n.Id] && n.Id != e.Node && !same {
			a.say("plan %d of execution %s changes %s, which has begun", f.Plan.GetNumber(), e.Execution, n.Id)
		}
	}
	at.planned, x.plan, x.def, a.defs[f.Hash] = true, f.Plan.GetNumber(), f.Definition, f.Definition
}

func (a *auditor) ended(e *loomv1.Event, f *loomv1.ExecutionEnded) {
	x := a.executions[e.Execution]
	x.status = f.Status
	for _, node := range slices.Sorted(maps.Keys(x.open)) {
		a.say("execution %s ends while attempt %s is outstanding", e.Execution, x.open[node])
	}
}

func (a *auditor) decided(e *loomv1.Event, f *loomv1.ApprovalDecided) {
	if a.approvals[f.Approval] == nil {
		a.say("approval %s is answered, and was never asked for", f.Approval)
		return
	}
	if a.answers[f.Approval]++; a.answers[f.Approval] > 1 {
		a.say("approval %s is answered twice", f.Approval)
	}
	if q := a.approvals[f.Approval]; f.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY && !q.Gate {
		a.granted[visit(e.Execution, q.Node, q.Visit)] += a.limit(e.Execution, q.Node)
	}
}

func visit(execution, node string, n uint32) string {
	return fmt.Sprintf("%s %s %d", execution, node, n)
}

// limit is how many attempts a visit of a node has.
func (a *auditor) limit(execution, node string) uint32 {
	for _, n := range a.executions[execution].def.GetNodes() {
		if n.Id == node {
			return n.MaxAttempts
		}
	}
	return 0
}

// blocked returns a bead that is not closed and that a bead, or one that it
// works for, waits for; or "".
func (a *auditor) blocked(bead string) string {
	for b := a.beads[bead]; b != nil; b = a.beads[b.Parent] {
		for _, id := range b.BlockedBy {
			if a.beads[id].status != loomv1.BeadStatus_BEAD_STATUS_CLOSED {
				return id
			}
		}
	}
	return ""
}

// end checks what must be when all work is done.
func (a *auditor) end() {
	if a.paused {
		a.say("the project is paused")
	}
	for _, id := range slices.Sorted(maps.Keys(a.executions)) {
		x := a.executions[id]
		want, known := ends[x.status]
		if !known {
			a.say("execution %s is %s", id, project.Word(x.status))
		}
		if got := a.beads[x.bead].status; known && got != want {
			a.say("execution %s is %s, and its bead is %s", id, project.Word(x.status), project.Word(got))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(a.beads)) {
		b := a.beads[id]
		switch asks := b.Type == loomv1.BeadType_BEAD_TYPE_APPROVAL; {
		case asks && b.status != loomv1.BeadStatus_BEAD_STATUS_CLOSED:
			a.say("question %s is %s", id, project.Word(b.status))
		case !asks && b.started != 1:
			a.say("bead %s has %d executions", id, b.started)
		}
	}
}

// ends are the statuses of beads whose execution has ended.
var ends = map[loomv1.ExecutionStatus]loomv1.BeadStatus{
	loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED:           loomv1.BeadStatus_BEAD_STATUS_CLOSED,
	loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS: loomv1.BeadStatus_BEAD_STATUS_CLOSED,
	loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED:             loomv1.BeadStatus_BEAD_STATUS_ABORTED,
	loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED:            loomv1.BeadStatus_BEAD_STATUS_FAILED,
	loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED:              loomv1.BeadStatus_BEAD_STATUS_FAILED,
}

// orders checks that what was acknowledged is there, once.
func (a *auditor) orders(promised []*promise) {
	filed := map[string][]*auditBead{}
	for _, id := range slices.Sorted(maps.Keys(a.beads)) {
		if b := a.beads[id]; strings.HasPrefix(b.Goal, "order ") && b.Type == loomv1.BeadType_BEAD_TYPE_TASK {
			filed[b.Goal] = append(filed[b.Goal], b)
		}
	}
	for _, p := range promised {
		list := filed[p.order.Goal]
		switch {
		case len(list) != 1:
			a.say("%s was acknowledged and has %d beads", p.order.Goal, len(list))
		case p.bead != "" && p.bead != list[0].Id:
			a.say("%s was acknowledged as bead %s and is %s", p.order.Goal, p.bead, list[0].Id)
		case !slices.Equal(p.order.BlockedBy, list[0].BlockedBy):
			a.say("%s is blocked by %v, and was to be by %v", p.order.Goal, list[0].BlockedBy, p.order.BlockedBy)
		}
	}
	if len(filed) != len(promised) {
		a.say("%d orders were acknowledged, %d are filed", len(promised), len(filed))
	}
}

// beadStatuses returns the last status of each bead.
func (a *auditor) beadStatuses() map[string]string {
	list := map[string]string{}
	for id, b := range a.beads {
		list[id] = project.Word(b.status)
	}
	return list
}

// executionStatuses returns the last status of each execution.
func (a *auditor) executionStatuses() map[string]string {
	list := map[string]string{}
	for id, x := range a.executions {
		list[id] = project.Word(x.status)
	}
	return list
}
