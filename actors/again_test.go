package actors

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A request that is made again under its name, on whichever host, files under the same
// key, which no publisher can choose; one without a name never does.
func TestSUB01_ARequestMadeAgainHasItsKey(t *testing.T) {
	key := func(request string) (k string) {
		if err := (Letter{}).key(Asked(t.Context(), request), &k); err != nil {
			t.Fatal(err)
		}
		return k
	}
	if a, b := key("ops r1"), key("ops r1"); a != b || a[:1] != ownKey {
		t.Errorf("the same request: %q and %q", a, b)
	}
	seen := map[string]bool{}
	for _, request := range []string{"ops r1", "ops r2", "", ""} {
		seen[key(request)] = true
	}
	if len(seen) != 4 {
		t.Errorf("four requests have %d keys", len(seen))
	}
	for _, l := range []Letter{{}, {Key: "TASKS 7"}} {
		given := "mine"
		if err := l.key(Asked(t.Context(), "ops r1"), &given); err != nil || given != "mine" {
			t.Errorf("a publisher's own key: %q, %v", given, err)
		}
	}
}

// What a project answers is not its silence: a request may look at a hundred of them.
func TestOPS01_AnswersAreNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Projects{elsewhere: nobody{}}
		ctx := Asked(t.Context(), "")
		answer := func(after time.Duration, e *loomv1.Error) error {
			_, err := retry(ctx, p, func(reply func(*loomv1.Error)) {
				time.AfterFunc(after, func() { reply(e) })
			}, func(e *loomv1.Error) *loomv1.Error { return e })
			return err
		}
		for range 100 {
			if err := answer(100*time.Millisecond, nil); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		away := fault.New("host/unavailable", "away").Proto()
		if err := answer(10*time.Millisecond, away); fault.Code(err) != "host/silent" || time.Since(began) > silence+time.Millisecond {
			t.Errorf("silent for %s: %v", time.Since(began), err)
		}
	})
}

type nobody struct{ Elsewhere }

// Work that begins after its claim has ended is broken off at once, and that of a later
// claim is not.
func TestWF09_WorkThatBeginsTooLateIsBrokenOff(t *testing.T) {
	var at AtWork
	released := &loomv1.Event{Attempt: "shop-1-x1-a1", Fact: &loomv1.Event_ClaimReleased{ClaimReleased: &loomv1.ClaimReleased{Generation: 2}}}
	at.Hear(released)
	taken := func(generation uint32) bool {
		ctx, done := at.begin(t.Context(), &loomv1.Attempt{Id: "shop-1-x1-a1", Generation: generation})
		defer done()
		return errors.Is(context.Cause(ctx), errTaken)
	}
	if !taken(1) || taken(2) {
		t.Errorf("the first claim is taken: %t; the second: %t", taken(1), taken(2))
	}
	at.Hear(&loomv1.Event{Attempt: "shop-1-x1-a1", Fact: &loomv1.Event_AttemptEnded{AttemptEnded: &loomv1.AttemptEnded{}}})
	if !taken(2) {
		t.Error("work on an attempt that has ended")
	}
	for i := range 2 * heardMost {
		at.Hear(&loomv1.Event{Attempt: fmt.Sprint("a", i), Fact: released.Fact})
	}
	if len(at.ended) != heardMost || len(at.order) != heardMost {
		t.Errorf("%d and %d are remembered, want %d", len(at.ended), len(at.order), heardMost)
	}
}
