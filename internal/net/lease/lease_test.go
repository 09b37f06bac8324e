package lease

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*Server).jsKickoff"))
}

func open(t testing.TB, js jetstream.JetStream, c Config) *Bucket {
	t.Helper()
	c.Bucket = "LEASES"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	b, err := Open(ctx, js, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func acquire(t testing.TB, b *Bucket, key, value string, options ...Option) *Held {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, err := b.Acquire(ctx, key, []byte(value), options...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// ended waits until the lease is known to be lost.
func ended(t *testing.T, h *Held) {
	t.Helper()
	select {
	case <-h.Lost():
	case <-time.After(patience):
		t.Fatal("the lease is not said to be lost")
	}
}

// alone returns two buckets on one server, as two hosts see it.
func alone(t testing.TB, c Config) (a, b *Bucket) {
	t.Helper()
	url := single(t).ClientURL()
	return open(t, connect(t, url), c), open(t, connect(t, url), c)
}

func TestOneHolder(t *testing.T) {
	longtest.Skip(t)
	a, b := alone(t, Config{})
	first := acquire(t, a, "partition.01", "a")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if h, err := b.Acquire(ctx, "partition.01", []byte("b")); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Acquire of a lease that is held: %v, %v", h, err)
	}
	if !first.Valid() {
		t.Error("not valid though it is held")
	}
	if other := acquire(t, b, "partition.02", "b"); !other.Valid() {
		t.Error("another key is not free")
	}
}

// The one that waits has it at once, long before the TTL is over.
// Whoever finds a lease free, and hears that another has taken it before it
// does, must not take it from there.
func TestACT05_WhatWasFreeIsTakenOrNothing(t *testing.T) {
	a, b := alone(t, Config{})
	asking := &acquisition{Bucket: a, key: "k", own: func([]byte) bool { return false }, spoilt: map[string]bool{}}
	free := a.fold.get("k")
	if !asking.mayTake(free) {
		t.Fatal("a key that nobody had is not free")
	}
	first := acquire(t, b, "k", "b")
	eventually(t, "a has heard of it", func() bool { return a.fold.get("k").record.revision != 0 })
	if h := asking.try(t.Context(), free.record.revision); h != nil || !first.Valid() {
		t.Errorf("a took the lease, too; b holds it: %t", first.Valid())
	}
	if asking.mayTake(a.fold.get("k")) {
		t.Error("a may take what b has just taken")
	}
}

func TestReleaseHandsOverAtOnce(t *testing.T) {
	a, b := alone(t, Config{TTL: time.Hour, Renew: 100 * time.Millisecond})
	first := acquire(t, a, "k", "a")
	got := make(chan *Held, 1)
	go func() {
		h, err := b.Acquire(t.Context(), "k", []byte("b"))
		if err != nil {
			t.Error(err)
		}
		got <- h
	}()
	eventually(t, "b waits", func() bool {
		b.fold.mu.Lock()
		defer b.fold.mu.Unlock()
		return len(b.fold.waiters) > 0
	})
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first.Valid() {
		t.Error("valid after it was released")
	}
	ended(t, first)
	second := <-got
	if second == nil {
		return
	}
	if second.Term() <= first.Term() {
		t.Errorf("terms %d, then %d", first.Term(), second.Term())
	}
	if err := first.Release(t.Context()); err != nil || !second.Valid() {
		t.Errorf("releasing twice: %v, and the next holder valid: %t", err, second.Valid())
	}
	if err := first.Set(t.Context(), nil); fault.Code(err) != "lease/lost" {
		t.Errorf("Set after Release: %v", err)
	}
}

func TestOwnIsTakenAtOnce(t *testing.T) {
	url := single(t).ClientURL()
	c := Config{TTL: time.Hour, Renew: 100 * time.Millisecond}
	a := open(t, connect(t, url), c)
	old := acquire(t, a, "k", "h1 epoch 1")
	a.Close() // as a process that is killed: nothing is handed over
	ended(t, old)
	b := open(t, connect(t, url), c)
	h := acquire(t, b, "k", "h1 epoch 2", Own(func(v []byte) bool { return strings.HasPrefix(string(v), "h1 ") }))
	if h.Term() <= old.Term() || !h.Valid() {
		t.Errorf("term %d after %d, valid: %t", h.Term(), old.Term(), h.Valid())
	}
}

// The holder dies; the next has the lease after its TTL and not before.
func TestReleaseEndsWithTheConnection(t *testing.T) {
	js := connect(t, single(t).ClientURL())
	h := acquire(t, open(t, js, Config{}), "partition.01", "a")
	js.Conn().Close()
	if err := h.Release(context.Background()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("Release over a closed connection: %v", err)
	}
	ended(t, h)
}

func TestTakeOverAfterTTL(t *testing.T) {
	longtest.Skip(t)
	const ttl = time.Second
	a, b := alone(t, Config{TTL: ttl})
	old := acquire(t, a, "k", "a")
	began := time.Now()
	a.Close()
	if old.Valid() {
		t.Error("valid after its bucket was closed")
	}
	next := acquire(t, b, "k", "b")
	took := time.Since(began)
	if took < ttl-a.config.Renew-a.config.margin() {
		t.Errorf("taken over after %v, of a TTL of %v", took, ttl)
	}
	if next.Term() <= old.Term() {
		t.Errorf("terms %d, then %d", old.Term(), next.Term())
	}
	t.Logf("taken over in %v", took)
}

// A host that slept is not sure any more the moment it wakes, whatever runs
// first.
func TestF3_SleepEndsALease(t *testing.T) {
	js := connect(t, single(t).ClientURL())
	var slept atomic.Int64
	awake := monotonic()
	c := Config{TTL: time.Hour, Renew: 50 * time.Millisecond}
	c.clock = func() time.Duration { return awake() + time.Duration(slept.Load()) }
	h := acquire(t, open(t, js, c), "k", "a")
	if err := h.Set(t.Context(), []byte("renewed")); err != nil || !h.Valid() {
		t.Fatalf("Set: %v, valid: %t", err, h.Valid())
	}
	slept.Add(int64(time.Hour))
	if h.Valid() {
		t.Error("valid after a sleep of its TTL")
	}
	ended(t, h)
	slept.Add(-int64(time.Hour))
	if h.Valid() {
		t.Error("valid again")
	}
}

// Somebody deletes the bucket: it is made anew, terms go on rising, and whoever
// waits has the lease, also one who knew that it was free.
func TestABucketThatIsGoneIsMadeAnew(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name   string
		before func(t *testing.T, old *Held)
	}{
		{"under a holder", func(*testing.T, *Held) {}},
		{"after a holder", func(t *testing.T, old *Held) {
			if err := old.Release(t.Context()); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := alone(t, Config{TTL: 500 * time.Millisecond})
			old := acquire(t, a, "k", "a")
			tt.before(t, old)
			eventually(t, "b knows", func() bool {
				e := b.Entries("k")
				return len(e) == 1 && e[0].Alive == old.Valid()
			})
			if err := a.store.js.DeleteStream(t.Context(), "KV_LEASES"); err != nil {
				t.Fatal(err)
			}
			ended(t, old)
			next := acquire(t, b, "k", "b")
			if !next.Valid() || next.Term() <= old.Term() {
				t.Errorf("term %d after %d, valid: %t", next.Term(), old.Term(), next.Valid())
			}
		})
	}
}

func TestSetChangesWhatOthersSee(t *testing.T) {
	a, b := alone(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan Entry, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Watch(ctx, "host.", func(e Entry) { seen <- e })
	}()
	next := func() Entry {
		select {
		case e := <-seen:
			return e
		case <-time.After(patience):
			t.Fatal("nothing seen")
			return Entry{}
		}
	}
	h := acquire(t, a, "host.h1", "up")
	if e := next(); e.Key != "host.h1" || !e.Alive || string(e.Value) != "up" || e.Term != h.Term() {
		t.Errorf("acquired, seen as %+v", e)
	}
	if err := h.Set(ctx, []byte("draining")); err != nil {
		t.Fatal(err)
	}
	if e := next(); !e.Alive || string(e.Value) != "draining" || e.Term != h.Term() {
		t.Errorf("set, seen as %+v", e)
	}
	acquire(t, a, "other.h1", "not watched")
	if err := h.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if e := next(); e.Alive || e.Key != "host.h1" || e.Term != h.Term() {
		t.Errorf("released, seen as %+v", e)
	}
	if got := b.Entries("host."); len(got) != 1 || got[0].Alive {
		t.Errorf("Entries: %+v", got)
	}
	cancel()
	<-done
}

// A watcher learns of a holder that died, and once.
func TestWatchSeesTheEnd(t *testing.T) {
	a, b := alone(t, Config{TTL: 500 * time.Millisecond})
	acquire(t, a, "host.h1", "up")
	seen := make(chan Entry, 100)
	go b.Watch(t.Context(), "host.", func(e Entry) { seen <- e })
	if e := <-seen; !e.Alive {
		t.Fatalf("at first %+v", e)
	}
	a.Close()
	select {
	case e := <-seen:
		if e.Alive || string(e.Value) != "up" {
			t.Errorf("after its death %+v", e)
		}
	case <-time.After(patience):
		t.Fatal("its death was not seen")
	}
}

func TestRefusals(t *testing.T) {
	a, _ := alone(t, Config{})
	for _, tt := range []struct {
		key   string
		value []byte
		code  string
	}{
		{"", nil, "id/malformed"},
		{"a..b", nil, "id/malformed"},
		{"a.*", nil, "id/malformed"},
		{"a.>", nil, "id/malformed"},
		{"a b", nil, "id/malformed"},
		{"a.b.c.d.e.f.g.h.i", nil, "lease/invalid"},
		{"a", bytes.Repeat([]byte("x"), MaxValue+1), "lease/invalid"},
	} {
		if _, err := a.Acquire(t.Context(), tt.key, tt.value); fault.Code(err) != tt.code {
			t.Errorf("Acquire(%q, %d bytes): %v, want code %s", tt.key, len(tt.value), err, tt.code)
		}
	}
	js := connect(t, "nats://127.0.0.1:1")
	for _, c := range []Config{
		{Bucket: "a.b"},
		{Bucket: ""},
		{Bucket: "b", TTL: time.Millisecond},
		{Bucket: "b", TTL: 2 * time.Hour},
		{Bucket: "b", TTL: time.Second, Renew: time.Second},
		{Bucket: "b", Renew: -1},
	} {
		if _, err := Open(t.Context(), js, c); fault.Status(err) != fault.Invalid {
			t.Errorf("Open(%+v): %v", c, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, js, Config{Bucket: "b", TTL: 300 * time.Millisecond}); fault.Code(err) != "host/unavailable" {
		t.Errorf("Open without a server: %v", err)
	}
}

func TestCloseEndsWaiting(t *testing.T) {
	a, b := alone(t, Config{TTL: time.Hour, Renew: 100 * time.Millisecond})
	acquire(t, a, "k", "a")
	refused := make(chan error)
	go func() {
		_, err := b.Acquire(context.Background(), "k", nil)
		refused <- err
	}()
	b.Close()
	if err := <-refused; fault.Code(err) != "lease/lost" {
		t.Errorf("Acquire while the bucket is closed: %v", err)
	}
}
