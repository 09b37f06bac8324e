package project

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/turn"
	"github.com/loomrun/loom/internal/workflow"
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
	s.p.LastNumber, s.p.LastTime = e.Number, e.Time
	return nil
}

func (s *State) apply(e *loomv1.Event) error {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ProjectRegistered:
		s.p.Config = proto.CloneOf(f.ProjectRegistered.Config)
	case *loomv1.Event_DefinitionStored:
		return s.applyDefinition(f.DefinitionStored)
	case *loomv1.Event_BeadFiled:
		s.applyFiled(e, f.BeadFiled)
	case *loomv1.Event_BeadOccurred:
		return s.applyOccurred(e, f.BeadOccurred)
	case *loomv1.Event_BeadStatusChanged:
		return s.applyBeadStatus(e, f.BeadStatusChanged)
	case *loomv1.Event_SubmissionRejected:
	case *loomv1.Event_DecisionAdded:
		s.remember(e, f.DecisionAdded.Request, f.DecisionAdded.GetNode().GetId(), "")
		return s.graph.Apply(e)
	case *loomv1.Event_DecisionLinked, *loomv1.Event_DecisionSuperseded:
		return s.graph.Apply(e)
	case *loomv1.Event_LockRequested, *loomv1.Event_LockGranted, *loomv1.Event_LockRenewed,
		*loomv1.Event_LockReleased, *loomv1.Event_LockExpired, *loomv1.Event_LockWithdrawn:
		return s.locks.Apply(e)
	case *loomv1.Event_TurnStarted, *loomv1.Event_ToolIntended, *loomv1.Event_ToolFinished:
		return s.applyTurn(e)
	case *loomv1.Event_ModelAnswered:
		if err := s.applyTurn(e); err != nil {
			return err
		}
		return s.applyExecution(e)
	case *loomv1.Event_ApprovalRequested, *loomv1.Event_ApprovalDecided, *loomv1.Event_ApprovalLapsed, *loomv1.Event_ApprovalRefused:
		if err := s.applyApproval(e); err != nil {
			return err
		}
		return s.applyExecution(e)
	case nil:
		return fmt.Errorf("no fact that this release knows")
	default:
		return s.applyExecution(e)
	}
	return nil
}

func (s *State) applyDefinition(f *loomv1.DefinitionStored) error {
	c, err := workflow.Compile(f.Definition)
	if err != nil {
		return fmt.Errorf("definition %q: %w", f.Definition.GetName(), err)
	}
	s.p.Definitions[f.Hash] = proto.CloneOf(f.Definition)
	s.p.Latest[f.Definition.Name] = f.Hash
	s.defs[f.Hash] = c
	return nil
}

func (s *State) applyFiled(e *loomv1.Event, f *loomv1.BeadFiled) {
	b := proto.CloneOf(f.Bead)
	b.CreatedAt, b.UpdatedAt, b.FiledBy = e.Time, e.Time, e.Actor
	s.p.Beads[b.Id] = b
	s.p.BeadCount++
	if b.Fingerprint != "" {
		s.prints[b.Fingerprint] = b.Id
	}
	s.remember(e, f.Request, b.Id, f.RequestDigest)
}

func (s *State) applyOccurred(e *loomv1.Event, f *loomv1.BeadOccurred) error {
	b, ok := s.p.Beads[e.Bead]
	if !ok {
		return fmt.Errorf("occurrence of bead %q, which was never filed", e.Bead)
	}
	b.Occurrences, b.UpdatedAt = f.Occurrences, e.Time
	s.remember(e, f.Request, b.Id, f.RequestDigest)
	return nil
}

func (s *State) applyBeadStatus(e *loomv1.Event, f *loomv1.BeadStatusChanged) error {
	b, ok := s.p.Beads[e.Bead]
	if !ok {
		return fmt.Errorf("status of bead %q, which was never filed", e.Bead)
	}
	b.Status, b.Reason, b.UpdatedAt = f.Status, f.Reason, e.Time
	if ended(b.Status) && s.prints[b.Fingerprint] == b.Id {
		delete(s.prints, b.Fingerprint)
	}
	return nil
}

// applyExecution folds workflow facts into their execution.
func (s *State) applyExecution(e *loomv1.Event) error {
	x := s.p.Executions[e.Execution]
	if f := e.GetExecutionStarted(); f != nil {
		if x != nil {
			return fmt.Errorf("execution %q started twice", e.Execution)
		}
		b, ok := s.p.Beads[e.Bead]
		if !ok {
			return fmt.Errorf("execution %q of bead %q, which was never filed", e.Execution, e.Bead)
		}
		x = &loomv1.Execution{Priority: b.Priority, Context: proto.CloneOf(b.Context)}
		b.Execution = e.Execution
		s.p.Executions[e.Execution] = x
		s.open[e.Execution] = true
	}
	if x == nil {
		return fmt.Errorf("%T of execution %q, which was never started", e.Fact, e.Execution)
	}
	if err := workflow.Apply(x, e); err != nil {
		return err
	}
	switch e.Fact.(type) {
	case *loomv1.Event_ExecutionEnded:
		delete(s.open, e.Execution)
	case *loomv1.Event_AttemptEnded:
		delete(s.p.Turns, e.Attempt)
	}
	s.timers.set(x)
	return nil
}

func (s *State) applyTurn(e *loomv1.Event) error {
	t := s.p.Turns[e.Attempt]
	if t == nil {
		t = &loomv1.Turn{Attempt: e.Attempt}
		s.p.Turns[e.Attempt] = t
	}
	return turn.Apply(t, e)
}

func (s *State) applyApproval(e *loomv1.Event) error {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ApprovalRequested:
		a := proto.CloneOf(f.ApprovalRequested.Approval)
		a.AskedAt = e.Time
		s.p.Approvals[a.Id] = a
		s.asked[a.Execution] = append(s.asked[a.Execution], a.Id)
	case *loomv1.Event_ApprovalDecided:
		a, ok := s.p.Approvals[f.ApprovalDecided.Approval]
		if !ok {
			return fmt.Errorf("decision on approval %q, which was never asked", f.ApprovalDecided.Approval)
		}
		a.Decision, a.Comment = f.ApprovalDecided.Decision, f.ApprovalDecided.Comment
		a.DecidedBy, a.DecidedAt = e.Actor, e.Time
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
