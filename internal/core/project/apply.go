package project

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fact"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// rememberFor is how long the answer to a request id is kept.
const rememberFor = 24 * time.Hour

// Apply folds one committed event into the state. An error means that the log
// and this code disagree: the state is then unusable and the project must be
// set aside, never carried on with.
func (s *State) Apply(e *loomv1.Event) error {
	if e.Number != s.p.LastNumber+1 {
		return fmt.Errorf("project %q: event %d after event %d", s.cfg.ID, e.Number, s.p.LastNumber)
	}
	if e.Time.AsTime().Before(s.Time()) {
		return fmt.Errorf("project %q: event %d at %s, before its predecessor", s.cfg.ID, e.Number, e.Time.AsTime())
	}
	if err := s.apply(e); err != nil {
		return fmt.Errorf("project %q: event %d: %w", s.cfg.ID, e.Number, err)
	}
	s.applySpent(e)
	s.p.LastNumber, s.p.LastTime = e.Number, e.Time
	return nil
}

// apply has each core fold the event that the contract names for its kind.
func (s *State) apply(e *loomv1.Event) error {
	kind := fact.Of(e)
	if kind == nil {
		return fmt.Errorf("no fact that this release knows")
	}
	for _, core := range kind.Cores {
		if err := s.applyTo(core, e); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) applyTo(core loomv1.Core, e *loomv1.Event) error {
	switch core {
	case loomv1.Core_CORE_PROJECT:
		return s.applyOwn(e)
	case loomv1.Core_CORE_WORKFLOW:
		if !workflow.Concerns(e) {
			return nil
		}
		return s.applyExecution(e)
	case loomv1.Core_CORE_TURN:
		return s.applyTurn(e)
	case loomv1.Core_CORE_GRAPH:
		return s.graph.Apply(e)
	case loomv1.Core_CORE_LOCK:
		return s.locks.Apply(e)
	case loomv1.Core_CORE_MEMORY:
		return s.mem.Apply(e)
	case loomv1.Core_CORE_TEAM:
		return s.applyTeam(e)
	case loomv1.Core_CORE_SESSION:
		return s.applySession(e)
	}
	return fmt.Errorf("nobody folds for %s", core)
}

// applyOwn folds what concerns the project itself.
func (s *State) applyOwn(e *loomv1.Event) error {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ProjectRegistered:
		s.applyRegistered(f.ProjectRegistered)
	case *loomv1.Event_ProjectRemoved:
		return s.applyRemoved(e)
	case *loomv1.Event_DefinitionStored:
		return s.applyDefinition(e, f.DefinitionStored)
	case *loomv1.Event_BeadFiled:
		return s.applyFiled(e, f.BeadFiled)
	case *loomv1.Event_BeadOccurred:
		return s.applyOccurred(e, f.BeadOccurred)
	case *loomv1.Event_BeadStatusChanged:
		return s.applyBeadStatus(e, f.BeadStatusChanged)
	case *loomv1.Event_BeadUpdated:
		return s.applyUpdated(e)
	case *loomv1.Event_DraftKept:
		return s.applyDraft(e)
	case *loomv1.Event_GovernorTripped, *loomv1.Event_GovernorRenewed:
		s.applyGovernor(e)
	case *loomv1.Event_CommandRefused:
		s.refused(f.CommandRefused.GetSpent(), f.CommandRefused.GetError())
	case *loomv1.Event_OverrideGiven:
		s.use(f.OverrideGiven.Signed)
	case *loomv1.Event_KeyEnrolled, *loomv1.Event_KeyRevoked, *loomv1.Event_KeyAwaited:
		s.applyKeys(e)
	case *loomv1.Event_ApprovalSigned:
		s.applySigned(e, f.ApprovalSigned)
	case *loomv1.Event_WorkPaused:
		return s.applyPaused(e, f.WorkPaused.Pause)
	case *loomv1.Event_WorkResumed:
		return s.applyResumed(e, f.WorkResumed)
	case *loomv1.Event_RoleScaled, *loomv1.Event_HostDrained, *loomv1.Event_MembersChanged:
		s.applyStaffing(e)
	case *loomv1.Event_AgentStarted, *loomv1.Event_AgentRestarted, *loomv1.Event_AgentCrashed, *loomv1.Event_AgentGivenUp, *loomv1.Event_AgentDrained:
		return s.applyLife(e)
	case *loomv1.Event_PermissionSet, *loomv1.Event_PermissionRevoked:
		return s.applyPermission(e)
	case *loomv1.Event_ToolsTrusted, *loomv1.Event_ToolsDistrusted:
		return s.applyToolkit(e)
	case *loomv1.Event_RolesReported:
		s.applyRoles(e, f.RolesReported)
	case *loomv1.Event_DecisionAdded:
		s.remember(e, f.DecisionAdded.Request, f.DecisionAdded.GetNode().GetId(), "")
	case *loomv1.Event_DecisionsImported:
		s.remember(e, f.DecisionsImported.Request, importedFirst(f.DecisionsImported), "")
	case *loomv1.Event_MemoryKept:
		s.remember(e, f.MemoryKept.Request, f.MemoryKept.GetEntry().GetId(), "")
	case *loomv1.Event_MemoryMerged:
		s.remember(e, f.MemoryMerged.Request, f.MemoryMerged.Id, "")
	case *loomv1.Event_SessionAdvanced:
		s.remember(e, f.SessionAdvanced.Request, f.SessionAdvanced.Session, f.SessionAdvanced.RequestDigest)
	case *loomv1.Event_ApprovalRequested, *loomv1.Event_ApprovalDecided, *loomv1.Event_ApprovalRefused:
		return s.applyApproval(e)
	case *loomv1.Event_PlanAdopted:
		return s.applyPlan(e, f.PlanAdopted)
	default:
		return fmt.Errorf("%T is no fact of a project", e.Fact)
	}
	return nil
}

// applyRegistered folds a registration. Timers of work that waits for a role
// depend on its grace, so that they are all looked at again. Where work lands
// elsewhere from then on, nobody can find out what landed before.
func (s *State) applyRegistered(f *loomv1.ProjectRegistered) {
	if old := s.p.Config; old.GetRepository() != f.Config.GetRepository() || old.GetTargetBranch() != f.Config.GetTargetBranch() {
		s.p.OpenLandings = nil
	}
	s.takeBack(s.p.Config, f.Config)
	s.p.Config = proto.CloneOf(f.Config)
	for _, x := range s.running() {
		s.rearm(x)
	}
}

func (s *State) applyFiled(e *loomv1.Event, f *loomv1.BeadFiled) error {
	b := &loomv1.Bead{}
	if err := FoldBead(b, e); err != nil {
		return err
	}
	s.p.Beads[b.Id] = b
	s.p.BeadCount++
	if b.Fingerprint != "" {
		s.prints[b.Fingerprint] = b.Id
	}
	if f.Governed != "" {
		s.applyGovernor(e)
	}
	if r := s.p.Sessions[b.Session]; r != nil {
		if b.Process == processes.InterviewProcess {
			r.Interview = b.Id
		} else {
			r.Bead = b.Id
		}
	}
	s.indexFiled(b)
	s.remember(e, f.Request, b.Id, f.RequestDigest)
	return nil
}

// applyUpdated gives a bead the values that people gave it. A priority also
// counts for what its execution dispatches from now on.
func (s *State) applyUpdated(e *loomv1.Event) error {
	b := s.bead(e.Bead)
	old, all := b.GetBudget(), s.p.Config.GetBeadBudget()
	if b == nil {
		return fmt.Errorf("update of bead %q, which was never filed", e.Bead)
	}
	s.index.unlink(b)
	if err := FoldBead(b, e); err != nil {
		return err
	}
	s.index.link(b)
	if x := s.execution(b.Execution); s.open[b.Execution] {
		x.Priority = b.Priority
		x.Granted = kept(x.Granted, budgetFor(x, old, all), budgetFor(x, b.Budget, all))
		s.rehold(x, e.Time)
		s.rearm(x)
	}
	s.lookAt(b.Id)
	return nil
}

func (s *State) applyDraft(e *loomv1.Event) error {
	b := s.bead(e.Bead)
	if b == nil {
		return fmt.Errorf("draft of bead %q, which was never filed", e.Bead)
	}
	s.idle(b.Id) // it has ended, and is written anew
	return FoldBead(b, e)
}

func (s *State) applyOccurred(e *loomv1.Event, f *loomv1.BeadOccurred) error {
	b := s.bead(e.Bead)
	if b == nil {
		return fmt.Errorf("occurrence of bead %q, which was never filed", e.Bead)
	}
	if err := FoldBead(b, e); err != nil {
		return err
	}
	s.remember(e, f.Request, b.Id, f.RequestDigest)
	return nil
}

func (s *State) applyBeadStatus(e *loomv1.Event, f *loomv1.BeadStatusChanged) error {
	b := s.bead(e.Bead)
	if b == nil {
		return fmt.Errorf("status of bead %q, which was never filed", e.Bead)
	}
	was := b.Status
	if err := FoldBead(b, e); err != nil {
		return err
	}
	switch {
	case b.Fingerprint == "":
	case !ended(b.Status):
		s.prints[b.Fingerprint] = b.Id
	case s.prints[b.Fingerprint] == b.Id:
		delete(s.prints, b.Fingerprint)
	}
	if s.indexStatus(b, was, e.Time); ended(b.Status) {
		s.idle(b.Id)
	}
	s.remember(e, f.Request, b.Id, f.RequestDigest)
	return nil
}

// applyExecution folds workflow facts into their execution.
func (s *State) applyExecution(e *loomv1.Event) error {
	x := s.execution(e.Execution)
	if e.GetExecutionStarted() != nil || e.GetExecutionForked() != nil {
		if x != nil {
			return fmt.Errorf("execution %q started twice", e.Execution)
		}
		b := s.bead(e.Bead)
		if b == nil {
			return fmt.Errorf("execution %q of bead %q, which was never filed", e.Execution, e.Bead)
		}
		x = &loomv1.Execution{Priority: b.Priority, Context: proto.CloneOf(b.Context)}
		if err := FoldBead(b, e); err != nil {
			return err
		}
		s.p.Executions[e.Execution] = x
		s.open[e.Execution] = true
	}
	if x == nil {
		return fmt.Errorf("%T of execution %q, which was never started", e.Fact, e.Execution)
	}
	candidate, car := x.Candidate, x.Car
	if err := workflow.Apply(x, e); err != nil {
		return err
	}
	if candidate != nil && x.Candidate.GetCommit() != candidate.Commit {
		s.dropped(x, candidate, car)
	}
	switch e.Fact.(type) {
	case *loomv1.Event_ExecutionStarted, *loomv1.Event_ExecutionForked:
		s.indexExecution(x)
	case *loomv1.Event_ExecutionEnded:
		s.learn(x)
		for _, a := range attemptsOf(x) {
			delete(s.p.Turns, a.Id)
		}
		delete(s.open, e.Execution)
		delete(s.asked, e.Execution)
		s.idle(x.Bead)
		s.indexExecution(x)
	case *loomv1.Event_AttemptEnded:
		for _, a := range x.Nodes[e.Node].GetHistory() {
			a.ReadOutside = a.ReadOutside || a.Id == e.Attempt && s.readOutside(a.Id)
		}
		if !conversing(x) { // the next attempt at a conversation goes on with it
			delete(s.p.Turns, e.Attempt)
		}
		s.orphan(x, e)
		s.doubt(x, e)
	case *loomv1.Event_Landed:
		s.sure(x.Id, x.Candidate.GetCommit())
		s.landed(e, x.Candidate.GetPatchDigest(), e.GetLanded().GetLanding())
	case *loomv1.Event_LandingSettled:
		s.settled(e)
	}
	s.rehold(x, e.Time)
	s.rearm(x)
	return nil
}

func (s *State) applyTurn(e *loomv1.Event) error {
	if f := e.GetTurnForked(); f != nil {
		from := s.p.Turns[f.Attempt]
		if from == nil || s.p.Turns[e.Attempt] != nil || int(f.Steps) > len(from.Steps) {
			return fmt.Errorf("turn of attempt %q cannot go on with that of %q", e.Attempt, f.Attempt)
		}
		s.p.Turns[e.Attempt] = turn.Fork(from, e.Attempt, int(f.Steps))
		s.takeOver(e, f)
		return nil
	}
	t := s.p.Turns[e.Attempt]
	if t == nil {
		t = &loomv1.Turn{Attempt: e.Attempt}
		s.p.Turns[e.Attempt] = t
	}
	return turn.Apply(t, e)
}

func (s *State) applyApproval(e *loomv1.Event) error {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ApprovalRefused:
		s.refused(f.ApprovalRefused.GetSpent(), f.ApprovalRefused.GetError())
	case *loomv1.Event_ApprovalRequested:
		a := proto.CloneOf(f.ApprovalRequested.Approval)
		a.AskedAt = e.Time
		s.p.Approvals[a.Id] = a
		s.asked[a.Execution] = append(s.asked[a.Execution], a.Id)
		s.index.approvals = s.index.approvals.with(a.Id)
		s.lookAtApproval(a.Id)
	case *loomv1.Event_ApprovalDecided:
		a := s.approval(f.ApprovalDecided.Approval)
		if a == nil {
			return fmt.Errorf("decision on approval %q, which was never asked", f.ApprovalDecided.Approval)
		}
		a.Decision, a.Comment = f.ApprovalDecided.Decision, f.ApprovalDecided.Comment
		a.DecidedBy, a.DecidedAt = e.Actor, e.Time
		s.lookAtApproval(a.Id)
		if n := nonceOf(f.ApprovalDecided.Signed); n != "" {
			s.p.Nonces[n] = true
		}
	}
	return nil
}

// remember keeps the answer to a request and forgets those of over a day ago.
func (s *State) remember(e *loomv1.Event, key, id, digest string) {
	if key == "" {
		return
	}
	s.p.Requests[key] = &loomv1.RememberedRequest{Id: id, Time: e.Time, Digest: digest}
	now := e.Time.AsTime()
	s.recalls = append(s.recalls, recall{key, now})
	for len(s.recalls) > 0 && now.Sub(s.recalls[0].at) >= rememberFor {
		old := s.recalls[0]
		if r, ok := s.p.Requests[old.key]; ok && r.Time.AsTime().Equal(old.at) {
			delete(s.p.Requests, old.key)
		}
		s.recalls = s.recalls[1:]
	}
}

func sortedRecalls(m map[string]*loomv1.RememberedRequest) []recall {
	list := make([]recall, 0, len(m))
	for k, r := range m {
		list = append(list, recall{k, r.Time.AsTime()})
	}
	slices.SortFunc(list, func(a, b recall) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.key, b.key))
	})
	return list
}
