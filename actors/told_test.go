package actors_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestACT01_WhatAnAgentDoesIsTold hears of an attempt that is given back by a failure,
// parked, and done in the end, in the words of the journal.
func TestACT01_WhatAnAgentDoesIsTold(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	var mu sync.Mutex
	var told []string
	calls := 0
	pools := r.sys.StartPools(r.ctx, []actors.Pool{{
		Role: "researcher", Agents: 1, Host: "h1", Start: r.config.Start, Queue: r.queue, Projects: r.projects,
		Logger: slog.New(slog.DiscardHandler), RestartBackoff: time.Millisecond,
		Told: func(b *loomv1.Brief, e *loomv1.Event) {
			mu.Lock()
			defer mu.Unlock()
			if b.GetBead().GetGoal() == "" || e.GetProject() != "shop" || e.GetAttempt() != b.GetAttempt().GetId() {
				t.Errorf("told of %v at %v", e, b)
			}
			told = append(told, notice.Summary(e))
		},
		Worker: worker(func(ctx context.Context, b *loomv1.Brief, s actors.Seat) (*loomv1.Outcome, error) {
			switch calls++; calls {
			case 1:
				panic("out of order")
			case 2:
				if err := s.ParkUntil(ctx, time.Unix(1, 0)); err != nil {
					return nil, err
				}
				return nil, actors.ErrParked
			}
			return done(ctx, b, s)
		}),
	}})
	bead := r.must(file("shop", "k")).GetSubmit().Bead
	r.ended(bead)
	pools.Stop()
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		bead + ": work taken by researcher/1@h1", bead + ": work is queued again: its agent failed",
		bead + ": work taken by researcher/1@h1", bead + ": work waits for the model's rate limit until 1970-01-01T00:00:01Z",
		bead + ": work taken by researcher/1@h1", bead + ": attempt at work succeeded: done",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told is\n%q, want\n%q", told, want)
	}
}
