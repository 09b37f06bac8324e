package demo

import (
	"slices"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stopwatch tells from events where the time went.
type stopwatch struct {
	open map[string]time.Time // by call, attempt or approval
	kind map[string]string
	took map[string][]span
}

type span struct{ from, to time.Time }

// The kinds of time that are not Loom's own.
const (
	inTools = "tools"
	inGit   = "git and hooks"
	inCEO   = "the CEO"
)

func newStopwatch() *stopwatch {
	return &stopwatch{open: map[string]time.Time{}, kind: map[string]string{}, took: map[string][]span{}}
}

// see takes note of one event.
func (s *stopwatch) see(e *loomv1.Event) {
	at := e.Time.AsTime()
	switch f := e.Fact.(type) {
	case *loomv1.Event_ToolIntended:
		s.begin(inTools, e.Attempt+f.ToolIntended.Tool.Call.Id, at)
	case *loomv1.Event_ToolFinished:
		s.end(e.Attempt+f.ToolFinished.Call, at)
	case *loomv1.Event_LockGranted:
		s.begin(inGit, e.Execution+"lock", at)
	case *loomv1.Event_LockReleased, *loomv1.Event_LockExpired:
		s.end(e.Execution+"lock", at)
	case *loomv1.Event_ApprovalRequested:
		s.begin(inCEO, e.Execution+"approval", at)
	case *loomv1.Event_ApprovalDecided:
		s.end(e.Execution+"approval", at)
	}
}

func (s *stopwatch) begin(kind, id string, at time.Time) {
	s.open[id], s.kind[id] = at, kind
}

func (s *stopwatch) end(id string, at time.Time) {
	if from, ok := s.open[id]; ok {
		s.took[s.kind[id]] = append(s.took[s.kind[id]], span{from, at})
		delete(s.open, id)
	}
}

// total returns how much time had at least one span of the kinds open.
func (s *stopwatch) total(kinds ...string) time.Duration {
	var all []span
	for _, k := range kinds {
		all = append(all, s.took[k]...)
	}
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	var sum time.Duration
	var until time.Time
	for _, p := range all {
		if p.from.Before(until) {
			p.from = until
		}
		if p.to.After(p.from) {
			sum += p.to.Sub(p.from)
			until = p.to
		}
	}
	return sum
}
