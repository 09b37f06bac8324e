package actors_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/actors"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// until waits for a condition that no event tells of.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.After(within); !holds(); {
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func counts(p *actors.Pools) (desired, actual int) {
	c := p.Counts()[0]
	return int(c.Desired), int(c.Actual)
}

// TestROLE02_ScalingDownDrains has agents finish what they work on.
func TestROLE02_ScalingDownDrains(t *testing.T) {
	r := newRig(t).start().register("shop", "researcher")
	begun, finish := make(chan struct{}, 10), make(chan struct{})
	var ended atomic.Int32
	pools := r.agents("researcher", 2, func(ctx context.Context, b *loomv1.Brief, _ actors.Seat) (*loomv1.Outcome, error) {
		begun <- struct{}{}
		select {
		case <-finish:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		ended.Add(1)
		return done(ctx, b, nil)
	})
	r.must(file("shop", "k1"))
	r.must(file("shop", "k2"))
	for range 2 {
		<-begun
	}
	pools.Resize("researcher", 0)
	until(t, "nobody is wanted", func() bool { d, _ := counts(pools); return d == 0 })
	r.must(file("shop", "k3"))
	if _, actual := counts(pools); actual != 2 || ended.Load() != 0 {
		t.Fatalf("%d agents are left in the middle of their work, %d have ended it", actual, ended.Load())
	}
	close(finish)
	until(t, "those that worked are gone", func() bool { _, a := counts(pools); return a == 0 })
	if n := ended.Load(); n != 2 {
		t.Errorf("%d attempts ended; want the 2 that had begun", n)
	}
	if live := pools.Live(); len(live) != 0 {
		t.Errorf("live agents: %v", live)
	}
	pools.Resize("researcher", 3)
	<-begun // the third bead
	until(t, "three agents are there", func() bool { d, a := counts(pools); return d == 3 && a == 3 })
}
