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
)

// Next returns the earliest moment at which [Run.Tick] has something to do.
func Next(x *loomv1.Execution) (time.Time, bool) {
	var earliest time.Time
	found := false
	if !running(x) {
		return earliest, false
	}
	for _, st := range x.Nodes {
		if at, ok := timer(st); ok && (!found || at.Before(earliest)) {
			earliest, found = at, true
		}
	}
	return earliest, found
}

// timer returns when a node wants a tick: at the end of a backoff, or at its
// attempt's deadline.
func timer(st *loomv1.NodeState) (time.Time, bool) {
	switch {
	case st.GetStatus() == backingOff && st.RetryAt != nil:
		return st.RetryAt.AsTime(), true
	case st.GetAttempt().GetDeadline() != nil:
		return st.Attempt.Deadline.AsTime(), true
	}
	return time.Time{}, false
}

// Queued returns the attempts that must be in the work queue: dispatched, held
// by nobody and not parked, oldest first. They are not to be changed.
func Queued(x *loomv1.Execution) []*loomv1.Attempt {
	var queued []*loomv1.Attempt
	if !running(x) {
		return nil
	}
	for _, st := range x.Nodes {
		if a := st.Attempt; a != nil && a.Claimant == nil && a.Parked == "" {
			queued = append(queued, a)
		}
	}
	slices.SortFunc(queued, func(a, b *loomv1.Attempt) int {
		// Ids differ in their number alone, and a longer number is larger.
		return cmp.Or(cmp.Compare(len(a.Id), len(b.Id)), strings.Compare(a.Id, b.Id))
	})
	return queued
}

// Transition says what an event moved from where to where, and why, if it is a
// transition: an edge that was taken, work that was sent back, or an attempt
// that is not the first of its visit. It is the one definition of the word;
// Execution.transitions counts by it.
func Transition(e *loomv1.Event) (from, to, outcome string, ok bool) {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_EdgeSettled:
		s := f.EdgeSettled
		return s.GetFrom(), s.GetTo(), s.GetOutcome(), s.GetTaken()
	case *loomv1.Event_ReworkStarted:
		return e.Node, f.ReworkStarted.GetTo(), byRework, true
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
	case succeeded, failed, skippedStatus:
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
