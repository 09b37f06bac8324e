package workflow

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fact"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Apply folds one event into an execution. It is the only thing that changes
// one, and decides nothing.
//
// ExecutionStarted fills an execution that is empty but for its priority and
// context, which come from the bead; the context is Apply's own from then on.
// ExecutionForked fills one with a state that was made by [ForkState].
// Events about something else than the workflow change nothing. An event that
// cannot follow from the state is workflow/inconsistent and changes nothing.
// Apply keeps references to messages within e: nobody may change them later.
func Apply(x *loomv1.Execution, e *loomv1.Event) error {
	if !Concerns(e) {
		return nil
	}
	f := folder{x, e}
	if start := e.GetExecutionStarted(); start != nil {
		return f.started(start)
	}
	if fork := e.GetExecutionForked(); fork != nil {
		return f.forked(fork)
	}
	if settled := e.GetLandingSettled(); settled != nil {
		return f.landingSettled(settled)
	}
	if !running(x) || e.Execution != x.Id || e.Time == nil {
		return f.wrong("execution %q is %s", x.GetId(), statusWord(x.GetStatus()))
	}
	f.prepare()
	return f.fold()
}

// AnswerOf returns what a model answered in an event: in its turn, or as a summary of
// it; nil for none.
func AnswerOf(e *loomv1.Event) *loomv1.ModelAnswer {
	if c := e.GetTurnCompacted().GetCompaction(); c != nil {
		return c.GetAnswer()
	}
	return e.GetModelAnswered().GetAnswer()
}

// Concerns reports whether an event is about the workflow of its execution. Some kinds
// are only now and then: a tool's result that has a list of tasks, a compaction that a
// model was asked for, a pause of one execution, an approval that an execution asks for.
func Concerns(e *loomv1.Event) bool {
	if e.GetExecution() == "" || !fact.Of(e).FoldedBy(loomv1.Core_CORE_WORKFLOW) {
		return false
	}
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ToolFinished:
		return f.ToolFinished.GetResult().GetTodo() != nil
	case *loomv1.Event_TurnCompacted:
		return AnswerOf(e) != nil
	case *loomv1.Event_WorkPaused:
		return f.WorkPaused.GetPause().GetScope() == loomv1.PauseScope_PAUSE_SCOPE_EXECUTION
	case *loomv1.Event_WorkResumed:
		return f.WorkResumed.GetScope() == loomv1.PauseScope_PAUSE_SCOPE_EXECUTION
	}
	return true
}

// folder is one event on its way into one running execution.
type folder struct {
	x *loomv1.Execution
	e *loomv1.Event
}

func (f folder) fold() error {
	switch fact := f.e.Fact.(type) {
	case *loomv1.Event_EdgeSettled:
		return f.settled(fact.EdgeSettled)
	case *loomv1.Event_NodeSkipped:
		return f.skipped(fact.NodeSkipped)
	case *loomv1.Event_NodeCompleted:
		return f.completed(fact.NodeCompleted)
	case *loomv1.Event_ReworkStarted:
		return f.reworked(fact.ReworkStarted)
	case *loomv1.Event_AttemptDispatched:
		return f.dispatched(fact.AttemptDispatched)
	case *loomv1.Event_RetryScheduled:
		return f.retries(fact.RetryScheduled)
	case *loomv1.Event_ApprovalRequested:
		return f.asked(fact.ApprovalRequested.GetApproval())
	case *loomv1.Event_ApprovalDecided:
		return f.decided(fact.ApprovalDecided)
	case *loomv1.Event_ApprovalLapsed:
		return f.lapsed(fact.ApprovalLapsed)
	case *loomv1.Event_ExecutionEnded:
		return f.ended(fact.ExecutionEnded)
	}
	return f.foldWork()
}

// foldWork folds what happens within an attempt, and what comes of it.
func (f folder) foldWork() error {
	switch fact := f.e.Fact.(type) {
	case *loomv1.Event_AttemptClaimed:
		return f.claimed(fact.AttemptClaimed)
	case *loomv1.Event_ClaimReleased:
		return f.released(fact.ClaimReleased)
	case *loomv1.Event_AttemptParked:
		return f.parked(fact.AttemptParked)
	case *loomv1.Event_AttemptEnded:
		return f.attemptEnded(fact.AttemptEnded)
	case *loomv1.Event_ChangeProposed:
		f.proposed(fact.ChangeProposed.GetChange())
	case *loomv1.Event_CandidateMade:
		f.x.Candidate, f.x.Car = fact.CandidateMade.GetCandidate(), nil
	case *loomv1.Event_TrainTested:
		f.x.Car = fact.TrainTested.GetCar()
	case *loomv1.Event_Landed:
		f.x.Landing = fact.Landed.GetLanding()
	case *loomv1.Event_ModelAnswered:
		f.used(fact.ModelAnswered.GetAnswer())
		f.unreserve(fact.ModelAnswered.GetAnswer().GetRequest())
	case *loomv1.Event_TurnCompacted:
		f.used(AnswerOf(f.e))
		f.unreserve(AnswerOf(f.e).GetRequest())
	case *loomv1.Event_ToolFinished:
		return f.listed(fact.ToolFinished.GetResult().GetTodo())
	case *loomv1.Event_CallReserved:
		return f.reserved(fact.CallReserved.GetReservation())
	case *loomv1.Event_CallSettled:
		f.pays(fact.CallSettled.GetUsage())
		f.unreserve(fact.CallSettled.GetRequest())
	case *loomv1.Event_ChildStarted:
		return f.childStarted(fact.ChildStarted)
	case *loomv1.Event_ChildDelivered:
		return f.childDelivered(fact.ChildDelivered)
	case *loomv1.Event_TaskGiven:
		return f.taskGiven(fact.TaskGiven.GetTask())
	case *loomv1.Event_TaskEnded:
		return f.taskEnded(fact.TaskEnded)
	case *loomv1.Event_ExecutionTold:
		f.told(fact.ExecutionTold.GetSaid())
	case *loomv1.Event_MessageHeard:
		f.heard(fact.MessageHeard.GetSaid().GetId())
	case *loomv1.Event_PlanAdopted:
		return f.planned(fact.PlanAdopted)
	}
	return f.foldSteering()
}

// landingSettled keeps where a commit has landed whose work had ended. What is still
// worked on has another candidate by then, and lands by itself.
func (f folder) landingSettled(s *loomv1.LandingSettled) error {
	if f.x == nil || f.x.Id != f.e.Execution {
		return f.wrong("it is not about execution %q", f.x.GetId())
	}
	if s.GetLanding() != nil && f.x.Landing == nil && !running(f.x) {
		f.x.Landing = s.Landing
	}
	return nil
}

func (f folder) wrong(format string, args ...any) error {
	return fault.New("workflow/inconsistent", "event %d (%s) of node %q: %s",
		f.e.GetNumber(), factName(f.e), f.e.GetNode(), fmt.Sprintf(format, args...))
}

func (f folder) started(s *loomv1.ExecutionStarted) error {
	if f.x == nil || f.x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_UNSPECIFIED || f.e.Execution == "" {
		return f.wrong("it cannot begin execution %q", f.e.Execution)
	}
	x := f.x
	x.Id, x.Bead, x.Project = f.e.Execution, f.e.Bead, f.e.Project
	x.Definition, x.Version, x.DefinitionHash = s.GetDefinition(), s.GetVersion(), s.GetDefinitionHash()
	x.Status = loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING
	x.StartedAt = f.e.Time
	x.Checks, x.ProjectChecks = slices.Clone(s.GetChecks()), slices.Clone(s.GetChecks())
	x.Parent, x.ParentAttempt, x.Depth = s.GetParent(), s.GetParentAttempt(), s.GetDepth()
	x.Draft, x.Begins, x.Lands, x.After = s.GetDraft(), s.GetBegins(), s.GetLands(), s.GetAfter()
	f.prepare()
	return nil
}

// prepare makes what may be absent: an empty map does not survive a snapshot.
func (f folder) prepare() {
	x := f.x
	if x.Nodes == nil {
		x.Nodes = map[string]*loomv1.NodeState{}
	}
	if x.Edges == nil {
		x.Edges = map[string]bool{}
	}
	if x.Context == nil {
		x.Context = &structpb.Struct{}
	}
	if x.Context.Fields == nil {
		x.Context.Fields = map[string]*structpb.Value{}
	}
}

func (f folder) settled(s *loomv1.EdgeSettled) error {
	if _, is := f.x.Edges[s.GetEdge()]; is || s.GetEdge() == "" {
		return f.wrong("edge %q is settled already", s.GetEdge())
	}
	f.x.Edges[s.Edge] = s.Taken
	f.count()
	return nil
}

// count counts the event if it is a transition.
func (f folder) count() {
	if _, _, _, ok := Transition(f.e); ok {
		f.x.Transitions++
	}
}

func (f folder) skipped(s *loomv1.NodeSkipped) error {
	if st := f.x.Nodes[f.e.Node]; !idle(st) {
		return f.wrong("it is %s", nodeWord(st))
	}
	st := f.touch()
	if st.Status, st.RetryAt = skippedStatus, nil; s.GetDetached() {
		st.Status = detachedStatus
	}
	return nil
}

// touch returns the state of the event's node, made if there is none.
func (f folder) touch() *loomv1.NodeState {
	st := f.x.Nodes[f.e.Node]
	if st == nil {
		st = &loomv1.NodeState{Visit: 1}
		f.x.Nodes[f.e.Node] = st
	}
	return st
}

// idle says whether a node can be told what to do next: it has not been
// reached, or an attempt or approval of it has just ended, or a backoff.
func idle(st *loomv1.NodeState) bool {
	return !isSettled(st) && st.GetAttempt() == nil && st.GetApproval() == ""
}

func (f folder) completed(c *loomv1.NodeCompleted) error {
	st := f.x.Nodes[f.e.Node]
	if !idle(st) || st.GetStatus() == backingOff {
		return f.wrong("it is %s", nodeWord(st))
	}
	st = f.touch()
	st.Status = failed
	if c.GetSucceeded() {
		st.Status = succeeded
	}
	return nil
}

func (f folder) reworked(w *loomv1.ReworkStarted) error {
	from := f.x.Nodes[f.e.Node]
	if from == nil || !slices.Contains(w.GetResetNodes(), w.GetTo()) {
		return f.wrong("it cannot send work back to %q", w.GetTo())
	}
	if err := f.resettable(w.ResetNodes, w.ResetEdges); err != nil {
		return err
	}
	from.Reworks = w.Count
	if w.MovedFrom != "" {
		from.MovedFrom = w.MovedFrom
	}
	f.reset(w.ResetNodes, w.ResetEdges)
	return nil
}

// resettable refuses to begin anew what was never begun or has something open.
func (f folder) resettable(nodes, edges []string) error {
	for _, id := range nodes {
		if st := f.x.Nodes[id]; st == nil || st.Attempt != nil || st.Approval != "" {
			return f.wrong("node %q cannot begin anew", id)
		}
	}
	for _, id := range edges {
		if _, ok := f.x.Edges[id]; !ok {
			return f.wrong("edge %q is not settled", id)
		}
	}
	return nil
}

// reset begins a new visit of nodes, with their history kept and their gaps open
// again. It is a transition.
func (f folder) reset(nodes, edges []string) {
	for _, id := range nodes {
		st := f.x.Nodes[id]
		f.x.Nodes[id] = &loomv1.NodeState{Visit: st.Visit + 1, Reworks: st.Reworks, Replans: st.Replans, MovedFrom: st.MovedFrom, History: st.History}
	}
	f.x.Gaps = slices.DeleteFunc(slices.Clone(f.x.Gaps), func(g *loomv1.Gap) bool { return slices.Contains(nodes, g.Node) })
	for _, id := range edges {
		delete(f.x.Edges, id)
	}
	f.count()
}

func (f folder) ended(d *loomv1.ExecutionEnded) error {
	if d.GetStatus() <= loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
		return f.wrong("no execution ends as %s", statusWord(d.GetStatus()))
	}
	open := f.x.LimitApproval != "" || len(f.x.Permissions) > 0
	for _, st := range f.x.Nodes {
		open = open || st.Attempt != nil || st.Approval != ""
	}
	if open {
		return f.wrong("something is still open")
	}
	f.x.Status, f.x.Reason, f.x.EndedAt = d.Status, d.Reason, f.e.Time
	f.x.Paused, f.x.Closing = nil, nil
	return nil
}
