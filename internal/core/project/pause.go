package project

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// held says whether an execution stands still: nothing of it is started or
// claimed, and no timer of it runs. What was paid for is still recorded, and an
// outcome is still taken. Everything that hands out work asks this.
func (s *State) held(x *loomv1.Execution) bool { return x.GetHeldSince() != nil }

// holds says whether something holds x now: it is closing; a pause of it, of its process or of
// the project; a limit that the CEO is asked about; beads that block its bead;
// the session whose steps it does; or the same of the execution that it is a child of.
func (s *State) holds(x *loomv1.Execution) bool {
	return x.Paused != nil || x.Closing != nil || x.LimitApproval != "" || slices.ContainsFunc(s.p.Pauses, func(p *loomv1.Pause) bool { return covers(p, x) }) ||
		s.blocked(s.bead(x.Bead)) || s.sessionHolds(x) || x.Parent != "" && (s.orphaned(x) || s.held(s.execution(x.Parent)))
}

// covers says whether a pause of a process or of the project is one of x.
func covers(p *loomv1.Pause, x *loomv1.Execution) bool {
	return p.Scope == loomv1.PauseScope_PAUSE_SCOPE_PROJECT || p.Name == x.Definition
}

// rehold notes since when x is held, or that it no longer is, and the same of
// its children. It is part of the fold of whatever may begin or end a hold.
// What was outstanding gets the time back, and an execution that may go on is
// kicked, which emits nothing here: a bounded number go on with each Tick.
func (s *State) rehold(x *loomv1.Execution, at *timestamppb.Timestamp) {
	is := running(x) && s.holds(x)
	if is == s.held(x) {
		return
	}
	if is {
		x.HeldSince = at
	} else {
		s.release(x, at.AsTime())
	}
	s.rearm(x)
	for _, a := range outstanding(x) {
		for _, c := range s.helpersOf(a) {
			s.rehold(c, at)
		}
	}
}

func (s *State) release(x *loomv1.Execution, now time.Time) {
	since := x.HeldSince.AsTime()
	x.HeldFor = durationpb.New(x.HeldFor.AsDuration() + now.Sub(since))
	x.HeldSince = nil
	if running(x) {
		workflow.Shift(x, since, now)
		team.Shift(s.questionsOf(x), since, now)
		s.timers.kick(x.Id)
	}
}

// reholdAll is rehold of every running execution.
func (s *State) reholdAll(at *timestamppb.Timestamp) {
	for _, x := range s.running() {
		s.rehold(x, at)
	}
}

// reholdBead is rehold of what works on a bead.
func (s *State) reholdBead(bead string, at *timestamppb.Timestamp) {
	if x := s.execution(s.bead(bead).GetExecution()); x != nil {
		s.rehold(x, at)
	}
}

func running(x *loomv1.Execution) bool {
	return x.GetStatus() == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING
}

// paused returns the pause of this very scope and name, or nil.
func (s *State) paused(scope loomv1.PauseScope, name string) *loomv1.Pause {
	if scope == loomv1.PauseScope_PAUSE_SCOPE_EXECUTION {
		return s.execution(name).GetPaused()
	}
	for _, p := range s.p.Pauses {
		if p.Scope == scope && p.Name == name {
			return p
		}
	}
	return nil
}

// pause holds all work within a scope. Pausing what is paused changes nothing.
func (d *decision) pause(c *loomv1.PauseWork) error {
	done, err := d.scope(c.GetScope(), c.GetName())
	if err != nil {
		return err
	}
	defer done()
	if d.s.paused(c.Scope, c.Name) != nil {
		return nil
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_WorkPaused{WorkPaused: &loomv1.WorkPaused{Pause: &loomv1.Pause{
		Scope: c.Scope, Name: c.Name, Reason: c.Reason, Since: d.at, By: d.actor,
	}}}})
}

// resume ends the pause of the same scope and name, and no other: what is
// paused by itself stays so when its project goes on.
func (d *decision) resume(c *loomv1.ResumeWork) error {
	done, err := d.scope(c.GetScope(), c.GetName())
	if err != nil {
		return err
	}
	defer done()
	if d.s.paused(c.Scope, c.Name) == nil {
		return fault.New("pause/none", "%s is not paused", scopeWords(c.Scope, c.Name)).At("name").Want("%s", d.s.pauseHint())
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_WorkResumed{WorkResumed: &loomv1.WorkResumed{Scope: c.Scope, Name: c.Name}}})
}

// scope refuses a scope that is none here, and says what the facts to come are
// about.
func (d *decision) scope(scope loomv1.PauseScope, name string) (done func(), err error) {
	switch scope {
	case loomv1.PauseScope_PAUSE_SCOPE_EXECUTION:
		x, err := d.runningOne(name)
		if err != nil {
			return nil, err
		}
		return d.about(x), nil
	case loomv1.PauseScope_PAUSE_SCOPE_PROCESS:
		if d.s.p.Latest[name] == "" {
			return nil, fault.New("submit/unknown-process", "process is not known in project %q", d.s.cfg.ID).At("name").Got(name).Want("%s", d.suggestProcess(name))
		}
		return func() {}, nil
	case loomv1.PauseScope_PAUSE_SCOPE_PROJECT:
		if name != "" {
			return nil, fault.New("override/invalid", "a pause of all work has no name").At("name").Got(name)
		}
		return func() {}, nil
	}
	return nil, fault.New("override/invalid", "a pause has no scope").At("scope").Want("execution, process or project")
}

func scopeWords(scope loomv1.PauseScope, name string) string {
	switch scope {
	case loomv1.PauseScope_PAUSE_SCOPE_EXECUTION:
		return fmt.Sprintf("execution %q by itself", name)
	case loomv1.PauseScope_PAUSE_SCOPE_PROCESS:
		return fmt.Sprintf("process %q by itself", name)
	}
	return "the project"
}

// pauseHint says what could be resumed instead.
func (s *State) pauseHint() string {
	if len(s.p.Pauses) == 0 {
		return ""
	}
	p := s.p.Pauses[0]
	if p.Scope == loomv1.PauseScope_PAUSE_SCOPE_PROCESS {
		return fmt.Sprintf("process %q is", p.Name)
	}
	return "the whole project is"
}

// applyPaused folds a pause of more than one execution; that of one is a part
// of the execution's own state.
func (s *State) applyPaused(e *loomv1.Event, p *loomv1.Pause) error {
	if p.GetScope() == loomv1.PauseScope_PAUSE_SCOPE_EXECUTION {
		return nil // the execution's own
	}
	if s.paused(p.GetScope(), p.GetName()) != nil {
		return fmt.Errorf("%s is paused twice", scopeWords(p.GetScope(), p.GetName()))
	}
	s.p.Pauses = append(s.p.Pauses, proto.CloneOf(p))
	s.reholdAll(e.Time)
	return nil
}

func (s *State) applyResumed(e *loomv1.Event, r *loomv1.WorkResumed) error {
	if r.Scope == loomv1.PauseScope_PAUSE_SCOPE_EXECUTION {
		return nil // the execution's own
	}
	i := slices.IndexFunc(s.p.Pauses, func(p *loomv1.Pause) bool { return p.Scope == r.Scope && p.Name == r.Name })
	if i < 0 {
		return fmt.Errorf("%s is resumed, but not paused", scopeWords(r.Scope, r.Name))
	}
	s.p.Pauses = slices.Delete(s.p.Pauses, i, i+1)
	s.reholdAll(e.Time)
	return nil
}

// lockWanted says whether anybody who waits for a lock could use it now.
func (s *State) lockWanted(repository string) bool {
	return slices.ContainsFunc(s.locks.Status(repository).GetQueue(), func(c *loomv1.LockClaim) bool {
		x, a := s.attempt(c.Request)
		return a != nil && !s.held(x)
	})
}

// Pauses is the view of the pauses that are in force.
const Pauses View = "pause"

// lookPauses lists what is paused: the project, processes, then executions.
func (s *State) lookPauses(out *loomv1.View) {
	list := slices.Clone(s.p.Pauses)
	for _, x := range s.running() {
		if x.Paused != nil {
			list = append(list, x.Paused)
		}
	}
	slices.SortStableFunc(list, func(a, b *loomv1.Pause) int { return int(b.Scope) - int(a.Scope) })
	for _, p := range list {
		p = proto.CloneOf(p)
		p.Project = s.cfg.ID
		out.Pauses = append(out.Pauses, p)
	}
}
