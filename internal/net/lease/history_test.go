package lease

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/test/wire"
)

// history is what all hosts of a test saw, in one order: they look at their
// clocks one after the other.
type history struct {
	mu      sync.Mutex
	last    time.Time // when somebody was valid
	newest  uint64    // term of the newest holder that was valid
	holder  string
	changes int
	wrong   []string
}

// sure says whether somebody was valid in the last half second.
func (y *history) sure() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return time.Since(y.last) < 500*time.Millisecond
}

// looks records whether host holds the lease at this moment. A lease is valid
// without a gap from its beginning to its end, so an older term that is valid
// after a newer one was, was valid beside it.
func (y *history) looks(host string, h *Held) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	if !h.Valid() {
		return false
	}
	y.last = time.Now()
	switch term := h.Term(); {
	case term < y.newest:
		y.wrong = append(y.wrong, host+" and "+y.holder)
	case term > y.newest:
		y.newest, y.holder = term, host
		y.changes++
	case y.holder != host:
		y.wrong = append(y.wrong, host+" has the term of "+y.holder)
	}
	return true
}

func (y *history) now() (holder string, changes int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.holder, y.changes
}

// compete has a host take the lease whenever it can, until ctx ends.
func (y *history) compete(ctx context.Context, t *testing.T, host string, b *Bucket) {
	for ctx.Err() == nil {
		h, err := b.Acquire(ctx, "k", []byte(host))
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("%s: %v", host, err)
			}
			return
		}
		for y.looks(host, h) && ctx.Err() == nil {
			pause(ctx, time.Millisecond)
		}
	}
}

// contest runs the hosts of a test against each other while trouble lasts.
func contest(t *testing.T, c Config, hosts map[string]jetstream.JetStream, trouble func(y *history)) {
	y := &history{}
	buckets := map[string]*Bucket{}
	for name, js := range hosts {
		c.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})).With("host", name)
		buckets[name] = open(t, js, c)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for name, b := range buckets {
		running.Go(func() { y.compete(ctx, t, name, b) })
	}
	eventually(t, "somebody holds the lease", func() bool { _, n := y.now(); return n > 0 })
	trouble(y)
	stop()
	running.Wait()
	for _, wrong := range y.wrong {
		t.Errorf("two holders at one time: %s", wrong)
	}
}

// next waits for another holder than the present one and tells how long it
// took.
func (y *history) next(t *testing.T, after int) {
	t.Helper()
	began := time.Now()
	eventually(t, "another holder", func() bool { _, n := y.now(); return n > after })
	holder, _ := y.now()
	t.Logf("%s holds the lease after %v", holder, time.Since(began).Round(time.Millisecond))
}

func TestACT05_NeverTwoHoldersOverCutWires(t *testing.T) {
	longtest.Skip(t)
	s := single(t)
	wires, hosts := map[string]*wire.Wire{}, map[string]jetstream.JetStream{}
	for _, name := range []string{"h1", "h2", "h3"} {
		wires[name] = newWire(t)
		wires[name].Lead(s.Addr().String())
		hosts[name] = connect(t, "nats://"+wires[name].Address())
	}
	contest(t, Config{TTL: 600 * time.Millisecond}, hosts, func(y *history) {
		for range 4 {
			holder, n := y.now()
			wires[holder].Stall() // its renewals arrive too late, all at once
			y.next(t, n)
			wires[holder].Heal()
			_, n = y.now()
			for _, w := range wires {
				w.Drop() // everybody comes back by a new connection
			}
			eventually(t, "a holder after all connections broke", func() bool {
				h, now := y.now()
				return now > n || wires[h] != nil
			})
		}
	})
}

// The only server is away for longer than a lease lasts, and comes back with
// what it had on disk.
func TestACT05_NeverTwoHoldersOverARestart(t *testing.T) {
	longtest.Skip(t)
	dir, w, hosts := t.TempDir(), newWire(t), map[string]jetstream.JetStream{}
	s := serve(t, "alone", dir)
	ready(t, s)
	w.Lead(s.Addr().String())
	for _, name := range []string{"h1", "h2", "h3"} {
		hosts[name] = connect(t, "nats://"+w.Address())
	}
	contest(t, Config{TTL: 600 * time.Millisecond}, hosts, func(y *history) {
		_, n := y.now()
		s.Shutdown()
		s.WaitForShutdown()
		eventually(t, "the holder is not sure any more", func() bool { return !y.sure() })
		s = serve(t, "alone", dir)
		ready(t, s)
		w.Lead(s.Addr().String())
		y.next(t, n)
	})
}

func TestACT05_NeverTwoHoldersInACluster(t *testing.T) {
	longtest.Skip(t)
	c := cluster(t)
	hosts, of := map[string]jetstream.JetStream{}, map[string]int{}
	for i, name := range []string{"h1", "h2", "h3"} {
		hosts[name], of[name] = connect(t, c.servers[i].ClientURL()), i
	}
	contest(t, Config{TTL: 2 * time.Second, Replicas: 3}, hosts, func(y *history) {
		// The bucket gets another leader; whoever holds the lease may keep it.
		eventually(t, "a leader of the bucket", func() bool { return c.leader() >= 0 })
		if err := c.servers[c.leader()].JetStreamStepdownStream("$G", "KV_LEASES"); err != nil {
			t.Error(err)
		}
		// The holder's server, be it the leader or not, is cut off and knows
		// it only later.
		holder, n := y.now()
		c.isolate(of[holder], true)
		y.next(t, n)
		c.isolate(of[holder], false)
		// The holder's host ends, with its replica.
		holder, n = y.now()
		c.servers[of[holder]].Shutdown()
		y.next(t, n)
	})
}
