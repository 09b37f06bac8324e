package workflow_test

import (
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF04_WhatFailureDoes(t *testing.T) {
	for _, tt := range []struct {
		name, drawing string
		play          func(*testing.T, *world)
		story         string // after the first dispatch
	}{
		{
			name: "a failure edge is taken at once",
			drawing: `s start
				a task max=2
				b task
				e end
				s -> a
				a -> e
				a -> b !
				b -> e`,
			play: func(t *testing.T, w *world) { w.answer(t, "a", bad(nil)) },
			story: `a answered failure tool/failed
				a-e dead
				a-b! taken: failure
				b dispatched to researcher: 1.1`,
		},
		{
			name: "a failure edge waits for the attempts where it says so",
			drawing: `s start
				a task max=2 late
				b task
				e end
				s -> a
				a -> e
				a -> b !
				b -> e`,
			play: func(t *testing.T, w *world) {
				w.answer(t, "a", bad(nil))
				w.due(t)
				w.answer(t, "a", bad(nil))
			},
			story: `a answered failure tool/failed
				a backs off
				a dispatched to researcher: 1.2 retry
				a answered failure tool/failed
				a-e dead
				a-b! taken: failure
				b dispatched to researcher: 1.1`,
		},
		{
			name: "a failure edge whose condition does not hold is none",
			drawing: `s start
				a task max=2
				b task
				e end
				s -> a
				a -> e
				a -> b ! ? context.missing
				b -> e`,
			play: func(t *testing.T, w *world) { w.answer(t, "a", bad(nil)) },
			story: `a answered failure tool/failed
				a backs off`,
		},
		{
			name: "without one it is tried again, then escalated once",
			drawing: `s start
				a task max=2
				e end
				s -> a
				a -> e`,
			play: func(t *testing.T, w *world) {
				w.answer(t, "a", bad(nil))
				w.due(t)
				w.answer(t, "a", bad(nil))
				w.pass(t, 24*time.Hour)
			},
			story: `a answered failure tool/failed
				a backs off
				a dispatched to researcher: 1.2 retry
				a answered failure tool/failed
				a asks: attempt/exhausted`,
		},
		{
			name: "success takes no failure edge",
			drawing: `s start
				a task
				b task
				e end
				s -> a
				a -> e
				a -> b !
				b -> e`,
			play: func(t *testing.T, w *world) { w.answer(t, "a", good(nil)) },
			story: `a answered success
				a-e taken: success
				a-b! dead
				b skipped
				b-e dead
				completed`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define(tt.drawing), nil)
			n := len(w.events)
			tt.play(t, w)
			check(t, w.since(n), tt.story)
		})
	}
}

// The backoff doubles from 1 s to at most 1 min, each 20 % more or less, and
// fires at its very instant, once.
func TestWF04_Backoff(t *testing.T) {
	w := newWorld(t, define("s start\na task max=9\ne end\ns -> a\na -> e"), nil)
	even := 0
	for n, base := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		base *= time.Second
		w.answer(t, "a", bad(nil))
		at, _ := workflow.Next(w.x, nil, 0)
		if d := at.Sub(w.now); d < base*8/10 || d > base*12/10 {
			t.Errorf("backoff %d is %s, want %s within a fifth", n+1, d, base)
		} else if d == base {
			even++
		}
		w.pass(t, at.Sub(w.now)-1)
		w.want(t, "a backoff")
		w.pass(t, 1)
		w.want(t, "a running")
		before := len(w.events)
		if w.pass(t, 0); len(w.events) != before {
			t.Errorf("backoff %d fired twice", n+1)
		}
	}
	w.answer(t, "a", bad(nil))
	w.want(t, "a waiting")
	if even > 2 {
		t.Errorf("%d of 8 backoffs are even: failures of one moment would come again in one moment", even)
	}
}

func TestWF04_BackoffIsTheSameOnEveryHost(t *testing.T) {
	play := func() time.Time {
		w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
		w.answer(t, "a", bad(nil))
		at, _ := workflow.Next(w.x, nil, 0)
		return at
	}
	if a, b := play(), play(); !a.Equal(b) {
		t.Errorf("one host waits until %s, another until %s", a, b)
	}
}

func TestWF07_TimeoutEscalatesWithoutRetry(t *testing.T) {
	w := newWorld(t, define("s start\na task max=5\ne end\ns -> a\na -> e"), nil)
	w.take(t)
	a := w.attempt("a")
	w.pass(t, 10*time.Minute-1)
	w.want(t, "a running")
	w.pass(t, 1) // at the very instant
	w.want(t, "a waiting")
	if h := w.x.Nodes["a"].History; len(h) != 1 || !h[0].TimedOut {
		t.Errorf("history = %v, want one attempt that timed out", h)
	}
	if want := "attempt/timeout: no outcome by 2026-01-02T12:10:00Z, when it had had the 10m0s that its node allows"; w.approval("a").Reason != want {
		t.Errorf("reason = %q, want %q", w.approval("a").Reason, want)
	}
	err := w.run().Answer(a.Id, by(a.Role), good(nil))
	wantCode(t, "late answer", err, "attempt/stale")
	n := len(w.events)
	if w.pass(t, time.Hour); len(w.events) != n {
		t.Error("a timeout fired twice")
	}
}

func TestWF07_TimeoutTakesTheFailureEdge(t *testing.T) {
	for _, flag := range []string{"", "late"} {
		w := newWorld(t, define("s start\na task "+flag+"\nb task\ne end\ns -> a\na -> e\na -> b !\nb -> e"), nil)
		w.take(t)
		w.pass(t, 10*time.Minute)
		w.want(t, "a failed", "b running")
	}
}

func TestWF12_TimersOfManyNodesFireEachAtItsTime(t *testing.T) {
	w := newWorld(t, define("s start\na task\nb task\ne end\ns -> a\ns -> b\na -> e\nb -> e",
		func(n map[string]*loomv1.NodeDefinition) { n["b"].Timeout = nil }), nil)
	w.take(t)
	w.due(t)
	w.want(t, "a waiting", "b running")
	w.due(t)
	w.want(t, "b waiting")
	if got := w.now.Sub(noon); got != workflow.DefaultTimeout {
		t.Errorf("b timed out after %s, want the default %s", got, workflow.DefaultTimeout)
	}
	if at, ok := workflow.Next(w.x, nil, 0); ok {
		t.Errorf("something is due at %s, want nothing", at)
	}
}
