package commitlock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/commitlock"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestLOCK01_TheEdgeOfTheLease(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration
		want  []string // of a tick
		renew bool     // whether the holder may renew
	}{
		{0, nil, true},
		{commitlock.DefaultLease - 1, nil, true},
		{commitlock.DefaultLease, []string{"expired", "granted b"}, false}, // lapses at that very instant
		{commitlock.DefaultLease + 1, []string{"expired", "granted b"}, false},
	} {
		w := newWorld(t)
		w.acquire("a", "h1")
		w.acquire("b", "h2")
		w.now = noon.Add(tt.after)
		if _, err := w.table.Renew(w.now, repo, w.token()); (err == nil) != tt.renew {
			t.Errorf("Renew %v after the grant: %v, want allowed: %t", tt.after, err, tt.renew)
		}
		if got := kinds(w.take(w.table.Tick(w.now))); !slices.Equal(got, tt.want) {
			t.Errorf("Tick %v after the grant: %q, want %q", tt.after, got, tt.want)
		}
	}
}

func TestLOCK01_WhatACommandLeadsTo(t *testing.T) {
	type step struct {
		does string // what: acquire, renew, release, withdraw, tick
		who  string // request@host, or a request
		at   time.Duration
		want string
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"a free lock is granted at once", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
		}},
		{"asking again changes nothing, held or waiting", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"acquire", "b@h2", 0, "requested b"},
			{"acquire", "a@h1", time.Second, ""},
			{"acquire", "b@h2", time.Second, ""},
		}},
		{"first come, first served", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"acquire", "b@h2", 0, "requested b"},
			{"acquire", "c@h3", 0, "requested c"},
			{"release", "", 0, "released, granted b"},
			{"release", "", 0, "released, granted c"},
			{"release", "", 0, "released"},
		}},
		{"a renewed grant lasts from then", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"renew", "", 4 * time.Minute, "renewed"},
			{"tick", "", 9*time.Minute - 1, ""},
			{"tick", "", 9 * time.Minute, "expired"},
		}},
		{"renewing twice at one moment is one renewal", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"renew", "", 0, ""},
			{"renew", "", time.Minute, "renewed"},
			{"renew", "", time.Minute, ""},
		}},
		{"who waits and goes to another host keeps its place", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"acquire", "b@h2", 0, "requested b"},
			{"acquire", "c@h3", 0, "requested c"},
			{"acquire", "b@h4", 0, "requested b"},
			{"acquire", "b@h4", 0, ""},
			{"release", "", 0, "released, granted b"},
		}},
		{"who holds and goes to another host keeps its turn, under a new token", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"acquire", "b@h2", 0, "requested b"},
			{"acquire", "a@h3", 0, "requested a, released, granted a"},
			{"acquire", "a@h3", 0, ""},
			{"release", "", 0, "released, granted b"},
		}},
		{"a stale holder makes way for who asks next", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"}, {"acquire", "b@h2", 5 * time.Minute, "expired, requested b, granted b"},
		}},
		{"a stale holder that asks again goes to the end", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"acquire", "b@h2", 0, "requested b"},
			{"acquire", "a@h1", 5 * time.Minute, "expired, requested a, granted b"},
			{"release", "", 5 * time.Minute, "released, granted a"},
		}},
		{"a grant given back too late is recorded as lapsed", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"acquire", "b@h2", 0, "requested b"},
			{"release", "", 5 * time.Minute, "expired, granted b"},
		}},
		{"work that ends leaves the queue, or gives the lock back", []step{
			{"acquire", "a@h1", 0, "requested a, granted a"},
			{"acquire", "b@h2", 0, "requested b"},
			{"acquire", "c@h3", 0, "requested c"},
			{"withdraw", "b", 0, "withdrawn b"},
			{"withdraw", "b", 0, ""},
			{"withdraw", "x", 0, ""},
			{"withdraw", "a", 0, "released, granted c"},
			{"withdraw", "c", 5 * time.Minute, "expired"},
		}},
	} {
		t.Run("LOCK01 "+tt.name, func(t *testing.T) {
			w := newWorld(t)
			for i, s := range tt.steps {
				w.now = noon.Add(s.at)
				if got := strings.Join(kinds(w.do(s.does, s.who)), ", "); got != s.want {
					t.Fatalf("step %d, %s %s %v after noon: %s; want %s", i+1, s.does, s.who, s.at, got, s.want)
				}
			}
		})
	}
}

// do carries out a command; renewals and releases are the present holder's.
func (w *world) do(what, who string) []*loomv1.Event {
	request, host, _ := strings.Cut(who, "@")
	switch what {
	case "acquire":
		return w.acquire(request, host)
	case "renew":
		return w.take(w.table.Renew(w.now, repo, w.token()))
	case "release":
		return w.take(w.table.Release(w.now, repo, w.token()))
	case "withdraw":
		return w.take(w.table.Withdraw(w.now, repo, request))
	}
	return w.take(w.table.Tick(w.now))
}

func TestLOCK01_ARefusalSaysWhoHolds(t *testing.T) {
	w := newWorld(t)
	w.acquire("a", "h1")
	old := w.token()
	w.acquire("b", "h2")
	w.take(w.table.Release(w.now, repo, old))
	now := w.token()
	for _, tt := range []struct {
		name       string
		at         time.Duration
		repository string
		token      uint64
		want       string
	}{
		{"another holds", 0, repo, old, `commit lock on "/srv/repo": held by engineering-manager/1@h2 until 2026-01-02T12:05:00Z (token 1099511627781)`},
		{"a token of the future", 0, repo, now + 1, `commit lock on "/srv/repo": held by engineering-manager/1@h2 until 2026-01-02T12:05:00Z (token 1099511627781)`},
		{"no token", 0, repo, 0, `commit lock on "/srv/repo": held by engineering-manager/1@h2 until 2026-01-02T12:05:00Z (token 1099511627781)`},
		{"lapsed", 5 * time.Minute, repo, now, `commit lock on "/srv/repo": lapsed at 2026-01-02T12:05:00Z (token 1099511627781)`},
		{"never asked for", 0, "/srv/other", now, `commit lock on "/srv/other": free, token 1099511627781 holds no longer`},
	} {
		t.Run("LOCK01 "+tt.name, func(t *testing.T) {
			_, err := w.table.Renew(noon.Add(tt.at), tt.repository, tt.token)
			if fault.Code(err) != "lock/stale" || err.Error() != tt.want {
				t.Errorf("Renew(%d) = %v\nwant lock/stale: %s", tt.token, err, tt.want)
			}
			if tt.token == now && tt.repository == repo {
				return // a release of the holder's own is never refused
			}
			if _, err := w.table.Release(noon.Add(tt.at), tt.repository, tt.token); err == nil || err.Error() != tt.want {
				t.Errorf("Release(%d) = %v\nwant %s", tt.token, err, tt.want)
			}
		})
	}
}

func TestLOCK01_ARequestNeedsAName(t *testing.T) {
	for _, tt := range []struct {
		name, repository string
		cmd              *loomv1.AcquireLock
	}{
		{"no command", repo, nil},
		{"no repository", "", ask("a", "h1")},
		{"no request", repo, ask("", "h1")},
		{"no host", repo, ask("a", "")},
		{"no claimant", repo, &loomv1.AcquireLock{Request: "a"}},
		{"long request", repo, ask(strings.Repeat("a", 257), "h1")},
		{"not text", repo, ask("a\xff", "h1")},
	} {
		events, err := commitlock.New(0).Acquire(noon, tt.repository, tt.cmd)
		if fault.Code(err) != "lock/invalid" || events != nil {
			t.Errorf("%s: Acquire = %v, %v; want lock/invalid", tt.name, events, err)
		}
	}
	if _, err := commitlock.New(0).Acquire(noon, repo, ask(strings.Repeat("a", 256), "h1")); err != nil {
		t.Errorf("Acquire with 256 bytes: %v", err)
	}
}

func TestLOCK01_RepositoriesDoNotWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	w.take(w.table.Acquire(noon, "/b", ask("a", "h1")))
	w.now = noon.Add(time.Minute)
	w.take(w.table.Acquire(w.now, "/a", ask("a", "h1")))
	for _, r := range []string{"/a", "/b"} {
		if c, ok := w.table.Claim(r, "a"); !ok || c.Token == 0 {
			t.Errorf("Claim(%s, a) = %v, %t; want a grant", r, c, ok)
		}
	}
	if got := w.table.Repositories(); !slices.Equal(got, []string{"/a", "/b"}) {
		t.Errorf("Repositories() = %q", got)
	}
	if next, ok := w.table.Next(); !ok || !next.Equal(noon.Add(5*time.Minute)) {
		t.Errorf("Next() = %s, %t; want the earlier end", next, ok)
	}
	w.now = noon.Add(6 * time.Minute)
	if got := kinds(w.take(w.table.Tick(w.now))); !slices.Equal(got, []string{"expired", "expired"}) {
		t.Errorf("Tick = %q, want both lapsed", got)
	}
	if next, ok := w.table.Next(); ok {
		t.Errorf("Next() = %s with nothing held", next)
	}
}

// A process that slept through its lease finds another in its place, whatever
// it tries: invariant 15 rests on this, since git asks for the newest token.
func TestLOCK01_P6_AHolderThatSleptIsFenced(t *testing.T) {
	w := newWorld(t)
	for i := range 1000 {
		w.acquire("slow", "h1")
		slept := w.token()
		w.acquire("next", "h2")
		w.now = w.now.Add(6 * time.Minute)
		w.take(w.table.Tick(w.now))
		if w.holder() != "next" || w.token() <= slept {
			t.Fatalf("round %d: held by %s with token %d after %d", i, w.holder(), w.token(), slept)
		}
		_, renew := w.table.Renew(w.now, repo, slept)
		_, release := w.table.Release(w.now, repo, slept)
		if fault.Code(renew) != "lock/stale" || fault.Code(release) != "lock/stale" {
			t.Fatalf("round %d: woken holder renews: %v, releases: %v", i, renew, release)
		}
		w.take(w.table.Release(w.now, repo, w.token()))
	}
}

// After a restore the journal is shorter and its epoch higher: event numbers
// begin again, tokens do not.
func TestLOCK01_P7_TokensRiseAcrossARestoredBackup(t *testing.T) {
	w := newWorld(t)
	w.acquire("a", "h1")
	backup, number := w.table.Snapshot(), w.number
	for range 50 {
		w.take(w.table.Release(w.now, repo, w.token()))
		w.acquire("a", "h1")
	}
	newest := w.token()
	table, err := commitlock.Restore(0, backup)
	if err != nil {
		t.Fatal(err)
	}
	w = &world{t: t, table: table, now: w.now.Add(time.Hour), epoch: 2, number: number}
	w.judge.see(w.granted(backup))
	w.take(w.table.Tick(w.now))
	w.acquire("b", "h2")
	if w.token() <= newest {
		t.Errorf("token %d in epoch 2 after %d in epoch 1", w.token(), newest)
	}
}

// granted tells the judge of the grant in a backup.
func (w *world) granted(backup *loomv1.CommitLocks) *loomv1.Event {
	h := backup.Locks[0].Holder
	w.judge.see(&loomv1.Event{Fact: &loomv1.Event_LockRequested{LockRequested: &loomv1.LockRequested{Repository: repo, Claim: h}}})
	return &loomv1.Event{Fact: &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{Repository: repo, Request: h.Request, Token: h.Token}}}
}

func TestLOCK01_P7_TokenOrdersByEpochThenNumber(t *testing.T) {
	places := []struct{ epoch, number uint64 }{
		{0, 1}, {0, 2}, {0, 1<<40 - 1}, {1, 1}, {1, 1<<40 - 1}, {2, 1}, {1<<24 - 1, 1}, {1<<24 - 1, 1<<40 - 1},
	}
	for i := 1; i < len(places); i++ {
		a, b := places[i-1], places[i]
		if commitlock.Token(a.epoch, a.number) >= commitlock.Token(b.epoch, b.number) {
			t.Errorf("Token%v >= Token%v", a, b)
		}
	}
}

func TestLOCK01_ApplyRefusesWhatCannotFollow(t *testing.T) {
	later := timestamppb.New(noon.Add(time.Hour))
	grant := func(request string, token uint64, until *timestamppb.Timestamp) *loomv1.Event {
		return &loomv1.Event{Fact: &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{Repository: repo, Request: request, Token: token, Until: until}}}
	}
	request := func(c *loomv1.LockClaim) *loomv1.Event {
		return &loomv1.Event{Fact: &loomv1.Event_LockRequested{LockRequested: &loomv1.LockRequested{Repository: repo, Claim: c}}}
	}
	renew := func(token uint64, until time.Time) *loomv1.Event {
		return &loomv1.Event{Fact: &loomv1.Event_LockRenewed{LockRenewed: &loomv1.LockRenewed{Repository: repo, Token: token, Until: timestamppb.New(until)}}}
	}
	held := []*loomv1.Event{
		request(&loomv1.LockClaim{Request: "a"}), grant("a", 9, later),
		request(&loomv1.LockClaim{Request: "b"}), request(&loomv1.LockClaim{Request: "c"}),
	}
	free := append(slices.Clone(held), &loomv1.Event{Fact: &loomv1.Event_LockReleased{LockReleased: &loomv1.LockReleased{Repository: repo, Token: 9}}})
	for _, tt := range []struct {
		name   string
		before []*loomv1.Event
		e      *loomv1.Event
		sound  bool
	}{
		{"grant of a held lock", held, grant("b", 10, later), false},
		{"grant with the last token", free, grant("b", 9, later), false},
		{"grant with the next token", free, grant("b", 10, later), true},
		{"grant out of turn", free, grant("c", 10, later), false},
		{"grant to nobody who waits", free, grant("d", 10, later), false},
		{"grant without end", free, grant("b", 10, nil), false},
		{"grant of a lock nobody asked for", nil, grant("a", 1, later), false},
		{"request without claim", held, request(nil), false},
		{"request without name", held, request(&loomv1.LockClaim{}), false},
		{"renewal of another token", held, renew(8, noon.Add(2*time.Hour)), false},
		{"renewal to the same end", held, renew(9, later.AsTime()), true},
		{"renewal to an earlier end", held, renew(9, later.AsTime().Add(-1)), false},
		{"release of another token", held, &loomv1.Event{Fact: &loomv1.Event_LockReleased{LockReleased: &loomv1.LockReleased{Repository: repo, Token: 8}}}, false},
		{"lapse of a free lock", free, &loomv1.Event{Fact: &loomv1.Event_LockExpired{LockExpired: &loomv1.LockExpired{Repository: repo, Token: 9}}}, false},
		{"withdrawal of the holder", held, &loomv1.Event{Fact: &loomv1.Event_LockWithdrawn{LockWithdrawn: &loomv1.LockWithdrawn{Repository: repo, Request: "a"}}}, false},
		{"fact of another core", held, &loomv1.Event{Fact: &loomv1.Event_NodeSkipped{}}, true},
		{"no event", held, nil, true},
	} {
		t.Run("LOCK01 "+tt.name, func(t *testing.T) {
			table := commitlock.New(0)
			for _, e := range tt.before {
				if err := table.Apply(e); err != nil {
					t.Fatal(err)
				}
			}
			before := table.Snapshot()
			err := table.Apply(tt.e)
			if tt.sound != (err == nil) || !tt.sound && fault.Code(err) != "lock/inconsistent" {
				t.Errorf("Apply = %v, want accepted: %t", err, tt.sound)
			}
			if diff := same(before, table.Snapshot()); err != nil && diff != "" {
				t.Errorf("a refused event changed the table: %s", diff)
			}
		})
	}
}

func TestLOCK01_RestoreRefusesWhatNoLogLeadsTo(t *testing.T) {
	until := timestamppb.New(noon)
	holder := &loomv1.LockClaim{Request: "a", Token: 9, Until: until}
	for _, tt := range []struct {
		name  string
		locks []*loomv1.CommitLock
		sound bool
	}{
		{"nothing", nil, true},
		{"held, one waits", []*loomv1.CommitLock{{Repository: repo, Holder: holder, LastToken: 9, Queue: []*loomv1.LockClaim{{Request: "b"}}}}, true},
		{"no lock", []*loomv1.CommitLock{nil}, false},
		{"no repository", []*loomv1.CommitLock{{}}, false},
		{"one repository twice", []*loomv1.CommitLock{{Repository: repo}, {Repository: repo}}, false},
		{"a holder without token", []*loomv1.CommitLock{{Repository: repo, Holder: &loomv1.LockClaim{Request: "a", Until: until}}}, false},
		{"a holder without end", []*loomv1.CommitLock{{Repository: repo, Holder: &loomv1.LockClaim{Request: "a", Token: 9}, LastToken: 9}}, false},
		{"a token after the holder's", []*loomv1.CommitLock{{Repository: repo, Holder: holder, LastToken: 10}}, false},
		{"a waiter with a token", []*loomv1.CommitLock{{Repository: repo, LastToken: 9, Queue: []*loomv1.LockClaim{holder}}}, false},
		{"a waiter twice", []*loomv1.CommitLock{{Repository: repo, Queue: []*loomv1.LockClaim{{Request: "b"}, {Request: "b"}}}}, false},
		{"a waiter that is nobody", []*loomv1.CommitLock{{Repository: repo, Queue: []*loomv1.LockClaim{nil}}}, false},
		{"the holder waits at the end", []*loomv1.CommitLock{{Repository: repo, Holder: holder, LastToken: 9, Queue: []*loomv1.LockClaim{{Request: "b"}, {Request: "a"}}}}, false},
	} {
		_, err := commitlock.Restore(0, &loomv1.CommitLocks{Locks: tt.locks})
		if tt.sound != (err == nil) || !tt.sound && fault.Code(err) != "lock/inconsistent" {
			t.Errorf("%s: Restore: %v, want accepted: %t", tt.name, err, tt.sound)
		}
	}
}

// A place in a train is a token above the holder's, is lost with the holder's
// grant, and changes nothing about the queue.
func TestLOCK01_BYD08_PlacesInATrainEndWithTheGrant(t *testing.T) {
	w := newWorld(t)
	for _, request := range []string{"a", "b", "c"} {
		w.acquire(request, "h1")
	}
	driver := w.token()
	w.take(w.table.Couple(w.now, repo, driver, []string{"c", "b"}))
	first, _ := w.table.Claim(repo, "c")
	second, _ := w.table.Claim(repo, "b")
	if first.Car <= driver || second.Car <= first.Car || w.token() != driver {
		t.Errorf("driver %d, places %d and %d", driver, first.Car, second.Car)
	}
	w.take(w.table.Release(w.now, repo, driver))
	if w.holder() != "b" || w.token() <= second.Car {
		t.Errorf("held by %s with %d after a train up to %d", w.holder(), w.token(), second.Car)
	}
	if c, _ := w.table.Claim(repo, "c"); c.Car != 0 {
		t.Errorf("place %d is left of a train that has ended", c.Car)
	}
	for name, tt := range map[string]struct {
		token   uint64
		request string
		code    string
	}{
		"who held before":    {driver, "c", "lock/stale"},
		"the holder itself":  {w.token(), "b", "lock/unknown"},
		"one who never came": {w.token(), "z", "lock/unknown"},
	} {
		if events, err := w.table.Couple(w.now, repo, tt.token, []string{tt.request}); fault.Code(err) != tt.code || events != nil {
			t.Errorf("%s: Couple = %v, %v; want %s", name, events, err, tt.code)
		}
	}
}
