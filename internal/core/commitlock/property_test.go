package commitlock_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/commitlock"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Whatever is asked, in whatever order: one holder in every prefix, rising
// tokens, service in order (the judge sees to these), a decision changes
// nothing before it is applied, no lock is free while somebody waits, and once
// holders stop renewing everybody is served.
func TestLOCK01_Invariants13_14_19(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{t: rt, table: commitlock.New(time.Minute), now: noon, epoch: 1}
		rt.Repeat(map[string]func(*rapid.T){
			"acquire": func(rt *rapid.T) {
				w.act(w.table.Acquire(w.now, anyRepo(rt), ask(anyRequest(rt), rapid.SampledFrom([]string{"h1", "h2"}).Draw(rt, "host"))))
			},
			"renew":    func(rt *rapid.T) { w.act(w.table.Renew(w.now, anyRepo(rt), w.anyToken(rt))) },
			"release":  func(rt *rapid.T) { w.act(w.table.Release(w.now, anyRepo(rt), w.anyToken(rt))) },
			"withdraw": func(rt *rapid.T) { w.act(w.table.Withdraw(w.now, anyRepo(rt), anyRequest(rt))) },
			"couple": func(rt *rapid.T) {
				w.act(w.table.Couple(w.now, anyRepo(rt), w.anyToken(rt), []string{anyRequest(rt), anyRequest(rt)}))
			},
			"tick": func(*rapid.T) { w.act(w.table.Tick(w.now)) },
			"wait": func(rt *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
			},
			"restart": func(rt *rapid.T) {
				w.epoch++
				w.table = restored(rt, w.table.Snapshot())
			},
			"": func(rt *rapid.T) { w.conserves() },
		})
		w.everybodyIsServed()
	})
}

// act takes facts, or sees that a refusal is one that callers can expect.
func (w *world) act(events []*loomv1.Event, err error) {
	if err == nil {
		w.take(events, nil)
	} else if code := fault.Code(err); code != "lock/stale" && code != "lock/unknown" {
		w.t.Fatalf("refused with %v", err)
	}
}

func (w *world) anyToken(rt *rapid.T) uint64 {
	tokens := []uint64{0}
	for _, l := range w.table.Snapshot().Locks {
		tokens = append(tokens, l.GetHolder().GetToken(), l.LastToken, l.LastToken-1)
	}
	return rapid.SampledFrom(tokens).Draw(rt, "token")
}

func (w *world) conserves() {
	for _, l := range w.table.Snapshot().Locks {
		if l.Holder == nil && len(l.Queue) > 0 {
			w.t.Fatalf("%s is free and %s waits", l.Repository, l.Queue[0].Request)
		}
		for _, c := range l.Queue {
			if c.Car != 0 && c.Car <= l.Holder.Token {
				w.t.Fatalf("%s is in a train with token %d, and its driver has %d", c.Request, c.Car, l.Holder.Token)
			}
		}
	}
}

func (w *world) everybodyIsServed() {
	for range 12 {
		next, ok := w.table.Next()
		if !ok {
			break
		}
		w.now = next
		w.take(w.table.Tick(w.now))
	}
	for _, l := range w.table.Snapshot().Locks {
		if l.Holder != nil || len(l.Queue) > 0 {
			w.t.Fatalf("starved at the end: %v", l)
		}
	}
}

func anyRepo(rt *rapid.T) string { return rapid.SampledFrom([]string{"/a", "/b"}).Draw(rt, "repo") }

func anyRequest(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"r1", "r2", "r3", "r4", "r5"}).Draw(rt, "request")
}

func restored(t interface{ Fatalf(string, ...any) }, from *loomv1.CommitLocks) *commitlock.Table {
	table, err := commitlock.Restore(time.Minute, from)
	if err != nil {
		t.Fatalf("Restore: %v", err)
	}
	return table
}

// Deciding is reading: whatever is decided, the table is as it was.
func TestLOCK01_DecidersChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.acquire("a", "h1")
	w.acquire("b", "h2")
	w.acquire("c", "h3")
	before := proto.CloneOf(w.table.Snapshot())
	for _, now := range []time.Time{noon, noon.Add(time.Hour)} {
		for _, r := range []string{"a", "b", "c", "d"} {
			w.table.Acquire(now, repo, ask(r, "h9"))
			w.table.Withdraw(now, repo, r)
		}
		w.table.Renew(now, repo, w.token())
		w.table.Release(now, repo, w.token())
		w.table.Tick(now)
		if diff := same(before, w.table.Snapshot()); diff != "" {
			t.Fatalf("deciding at %s changed the table: %s", now, diff)
		}
	}
}

// Apply is total: events in any order, sound or not, never panic, change
// nothing when they are refused, and leave a state that a log can lead to.
func TestLOCK01_ApplyIsTotal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := commitlock.New(0)
		for range rapid.IntRange(0, 60).Draw(rt, "events") {
			e := anyEvent(rt)
			kept := proto.CloneOf(e)
			before := table.Snapshot()
			if err := table.Apply(e); err != nil && !proto.Equal(before, table.Snapshot()) {
				rt.Fatalf("refused %v (%v) and changed", e, err)
			}
			if !proto.Equal(kept, e) {
				rt.Fatalf("Apply changed its event: %v, was %v", e, kept)
			}
			if again := restored(rt, table.Snapshot()); !proto.Equal(again.Snapshot(), table.Snapshot()) {
				rt.Fatalf("restored differently after %v", e)
			}
			if _, err := table.Tick(noon.Add(time.Hour)); err != nil {
				rt.Fatalf("Tick: %v", err)
			}
		}
	})
}

func anyEvent(rt *rapid.T) *loomv1.Event {
	repository, request := rapid.SampledFrom([]string{"", "/a", "/b"}).Draw(rt, "repo"), rapid.SampledFrom([]string{"", "r1", "r2"}).Draw(rt, "request")
	token := rapid.Uint64Range(0, 6).Draw(rt, "token")
	until := rapid.SampledFrom([]*timestamppb.Timestamp{nil, timestamppb.New(noon), timestamppb.New(noon.Add(time.Minute)), {Nanos: -1}}).Draw(rt, "until")
	e := &loomv1.Event{Time: until}
	switch rapid.IntRange(0, 10).Draw(rt, "fact") {
	case 0, 1:
		claim := rapid.SampledFrom([]*loomv1.LockClaim{nil, {}, {Request: request}, {Request: request, Token: 3, Until: until}}).Draw(rt, "claim")
		e.Fact = &loomv1.Event_LockRequested{LockRequested: &loomv1.LockRequested{Repository: repository, Claim: claim}}
	case 2, 3:
		e.Fact = &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{Repository: repository, Request: request, Token: token, Until: until}}
	case 4:
		e.Fact = &loomv1.Event_LockRenewed{LockRenewed: &loomv1.LockRenewed{Repository: repository, Token: token, Until: until}}
	case 5:
		e.Fact = &loomv1.Event_LockReleased{LockReleased: &loomv1.LockReleased{Repository: repository, Token: token}}
	case 6:
		e.Fact = &loomv1.Event_LockExpired{LockExpired: &loomv1.LockExpired{Repository: repository, Token: token}}
	case 7:
		e.Fact = &loomv1.Event_LockWithdrawn{LockWithdrawn: &loomv1.LockWithdrawn{Repository: repository, Request: request}}
	case 8, 9:
		e.Fact = &loomv1.Event_LockCoupled{LockCoupled: &loomv1.LockCoupled{Repository: repository, Request: request, Token: token}}
	default:
		e.Fact = rapid.SampledFrom(emptyFacts).Draw(rt, "empty").Fact
	}
	return e
}

var emptyFacts = []*loomv1.Event{
	{},
	{Fact: &loomv1.Event_LockRequested{}},
	{Fact: &loomv1.Event_LockGranted{}},
	{Fact: &loomv1.Event_LockRenewed{}},
	{Fact: &loomv1.Event_LockReleased{}},
	{Fact: &loomv1.Event_LockExpired{}},
	{Fact: &loomv1.Event_LockWithdrawn{}},
	{Fact: &loomv1.Event_LockCoupled{}},
	{Fact: &loomv1.Event_TurnStarted{}},
}

// Two tables read one random log and never differ, and neither does one that
// is restored from a snapshot at every event.
func TestLOCK01_Replay(t *testing.T) {
	const seed = 20260102
	random := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t)
	for range 3000 {
		w.now = w.now.Add(time.Duration(random.IntN(60)) * time.Second)
		repository, request := fmt.Sprintf("/r%d", random.IntN(3)), fmt.Sprintf("a%d", random.IntN(6))
		token := w.table.Status(repository).GetHolder().GetToken()
		switch random.IntN(7) {
		case 0, 1:
			w.act(w.table.Acquire(w.now, repository, ask(request, fmt.Sprintf("h%d", random.IntN(2)))))
		case 2:
			w.act(w.table.Renew(w.now, repository, token))
		case 3:
			w.act(w.table.Release(w.now, repository, token))
		case 4:
			w.act(w.table.Withdraw(w.now, repository, request))
		case 5:
			w.act(w.table.Couple(w.now, repository, token, []string{request}))
		default:
			w.act(w.table.Tick(w.now))
		}
	}
	if len(w.log) < 2000 {
		t.Fatalf("seed %d: a log of %d events tells little", seed, len(w.log))
	}
	whole, pieces := commitlock.New(0), commitlock.New(0)
	for _, e := range w.log {
		if err := whole.Apply(e); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := pieces.Apply(e); err != nil {
			t.Fatalf("seed %d, restored before event %d: %v", seed, e.Number, err)
		}
		snapshot := pieces.Snapshot()
		if diff := same(whole.Snapshot(), snapshot); diff != "" {
			t.Fatalf("seed %d: after event %d the copies differ: %s", seed, e.Number, diff)
		}
		pieces = restored(t, proto.CloneOf(snapshot))
	}
	if diff := same(w.table.Snapshot(), whole.Snapshot()); diff != "" {
		t.Errorf("seed %d: replay is not what was live: %s", seed, diff)
	}
}
