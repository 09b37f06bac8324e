package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func agent(name, host string, epoch uint64) *loomv1.Claimant {
	return &loomv1.Claimant{Agent: name, Host: host, Epoch: epoch}
}

func TestWF08_Claim(t *testing.T) {
	one := agent("researcher/1", "h1", 1)
	for _, tt := range []struct {
		name       string
		attempt    string
		generation uint32
		who        *loomv1.Claimant
		before     func(workflow.Run) error
		code       string // empty when granted
		emits      int
	}{
		{"free", "p-1-x1-a1", 1, one, nil, "", 1},
		{"its own again", "p-1-x1-a1", 1, one, func(r workflow.Run) error { return r.Claim("p-1-x1-a1", 1, one) }, "", 0},
		{"another's", "p-1-x1-a1", 1, agent("researcher/2", "h1", 1), func(r workflow.Run) error { return r.Claim("p-1-x1-a1", 1, one) }, "attempt/claimed", 0},
		{"its own before a restart", "p-1-x1-a1", 1, agent("researcher/1", "h1", 2), func(r workflow.Run) error { return r.Claim("p-1-x1-a1", 1, one) }, "attempt/claimed", 0},
		{"unknown", "p-1-x1-a9", 1, one, nil, "attempt/unknown", 0},
		{"empty id", "", 1, one, nil, "attempt/unknown", 0},
		{"ended", "p-1-x1-a1", 1, one, func(r workflow.Run) error { return r.Answer("p-1-x1-a1", one, good(nil)) }, "attempt/stale", 0},
		{"another generation", "p-1-x1-a1", 2, one, nil, "attempt/stale", 0},
		{"parked", "p-1-x1-a1", 1, one, func(r workflow.Run) error { return r.Park("p-1-x1-a1", one, "lock") }, "attempt/stale", 0},
		{"wrong role", "p-1-x1-a1", 1, agent("lead/1", "h1", 1), nil, "attempt/wrong-role", 0},
		{"no number", "p-1-x1-a1", 1, agent("researcher", "h1", 1), nil, "attempt/wrong-role", 0},
		{"empty number", "p-1-x1-a1", 1, agent("researcher/", "h1", 1), nil, "attempt/wrong-role", 0},
		{"no host", "p-1-x1-a1", 1, agent("researcher/1", "", 1), nil, "attempt/wrong-role", 0},
		{"nobody", "p-1-x1-a1", 1, nil, nil, "attempt/wrong-role", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
			if tt.before != nil {
				if err := tt.before(w.run()); err != nil {
					t.Fatal(err)
				}
			}
			n := len(w.events)
			wantCode(t, "Claim", w.run().Claim(tt.attempt, tt.generation, tt.who), tt.code)
			if got := len(w.events) - n; got != tt.emits {
				t.Errorf("it emitted %d events, want %d", got, tt.emits)
			}
		})
	}
}

// P10: who made a change does not verify it, under whatever role.
func TestP10_NobodyVerifiesTheirOwnWork(t *testing.T) {
	const drawing = "s start\na task role=qa-engineer\nc task kind=commit\nv task kind=verify\ne end\ns -> a\na -> c\nc -> v\nv -> e"
	w := newWorld(t, define(drawing), nil)
	w.answer(t, "a", changed("p1"))
	w.answer(t, "c", committed("c1", "p1"))
	v := w.attempt("v")
	wantCode(t, "claim by the author", w.run().Claim(v.Id, 1, agent("qa-engineer/1", "h1", 2)), "attempt/own-work")
	wantCode(t, "answer by the author", w.run().Answer(v.Id, by("qa-engineer"), verified("c1", "go vet ./...")), "attempt/own-work")
	wantCode(t, "claim by another", w.run().Claim(v.Id, 1, agent("qa-engineer/2", "h1", 1)), "")
	wantCode(t, "claim by its namesake", w.run().Release(v.Id, agent("qa-engineer/2", "h1", 1), "drain"), "")
	wantCode(t, "claim on another host", w.run().Claim(v.Id, 2, agent("qa-engineer/1", "h2", 1)), "")
}

// The time of an attempt begins when an agent first claims it, and stands still
// whenever it is queued: no claim gives it all of its time again.
func TestWF07_TimeBeginsWithTheFirstClaim(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil) // 10 minutes
	a, one := w.attempt("a"), agent("researcher/1", "h1", 1)
	left := func() time.Duration { return w.attempt("a").Deadline.AsTime().Sub(w.now) }
	claim := func(want time.Duration) {
		t.Helper()
		w.pass(t, 10*time.Hour) // in the queue
		if err := w.run().Claim(a.Id, a.Generation, one); err != nil {
			t.Fatal(err)
		}
		if got := left(); got != want {
			t.Fatalf("claimed with %s left, want %s", got, want)
		}
	}
	claim(10 * time.Minute)
	w.pass(t, 4*time.Minute)
	if err := w.run().Release(a.Id, one, "drain"); err != nil {
		t.Fatal(err)
	}
	claim(6 * time.Minute)
	w.pass(t, 3*time.Minute)
	if ended, err := w.run().Crash(a.Id, one, "it broke"); ended || err != nil {
		t.Fatal(ended, err)
	}
	claim(3 * time.Minute)
	if ended, err := w.run().HostLost(a.Id, "host h1 is gone"); ended || err != nil {
		t.Fatal(ended, err)
	}
	claim(3 * time.Minute)
	if err := w.run().Park(a.Id, one, "lock"); err != nil {
		t.Fatal(err)
	}
	w.pass(t, 3*time.Minute-1) // which is its own
	w.want(t, "a running")
	w.pass(t, 1)
	w.want(t, "a waiting")
}

// A verification that all may be barred from who are there waits for its node's time,
// however long work of others may; then the CEO is asked.
func TestP10_AVerificationThatNobodyMayTake(t *testing.T) {
	const drawing = "s start\na task role=%s\nc task kind=commit\nv task kind=verify\ne end\ns -> a\na -> c\nc -> v\nv -> e"
	for _, maker := range []string{"qa-engineer", "researcher"} {
		w := newWorld(t, define(fmt.Sprintf(drawing, maker)), nil)
		w.answer(t, "a", changed("p1"))
		w.answer(t, "c", committed("c1", "p1"))
		w.pass(t, 10*time.Minute-1)
		w.want(t, "v running")
		w.pass(t, 1)
		if maker != "qa-engineer" {
			w.want(t, "v running")
			continue
		}
		a := w.approval("v")
		if a == nil || !strings.Contains(a.Reason, "who made a part of what it verifies may not") {
			t.Errorf("asked %v, want to hear that the makers may not verify\n%s", a, w.story())
		}
	}
}

func TestWF10_ReleaseParkUnpark(t *testing.T) {
	one, two := agent("researcher/1", "h1", 1), agent("researcher/2", "h2", 1)
	w := newWorld(t, define("s start\na task\nb task\ne end\ns -> a\ns -> b\na -> e\nb -> e"), nil)
	r, a := w.run(), w.attempt("a")
	for _, step := range []struct {
		name       string
		do         func() error
		code       string
		emits      int
		generation uint32 // after it
	}{
		{"release of what nobody holds", func() error { return r.Release(a.Id, one, "") }, "", 0, 1},
		{"claim", func() error { return r.Claim(a.Id, 1, one) }, "", 1, 1},
		{"release by another", func() error { return r.Release(a.Id, two, "") }, "attempt/claimed", 0, 1},
		{"release", func() error { return r.Release(a.Id, one, "drain") }, "", 1, 2},
		{"claim under the old generation", func() error { return r.Claim(a.Id, 1, two) }, "attempt/stale", 0, 2},
		{"claim by the next", func() error { return r.Claim(a.Id, 2, two) }, "", 1, 2},
		{"park by another", func() error { return r.Park(a.Id, one, "lock") }, "attempt/claimed", 0, 2},
		{"park for nothing", func() error { return r.Park(a.Id, two, "") }, "command/malformed", 0, 2},
		{"park", func() error { return r.Park(a.Id, two, "lock") }, "", 1, 2},
		{"park again", func() error { return r.Park(a.Id, two, "lock") }, "", 0, 2},
		{"release while parked", func() error { return r.Release(a.Id, two, "") }, "", 0, 2},
		{"answer while parked", func() error { return r.Answer(a.Id, two, good(nil)) }, "attempt/stale", 0, 2},
		{"unpark", func() error { return r.Unpark(a.Id) }, "", 1, 3},
		{"unpark again", func() error { return r.Unpark(a.Id) }, "", 0, 3},
		{"unpark of the unknown", func() error { return r.Unpark("p-1-x1-a9") }, "attempt/unknown", 0, 3},
		{"claim after the wait", func() error { return r.Claim(a.Id, 3, one) }, "", 1, 3},
		{"answer by another", func() error { return r.Answer(a.Id, two, good(nil)) }, "attempt/claimed", 0, 3},
		{"answer", func() error { return r.Answer(a.Id, one, good(nil)) }, "", 3, 3}, // ended, completed, edge
		{"answer again", func() error { return r.Answer(a.Id, one, good(nil)) }, "", 0, 3},
		{"the same answer by another", func() error { return r.Answer(a.Id, two, good(nil)) }, "attempt/stale", 0, 3},
		{"another answer", func() error { return r.Answer(a.Id, one, bad(nil)) }, "attempt/stale", 0, 3},
		{"release after the end", func() error { return r.Release(a.Id, one, "") }, "attempt/stale", 0, 3},
		{"park after the end", func() error { return r.Park(a.Id, one, "lock") }, "attempt/stale", 0, 3},
		{"unpark after the end", func() error { return r.Unpark(a.Id) }, "attempt/stale", 0, 3},
	} {
		n := len(w.events)
		wantCode(t, step.name, step.do(), step.code)
		if got := len(w.events) - n; got != step.emits {
			t.Errorf("%s emitted %d events, want %d:\n%v", step.name, got, step.emits, w.events[n:])
		}
		if a.Generation != step.generation {
			t.Errorf("generation is %d after %s, want %d", a.Generation, step.name, step.generation)
		}
	}
}

func TestWF10_QueuedIsWhatTheWorkQueueMustHold(t *testing.T) {
	w := newWorld(t, define("s start\na task\nb task\nc task\ne end\ns -> a\ns -> b\ns -> c\na -> e\nb -> e\nc -> e"), nil)
	w.x.Dispatches = 9 // so that an older attempt sorts before the tenth
	w.x.Nodes["c"].Attempt.Id = "p-1-x1-a10"
	one := agent("researcher/1", "h1", 1)
	ids := func() (ids []string) {
		for _, a := range workflow.Queued(w.x) {
			ids = append(ids, a.Id)
		}
		return ids
	}
	if got, want := ids(), []string{"p-1-x1-a1", "p-1-x1-a2", "p-1-x1-a10"}; !slices.Equal(got, want) {
		t.Errorf("queued = %q, want %q", got, want)
	}
	if err := w.run().Claim("p-1-x1-a1", 1, one); err != nil {
		t.Fatal(err)
	}
	if err := w.run().Park("p-1-x1-a2", one, "lock"); err != nil {
		t.Fatal(err)
	}
	if got, want := ids(), []string{"p-1-x1-a10"}; !slices.Equal(got, want) {
		t.Errorf("queued = %q, want %q: one is claimed, one is parked", got, want)
	}
}

func TestWF08_FirstEventOfAnAttemptClaimsIt(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	n := len(w.events)
	w.answer(t, "a", good(nil))
	if c := w.events[n].GetAttemptClaimed(); c.GetClaimant().GetAgent() != "researcher/1" || c.Generation != 1 {
		t.Errorf("first event is %v, want the claim", w.events[n])
	}
	if h := w.x.Nodes["a"].History[0]; h.Claimant.GetAgent() != "researcher/1" {
		t.Errorf("history says %v, want who did it", h.Claimant)
	}
}
