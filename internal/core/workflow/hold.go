package workflow

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// holdsItself says whether an execution is held by what its own state has: the
// CEO has paused it, is asked about a limit, or has it closed.
func holdsItself(x *loomv1.Execution) bool {
	return x.Paused != nil || x.LimitApproval != "" || x.Closing != nil
}

// Shift adds time in which an execution was held to every deadline and backoff
// that was outstanding, each by as much of it as it was outstanding for. It is
// part of the fold of whatever ends the last hold of an execution, which only
// the project knows.
func Shift(x *loomv1.Execution, from, to time.Time) {
	for _, st := range x.Nodes {
		if a := st.Attempt; a != nil {
			a.Deadline = later(a.Deadline, from, to, a.DispatchedAt)
			a.ParkedAt = later(a.ParkedAt, from, to, a.ParkedAt)
			if isQueued(a) {
				a.QueuedAt = later(a.QueuedAt, from, to, a.QueuedAt)
			}
		}
		if st.Status == backingOff && len(st.History) > 0 {
			st.RetryAt = later(st.RetryAt, from, to, st.History[len(st.History)-1].EndedAt)
		}
	}
}

// later moves a moment, set at a time, by how much of from..to came after that.
func later(at *timestamppb.Timestamp, from, to time.Time, set *timestamppb.Timestamp) *timestamppb.Timestamp {
	if since := set.AsTime(); since.After(from) {
		from = since
	}
	if at == nil || !to.After(from) {
		return at
	}
	return timestamppb.New(at.AsTime().Add(to.Sub(from)))
}
