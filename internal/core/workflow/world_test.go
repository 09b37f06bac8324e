package workflow_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Short names for tables.
const (
	success = loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS
	failure = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
	goesOn  = loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE

	approve        = loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	reject         = loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT
	requestChanges = loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES
	retry          = loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY
	skip           = loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// world is a project of one execution: what the project core does around a
// Run, and no more.
type world struct {
	def       *workflow.Compiled
	x         *loomv1.Execution
	bead      *loomv1.Bead
	now       time.Time
	events    []*loomv1.Event
	approvals map[string]*loomv1.Approval
	beads     int
	id        string // of the execution; empty is the first
	parent    string // the execution that it works for; empty is none
}

// newWorld begins an execution of a definition for a bead with a context.
func newWorld(t testing.TB, def *loomv1.Definition, context map[string]any) *world {
	t.Helper()
	w, err := beginWorld(def, context)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func beginWorld(def *loomv1.Definition, context map[string]any) (*world, error) {
	return beginNested(def, context, "")
}

// beginNested is the world of an execution that works for another.
func beginNested(def *loomv1.Definition, context map[string]any, parent string) (*world, error) {
	c, err := workflow.Compile(def)
	if err != nil {
		return nil, err
	}
	w := &world{def: c, now: noon, approvals: map[string]*loomv1.Approval{}, beads: 1, parent: parent}
	w.bead = &loomv1.Bead{Id: "p-1", Project: "p", Goal: "mend it", Context: fields(context)}
	w.x = &loomv1.Execution{Context: proto.CloneOf(w.bead.Context), Priority: loomv1.Priority_PRIORITY_NORMAL}
	return w, w.begin(def.Name)
}

func (w *world) begin(name string) error {
	start := &loomv1.ExecutionStarted{Definition: name, Version: "1.0", DefinitionHash: "h", Checks: []string{"go vet ./..."}, Parent: w.parent}
	if err := w.emit(&loomv1.Event{Fact: &loomv1.Event_ExecutionStarted{ExecutionStarted: start}}); err != nil {
		return err
	}
	return w.run().Begin()
}

func (w *world) run() workflow.Run {
	return workflow.Run{Def: w.def, X: w.x, Bead: w.bead, Now: w.now, Emit: w.emit, NextBead: w.nextBead}
}

func (w *world) nextBead() string {
	w.beads++
	return fmt.Sprintf("p-%d", w.beads)
}

func (w *world) emit(e *loomv1.Event) error {
	e.Number, e.Time = uint64(len(w.events)+1), timestamppb.New(w.now)
	e.Project, e.Bead, e.Execution = "p", "p-1", cmp.Or(w.id, "p-1-x1")
	if err := fold(w.x, e); err != nil {
		return err
	}
	if a := e.GetApprovalRequested().GetApproval(); a != nil {
		w.approvals[a.Id] = a
	}
	w.events = append(w.events, e)
	return nil
}

// fold applies an event and, as the project core does, gives back the time in
// which the execution was held.
func fold(x *loomv1.Execution, e *loomv1.Event) error {
	if err := workflow.Apply(x, e); err != nil {
		return err
	}
	held := x.EndedAt == nil && (x.Paused != nil || x.LimitApproval != "")
	switch {
	case held && x.HeldSince == nil:
		x.HeldSince = e.Time
	case !held && x.HeldSince != nil:
		workflow.Shift(x, x.HeldSince.AsTime(), e.Time.AsTime())
		x.HeldSince = nil
	}
	return nil
}

// attempt returns the outstanding attempt of a node, or nil.
func (w *world) attempt(node string) *loomv1.Attempt { return w.x.Nodes[node].GetAttempt() }

// by is the first agent of a role.
func by(role string) *loomv1.Claimant {
	return &loomv1.Claimant{Agent: role + "/1", Host: "h1", Epoch: 1}
}

// take has agents claim all that is queued: from then on its time runs.
func (w *world) take(t testing.TB) {
	t.Helper()
	for _, a := range workflow.Queued(w.x) {
		if err := w.run().Claim(a.Id, a.Generation, by(a.Role)); err != nil {
			t.Fatalf("Claim(%s): %v", a.Id, err)
		}
	}
}

// answer answers the outstanding attempt of a node.
func (w *world) answer(t testing.TB, node string, out *loomv1.Outcome) {
	t.Helper()
	a := w.attempt(node)
	if a == nil {
		t.Fatalf("node %q has no outstanding attempt; it is %s", node, w.status(node))
	}
	if err := w.run().Answer(a.Id, by(a.Role), out); err != nil {
		t.Fatalf("Answer(%s, %s): %v", a.Id, out.Status, err)
	}
}

// decide answers the open approval of a node, as the project core does.
func (w *world) decide(t testing.TB, node string, d loomv1.ApprovalDecision, comment string) {
	t.Helper()
	if err := w.tryDecide(node, d, comment); err != nil {
		t.Fatalf("Decide(%s, %s): %v", node, d, err)
	}
}

func (w *world) tryDecide(node string, d loomv1.ApprovalDecision, comment string) error {
	a := w.approval(node)
	if node == "" {
		a = w.approvals[w.x.LimitApproval]
	}
	if a == nil {
		return fmt.Errorf("node %q has no open approval; it is %s", node, w.status(node))
	}
	decided := &loomv1.ApprovalDecided{Approval: a.Id, Decision: d, Comment: comment, Digest: a.Digest, DecisionNode: "d1"}
	if err := w.emit(&loomv1.Event{Node: node, Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: decided}}); err != nil {
		return err
	}
	return w.run().Decide(a, &loomv1.DecideApproval{Approval: a.Id, Digest: a.Digest, Decision: d, Comment: comment})
}

func (w *world) approval(node string) *loomv1.Approval {
	return w.approvals[w.x.Nodes[node].GetApproval()]
}

// pass lets time go by and ticks.
func (w *world) pass(t testing.TB, d time.Duration) {
	t.Helper()
	w.now = w.now.Add(d)
	if err := w.run().Tick(); err != nil {
		t.Fatalf("Tick: %v", err)
	}
}

// due lets time go by until the next timer, and ticks.
func (w *world) due(t testing.TB) {
	t.Helper()
	at, ok := workflow.Next(w.x, nil, 0)
	if !ok {
		t.Fatal("nothing is due")
	}
	w.pass(t, at.Sub(w.now))
}

func (w *world) status(node string) string {
	return strings.ToLower(strings.TrimPrefix(w.x.Nodes[node].GetStatus().String(), "NODE_STATUS_"))
}

// want checks the statuses of nodes, given as "node status" pairs.
func (w *world) want(t testing.TB, pairs ...string) {
	t.Helper()
	for _, p := range pairs {
		node, status, _ := strings.Cut(p, " ")
		if got := w.status(node); got != status {
			t.Errorf("node %q is %s, want %s", node, got, status)
		}
	}
}

func (w *world) wantEnd(t testing.TB, s loomv1.ExecutionStatus) {
	t.Helper()
	if w.x.Status != s {
		t.Errorf("execution is %s, want %s; %s", w.x.Status, s, w.story())
	}
}

// story is the execution so far, one word an event.
func (w *world) story() string {
	var words []string
	for _, e := range w.events {
		if s := tell(e); s != "" {
			words = append(words, s)
		}
	}
	return strings.Join(words, "\n")
}

// since is the story from an event on.
func (w *world) since(n int) string {
	return (&world{events: w.events[n:]}).story()
}

// tell is an event in a few words; bookkeeping is left out.
func tell(e *loomv1.Event) string {
	switch f := e.Fact.(type) {
	case *loomv1.Event_EdgeSettled:
		if !f.EdgeSettled.Taken {
			return fmt.Sprintf("%s dead", f.EdgeSettled.Edge)
		}
		return fmt.Sprintf("%s taken: %s", f.EdgeSettled.Edge, f.EdgeSettled.Outcome)
	case *loomv1.Event_NodeSkipped:
		if f.NodeSkipped.Detached {
			return e.Node + " set aside"
		}
		return e.Node + " skipped"
	case *loomv1.Event_AttemptDispatched:
		return strings.TrimSpace(fmt.Sprintf("%s dispatched to %s: %d.%d %s", e.Node, f.AttemptDispatched.Role,
			f.AttemptDispatched.Visit, f.AttemptDispatched.Number, f.AttemptDispatched.Cause))
	case *loomv1.Event_AttemptEnded:
		o := f.AttemptEnded.Outcome
		return strings.TrimSpace(fmt.Sprintf("%s answered %s %s", e.Node,
			strings.ToLower(strings.TrimPrefix(o.Status.String(), "OUTCOME_STATUS_")), o.Code))
	case *loomv1.Event_RetryScheduled:
		return e.Node + " backs off"
	case *loomv1.Event_ReworkStarted:
		return fmt.Sprintf("%s sends back to %s (%d): %s", e.Node, f.ReworkStarted.To, f.ReworkStarted.Count,
			strings.Join(f.ReworkStarted.ResetNodes, " "))
	case *loomv1.Event_ApprovalRequested:
		code, _, _ := strings.Cut(f.ApprovalRequested.Approval.Reason, ":")
		return strings.TrimSpace(fmt.Sprintf("%s asks: %s", e.Node, code))
	case *loomv1.Event_ApprovalDecided:
		return fmt.Sprintf("%s decided: %s", e.Node, strings.ToLower(strings.TrimPrefix(f.ApprovalDecided.Decision.String(), "APPROVAL_DECISION_")))
	case *loomv1.Event_ApprovalLapsed:
		return "approval lapsed: " + f.ApprovalLapsed.Reason
	case *loomv1.Event_ExecutionEnded:
		return strings.ToLower(strings.TrimPrefix(f.ExecutionEnded.Status.String(), "EXECUTION_STATUS_"))
	case *loomv1.Event_ExecutionMoved:
		return strings.TrimSpace(fmt.Sprintf("moved from %s to %s: %s; %s", e.Node, f.ExecutionMoved.To,
			strings.Join(f.ExecutionMoved.ResetNodes, " "), strings.Join(f.ExecutionMoved.ResetEdges, " ")))
	case *loomv1.Event_GateFailed:
		return fmt.Sprintf("gate of %s: %s", e.Node, strings.ToLower(strings.TrimPrefix(f.GateFailed.Action.String(), "GATE_ACTION_")))
	case *loomv1.Event_GapNoted:
		return "gap: " + e.Node
	case *loomv1.Event_ChildStarted:
		return e.Node + " is done by " + f.ChildStarted.Execution
	case *loomv1.Event_ChildDelivered:
		return e.Node + " is offered to " + f.ChildDelivered.Role
	case *loomv1.Event_ChangeProposed:
		if f.ChangeProposed.Change == nil {
			return "withdrawn: " + f.ChangeProposed.Reason
		}
		return "proposed " + f.ChangeProposed.Change.PatchDigest
	case *loomv1.Event_CandidateMade:
		return "candidate " + f.CandidateMade.Candidate.Commit
	case *loomv1.Event_Landed:
		return "landed " + f.Landed.Landing.Commit
	}
	return ""
}

// check compares a story; what is wanted is a list of lines.
func check(t testing.TB, got, want string) {
	t.Helper()
	want = strings.TrimSpace(want)
	lines := strings.Split(want, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	if want = strings.Join(lines, "\n"); got != want {
		t.Errorf("story is\n\t%s\nwant\n\t%s", strings.ReplaceAll(got, "\n", "\n\t"), strings.ReplaceAll(want, "\n", "\n\t"))
	}
}

func fields(m map[string]any) *structpb.Struct {
	if m == nil {
		return nil
	}
	s, err := structpb.NewStruct(m)
	if err != nil {
		panic(err)
	}
	return s
}

func good(m map[string]any) *loomv1.Outcome {
	return &loomv1.Outcome{Status: success, Summary: "done", Fields: fields(m)}
}

func bad(m map[string]any) *loomv1.Outcome {
	return &loomv1.Outcome{Status: failure, Summary: "it broke", Code: "tool/failed", Fields: fields(m)}
}

func more() *loomv1.Outcome { return &loomv1.Outcome{Status: goesOn, Summary: "more to see"} }

// wantCode checks the code of a refusal.
func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	if got := fault.Code(err); got != code {
		t.Errorf("%s: %v (code %q), want code %q", what, err, got, code)
	}
}
