package workflow

import (
	"cmp"
	"slices"
	"strings"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The statuses of a node, by their short names.
const (
	unreached     = loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED
	runningStatus = loomv1.NodeStatus_NODE_STATUS_RUNNING
	backingOff    = loomv1.NodeStatus_NODE_STATUS_BACKOFF
	waiting       = loomv1.NodeStatus_NODE_STATUS_WAITING
	succeeded     = loomv1.NodeStatus_NODE_STATUS_SUCCEEDED
	failed        = loomv1.NodeStatus_NODE_STATUS_FAILED
	skippedStatus = loomv1.NodeStatus_NODE_STATUS_SKIPPED

	detachedStatus = loomv1.NodeStatus_NODE_STATUS_DETACHED
)

// Next returns the earliest moment at which [Run.Tick] has something to do.
// Absent and grace are as in [Run]. One that holds itself has no such moment;
// whether it is held from outside is for the caller to know.
func Next(x *loomv1.Execution, absent func(role string) (time.Time, bool), grace time.Duration) (time.Time, bool) {
	var earliest time.Time
	found := false
	if !running(x) || holdsItself(x) {
		return earliest, false
	}
	consider := func(at time.Time, ok bool) {
		if ok && (!found || at.Before(earliest)) {
			earliest, found = at, true
		}
	}
	for _, st := range x.Nodes {
		consider(timer(x, st))
		consider(lonely(x, st, absent, grace))
	}
	return earliest, found
}

// timer returns when a node wants a tick: at the end of a backoff, unless
// nothing may start then, at the deadline of an attempt that is held by an agent or
// waits for the lock, or in the place of that at the end of the rate limit that the
// attempt waits for.
func timer(x *loomv1.Execution, st *loomv1.NodeState) (time.Time, bool) {
	switch {
	case st.GetStatus() == backingOff && st.RetryAt != nil:
		return st.RetryAt.AsTime(), x.HaltedBy == ""
	case slices.Contains([]string{WaitsForPermission, WaitsForTeam, WaitsForMail, WaitsForBudget, WaitsForAnswer, WaitsForPeople}, st.GetAttempt().GetParked()):
	case st.GetAttempt().GetParked() == WaitsForRate:
		return rateEnds(st.Attempt)
	case st.GetAttempt().GetParked() == WaitsForOperator:
		return st.Attempt.ParkedUntil.AsTime(), true
	case isQueued(st.GetAttempt()): // its time stands still, see [Run.Claim]
	case st.GetAttempt().GetDeadline() != nil:
		return st.Attempt.Deadline.AsTime(), true
	}
	return time.Time{}, false
}

// lonely returns when an attempt has been queued for as long as it may: for a role
// without a live agent, or for one whose agents may all be barred from it.
func lonely(x *loomv1.Execution, st *loomv1.NodeState, absent func(string) (time.Time, bool), grace time.Duration) (at time.Time, ok bool) {
	a := st.GetAttempt()
	if !isQueued(a) {
		return at, false
	}
	if a.TakeWithin != nil && mayBar(x) {
		at, ok = queuedAt(a).Add(a.TakeWithin.AsDuration()), true
	}
	if absent == nil {
		return at, ok
	}
	since, gone := absent(a.Role)
	if !gone {
		return at, ok
	}
	if queued := queuedAt(a); queued.After(since) {
		since = queued
	}
	if end := since.Add(grace); !ok || end.Before(at) {
		at = end
	}
	return at, true
}

// queuedAt is when an attempt was last queued.
func queuedAt(a *loomv1.Attempt) time.Time {
	if a.QueuedAt == nil { // dispatched by an earlier release
		return a.DispatchedAt.AsTime()
	}
	return a.QueuedAt.AsTime()
}

// isQueued says whether an attempt waits for an agent to claim it.
func isQueued(a *loomv1.Attempt) bool {
	return a != nil && a.Claimant == nil && a.Parked == "" && !OfProcess(a)
}

// Queued returns the attempts that must be in the work queue: dispatched to
// agents, held by nobody and not parked, oldest first. They are not to be
// changed. One that holds itself has none; whether it is held from outside is
// for the caller to know.
func Queued(x *loomv1.Execution) []*loomv1.Attempt {
	var queued []*loomv1.Attempt
	if !running(x) || holdsItself(x) {
		return nil
	}
	for _, st := range x.Nodes {
		if a := st.Attempt; isQueued(a) {
			queued = append(queued, a)
		}
	}
	slices.SortFunc(queued, byNumber)
	return queued
}

// byNumber orders the attempts of one execution: their ids differ in their
// number alone, and a longer number is larger.
func byNumber(a, b *loomv1.Attempt) int {
	return cmp.Or(cmp.Compare(len(a.Id), len(b.Id)), strings.Compare(a.Id, b.Id))
}

// Transition says what an event moved from where to where, and why, if it is a
// transition: an edge that was taken, work that was sent back or moved, or an
// attempt that is not the first of its visit. It is the one definition of the word;
// Execution.transitions counts by it.
func Transition(e *loomv1.Event) (from, to, outcome string, ok bool) {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_EdgeSettled:
		s := f.EdgeSettled
		return s.GetFrom(), s.GetTo(), s.GetOutcome(), s.GetTaken()
	case *loomv1.Event_ReworkStarted:
		return e.Node, f.ReworkStarted.GetTo(), byRework, true
	case *loomv1.Event_ExecutionMoved:
		return e.Node, f.ExecutionMoved.GetTo(), byMove, true
	case *loomv1.Event_AttemptDispatched:
		d := f.AttemptDispatched
		return e.Node, e.Node, d.GetCause(), d.GetNumber() > 1
	}
	return "", "", "", false
}

func running(x *loomv1.Execution) bool {
	return x.GetStatus() == loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING
}

// isSettled says whether a visit of a node is over.
func isSettled(st *loomv1.NodeState) bool {
	switch st.GetStatus() {
	case succeeded, failed, skippedStatus, detachedStatus:
		return true
	}
	return false
}

func statusWord(s loomv1.ExecutionStatus) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "EXECUTION_STATUS_"))
}

func nodeWord(st *loomv1.NodeState) string {
	if st.GetStatus() == unreached {
		return "not reached"
	}
	return strings.ToLower(strings.TrimPrefix(st.GetStatus().String(), "NODE_STATUS_"))
}

// factName is the type of an event's fact, for example "EdgeSettled".
func factName(e *loomv1.Event) string {
	field := e.ProtoReflect().WhichOneof(e.ProtoReflect().Descriptor().Oneofs().ByName("fact"))
	if field == nil {
		return "no fact"
	}
	return string(field.Message().Name())
}
