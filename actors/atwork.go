package actors

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// errTaken is why work is broken off: its attempt has ended, or is somebody else's.
var errTaken = fault.New("attempt/stale", "the attempt has ended or was taken away while it was worked on")

// AtWork is what the agents of a host work on. It hears of what becomes of their
// attempts, and breaks off the work on one that has ended or was taken away: who ended
// it may have asked any host. The zero value knows of no work. A nil one hears nothing.
type AtWork struct {
	mu   sync.Mutex
	list map[string][]*work // by attempt

	// What was heard last, for work that begins later: a claim can end before its answer
	// is here.
	ended map[string]uint32 // by attempt
	order []string
}

// heardMost is of how many attempts it is known that they have ended.
const heardMost = 1024

// work is one call of a [Worker].
type work struct {
	generation uint32
	stop       context.CancelCauseFunc
}

// begin returns the context of work on an attempt, which ends when the attempt is not
// its agent's any more; done is called when the work has ended.
func (a *AtWork) begin(ctx context.Context, at *loomv1.Attempt) (_ context.Context, done func()) {
	ctx, stop := context.WithCancelCause(ctx)
	if a == nil {
		return ctx, func() { stop(nil) }
	}
	w := &work{at.GetGeneration(), stop}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		a.list = map[string][]*work{}
	}
	a.list[at.GetId()] = append(a.list[at.GetId()], w)
	if w.generation < a.ended[at.GetId()] {
		stop(errTaken)
	}
	return ctx, func() {
		stop(nil)
		a.mu.Lock()
		defer a.mu.Unlock()
		rest := slices.DeleteFunc(a.list[at.GetId()], func(other *work) bool { return other == w })
		if a.list[at.GetId()] = rest; len(rest) == 0 {
			delete(a.list, at.GetId())
		}
	}
}

// Hear takes in an event of any journal. What has been heard before, and what was so
// before an attempt was claimed again, does no harm.
func (a *AtWork) Hear(e *loomv1.Event) {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptEnded:
		a.taken(e.Attempt, math.MaxUint32)
	case *loomv1.Event_ClaimReleased:
		a.taken(e.Attempt, f.ClaimReleased.GetGeneration())
	}
}

// taken breaks off what was claimed before an attempt had that generation.
func (a *AtWork) taken(attempt string, generation uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remember(attempt, generation)
	for _, w := range a.list[attempt] {
		if w.generation < generation {
			w.stop(errTaken)
		}
	}
}

func (a *AtWork) remember(attempt string, generation uint32) {
	if a.ended == nil {
		a.ended = map[string]uint32{}
	}
	if _, known := a.ended[attempt]; !known {
		if a.order = append(a.order, attempt); len(a.order) > heardMost {
			delete(a.ended, a.order[0])
			a.order = slices.Delete(a.order, 0, 1)
		}
	}
	a.ended[attempt] = max(a.ended[attempt], generation)
}

// Listen has a projection follow journals as before, and a hear what it follows, before
// the tables have it.
func (a *AtWork) Listen(to Projection) Projection { return listening{to, a} }

type listening struct {
	Projection
	by *AtWork
}

// Follow implements [Projection].
func (l listening) Follow(ctx context.Context, log journal.Log) error {
	return l.Projection.Follow(ctx, overheard{log, l.by})
}

// overheard is a log that somebody else listens to, too.
type overheard struct {
	journal.Log
	by *AtWork
}

// Follow implements [journal.Log].
func (o overheard) Follow(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error {
	return o.Log.Follow(ctx, from, func(seq uint64, b *loomv1.Batch) error {
		for _, e := range b.GetEvents() {
			o.by.Hear(e)
		}
		return fn(seq, b)
	})
}

// lookAgain has the project asked, as long as work lasts, whether the attempt is still
// its agent's, where the host follows no journal. It returns when ctx ends or the
// attempt is taken away.
func (s *seat) lookAgain(ctx context.Context, every time.Duration, taken context.CancelCauseFunc) {
	again := time.NewTicker(every)
	defer again.Stop()
	attempt := s.attempt
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		_, err := s.do(ctx, &loomv1.Command{Body: &loomv1.Command_RecordTurn{RecordTurn: &loomv1.RecordTurn{Attempt: attempt, Claimant: s.who}}})
		if gone(err) {
			taken(errTaken)
			return
		}
	}
}
