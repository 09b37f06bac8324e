package workflow

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// timeLayout is how the engine writes a moment for people and conditions.
const timeLayout = time.RFC3339

func (f folder) dispatched(d *loomv1.AttemptDispatched) error {
	st := f.x.Nodes[f.e.Node]
	if !idle(st) {
		return f.wrong("it is %s", nodeWord(st))
	}
	if f.e.Attempt != attemptID(f.x) || d.GetVisit() != max(st.GetVisit(), 1) || d.GetNumber() != st.GetAttempts()+1 {
		return f.wrong("attempt %q is not its next", f.e.Attempt)
	}
	st = f.touch()
	st.Status, st.RetryAt = runningStatus, nil
	st.Attempts, st.ExtraAttempts = d.Number, d.ExtraAttempts
	st.Attempt = &loomv1.Attempt{
		Id: f.e.Attempt, Node: f.e.Node, Visit: d.Visit, Number: d.Number, Role: d.Role,
		DispatchedAt: f.e.Time, Deadline: d.Deadline, Generation: 1, Process: d.Process, TakeWithin: d.TakeWithin,
	}
	if d.Process == "" {
		st.Attempt.QueuedAt = f.e.Time
	}
	f.x.Dispatches++
	f.noteRun()
	f.count()
	return nil
}

// noteRun writes into the context that work was dispatched now.
func (f folder) noteRun() {
	context := f.x.Context.Fields
	if context[redispatchRequested] != nil {
		context[redispatchRequested] = structpb.NewBoolValue(false)
	}
	context[lastRunAt] = structpb.NewStringValue(f.e.Time.AsTime().Format(time.RFC3339Nano))
}

func (f folder) retries(s *loomv1.RetryScheduled) error {
	st := f.x.Nodes[f.e.Node]
	if began := st.GetStatus() == runningStatus || st.GetStatus() == waiting; !began || !idle(st) || s.GetAt() == nil {
		return f.wrong("it is %s", nodeWord(st))
	}
	st.Status, st.RetryAt = backingOff, s.At
	st.ExtraAttempts = max(st.ExtraAttempts, s.ExtraAttempts)
	return nil
}

// attempt returns the node's state if the event's attempt is outstanding there.
func (f folder) attempt() (*loomv1.NodeState, error) {
	st := f.x.Nodes[f.e.Node]
	if a := st.GetAttempt(); a == nil || a.Id != f.e.Attempt {
		return nil, f.wrong("attempt %q is not outstanding", f.e.Attempt)
	}
	return st, nil
}

func (f folder) claimed(c *loomv1.AttemptClaimed) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	a := st.Attempt
	if !isQueued(a) || c.GetClaimant() == nil || c.Generation != a.Generation {
		return f.wrong("attempt %q is not free under generation %d", a.Id, c.GetGeneration())
	}
	a.Claimant, a.Deadline = c.Claimant, c.Deadline
	return nil
}

func (f folder) released(c *loomv1.ClaimReleased) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	a := st.Attempt
	if a.Claimant == nil && a.Parked == "" || c.GetGeneration() != a.Generation+1 {
		return f.wrong("attempt %q cannot be queued anew under generation %d", a.Id, c.GetGeneration())
	}
	until := f.e.Time.AsTime()
	if held := f.x.HeldSince; held != nil && held.AsTime().Before(until) {
		until = held.AsTime() // the end of the hold adds the rest, see [Shift]
	}
	unlimit(a, until)
	if c.Afresh { // what it waited and what befell it before counts no more
		a.Deadline, a.ParkedFor, a.Crashes, a.HostsLost, a.Blocked = nil, nil, 0, 0, 0
	}
	if c.Crash != "" {
		a.Crashes++
	}
	if c.HostLost {
		a.HostsLost++
	}
	a.Claimant, a.Parked, a.Awaits, a.Generation, a.QueuedAt = nil, "", nil, c.Generation, f.e.Time
	return nil
}

func (f folder) parked(p *loomv1.AttemptParked) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	a := st.Attempt
	limited := p.GetWaitsFor() == WaitsForRate || p.GetWaitsFor() == WaitsForOperator
	if a.Claimant == nil || p.GetWaitsFor() == "" || limited != (p.Until != nil) {
		return f.wrong("attempt %q cannot be parked", a.Id)
	}
	if err := f.awaited(a, p); err != nil {
		return err
	}
	a.Claimant, a.Parked, a.Awaits = nil, p.WaitsFor, p.Awaits
	if p.Block != nil {
		a.Block, a.Blocked = p.Block, a.Blocked+1
	}
	if others(p.WaitsFor) {
		a.ParkedAt, a.ParkedUntil = f.e.Time, p.Until
	}
	return nil
}

func (f folder) attemptEnded(d *loomv1.AttemptEnded) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	a, out := st.Attempt, d.GetOutcome()
	if out.GetStatus() < success || out.GetStatus() > goesOn {
		return f.wrong("attempt %q has no outcome", a.Id)
	}
	a.EndedAt, a.Outcome, a.TimedOut, a.Reserved = f.e.Time, out, d.TimedOut, nil
	st.Attempt, st.Outcome = nil, out
	st.History = append(st.History, a)
	switch out.Status {
	case goesOn:
		f.x.Context.Fields[redispatchRequested] = structpb.NewBoolValue(true)
	case success:
		f.nameCheck(out.Fields.GetFields()["check"].GetStringValue())
	}
	return nil
}

// nameCheck requires the command that the node names, in place of the one that
// it named before: who was mistaken can say so. What the project requires stays.
func (f folder) nameCheck(command string) {
	if command == "" {
		return
	}
	x := f.x
	if x.NamedChecks == nil {
		x.NamedChecks = map[string]string{}
	}
	x.NamedChecks[f.e.Node] = command
	x.Checks = required(x)
}

// proposed puts a change in place of the last; a candidate was made for its
// patch or no longer counts.
func (f folder) proposed(c *loomv1.Change) {
	if c.GetPatchDigest() != f.x.Change.GetPatchDigest() {
		f.x.Candidate, f.x.Car = nil, nil
	}
	f.x.Change = c
}

func (f folder) used(a *loomv1.ModelAnswer) {
	f.pays(a.GetUsage())
	f.x.ModelCalls++
	if st, err := f.attempt(); err == nil {
		st.Attempt.HostsLost, st.Attempt.Block, st.Attempt.Blocked = 0, nil, 0
	}
	f.x.Scripted = f.x.Scripted || a.GetScripted()
}

// pays counts what a model call has used, also one that came to nothing.
func (f folder) pays(u *loomv1.Usage) {
	x := f.x
	if x.Usage == nil {
		x.Usage = &loomv1.Usage{CostKnown: true}
	}
	x.Usage.InputTokens += u.GetInputTokens()
	x.Usage.OutputTokens += u.GetOutputTokens()
	x.Usage.CostMicroUsd += u.GetCostMicroUsd()
	x.Usage.CostKnown = x.Usage.CostKnown && u.GetCostKnown()
}

// listed keeps what the attempt's agent has set out to do.
func (f folder) listed(todo *loomv1.TodoList) error {
	st, err := f.attempt()
	if err == nil {
		st.Attempt.Todo = todo
	}
	return err
}

// reserved holds back what a model call can use.
func (f folder) reserved(r *loomv1.CallReservation) error {
	st, err := f.attempt()
	if err != nil {
		return err
	}
	if r.GetRequest() == "" || r.By == nil {
		return f.wrong("a reservation without a request or a claimant")
	}
	st.Attempt.Reserved = append(slices.Clip(st.Attempt.Reserved), r)
	return nil
}

// unreserve ends the reservation of the call that who holds the attempt has
// made for a request. One of an earlier holder stays: what its call has used is
// not known.
func (f folder) unreserve(request string) {
	a := f.x.Nodes[f.e.Node].GetAttempt()
	if a == nil || a.Id != f.e.Attempt {
		return
	}
	a.Reserved = slices.DeleteFunc(slices.Clone(a.Reserved), func(r *loomv1.CallReservation) bool {
		return r.Request == request && proto.Equal(r.By, a.Claimant)
	})
}
