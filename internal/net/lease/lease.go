// Package lease gives a key to one holder at a time, over a JetStream bucket.
//
// A holder renews its record every second by compare-and-set. Whoever waits
// for the key counts, on its own clock, how long the record has not changed:
// after a whole TTL it takes the key by compare-and-set with the revision it
// saw. The holder counts on its own clock too, from before it sent the last
// renewal that was stored, and a tenth of the TTL less. So the holder stops
// being sure before anybody else begins to be, whatever the wall clocks of
// hosts and servers say; only the rates of their clocks must agree within some
// per cent. The time that a process or machine sleeps counts (where the
// system tells: on Linux).
//
// It promises that no two holders of a key are valid at one time, and that
// terms rise from holder to holder. A holder that dies is followed within the
// TTL and a moment; one that releases, at once. It never says that something
// that a holder began in time also ends in time: what must not happen twice
// takes the term along as a fencing token, or its own compare-and-set.
//
// While the bucket has no leader (some seconds, when the server that led it dies)
// nobody can renew and nobody can take: holders whose TTL runs out meanwhile
// lose their leases, the others keep them. When the bucket answers again,
// those that wait give the last holders two renewals' time before they take
// anything; a former holder that knows its own record (see [Own]) takes it
// back at once, in a new term.
package lease

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

// MaxValue is how many bytes a lease's value may have.
const MaxValue = 64 << 10

// Config says how to open a bucket of leases. Only Bucket is required. All
// who open a bucket should agree on it; a lease lasts as long as its holder's
// TTL says.
type Config struct {
	// Bucket is the bucket's name: 1 to 64 letters, digits, _ and -, and no
	// other bucket's in another case.
	Bucket string

	// Replicas is how many servers keep the bucket: 1 (also for 0), 3 or 5.
	// A bucket with fewer gets more.
	Replicas int

	// TTL is how long a lease lasts after its last renewal. Zero means 5
	// seconds; less than 200 ms or more than an hour is an error.
	TTL time.Duration

	// Renew is how often a lease is renewed. Zero means a fifth of TTL; more
	// than a third of it is an error.
	Renew time.Duration

	// Storage is where a bucket that is not there yet is kept. The zero
	// value is on disk. In memory, the restart of most of its servers at one
	// time makes it anew: terms begin again, and for up to one renewal a
	// holder may be sure beside one who comes then.
	Storage jetstream.StorageType

	// Logger receives what happens to leases. Nil discards it.
	Logger *slog.Logger

	clock clock // nil means the system's
}

func (c Config) withDefaults() Config {
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.TTL == 0 {
		c.TTL = 5 * time.Second
	}
	if c.Renew == 0 {
		c.Renew = c.TTL / 5
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.clock == nil {
		c.clock = systemClock()
	}
	return c
}

func (c Config) check() error {
	if _, err := subject.Parse("bucket", strings.ToLower(c.Bucket)); err != nil {
		return err
	}
	if c.TTL < 200*time.Millisecond || c.TTL > longest || c.Renew <= 0 || c.Renew > c.TTL/3 {
		return fault.New("lease/invalid", "leases of %v renewed every %v: 200ms to 1h, renewed three times in that", c.TTL, c.Renew)
	}
	return nil
}

// margin is how much earlier than others a holder ends its own lease.
func (c Config) margin() time.Duration { return c.TTL / 10 }

// grace is how long those who wait give holders after the bucket was away.
func (c Config) grace() time.Duration { return 2 * c.Renew }

// Bucket is an open bucket of leases; it follows all of them. Its methods may
// be called from many goroutines.
type Bucket struct {
	config  Config
	log     *slog.Logger
	now     clock
	store   *store
	fold    *fold
	sub     *nats.Subscription
	over    context.Context // ends with Close
	stop    context.CancelFunc
	running sync.WaitGroup
	lapses  chan struct{} // the next lapse may have become another
}

// Open opens the bucket, makes it if it is not there, and returns when all its
// leases are known. It waits for a bucket whose servers do not answer yet
// until ctx ends. The connection of js stays the caller's, and must be open
// until Close.
//
// It returns id/malformed and lease/invalid for a wrong Config, and
// host/unavailable when ctx ended first, with the last reason.
func Open(ctx context.Context, js jetstream.JetStream, config Config) (*Bucket, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	store, err := openStore(ctx, js, config)
	if err != nil {
		return nil, err
	}
	over, stop := context.WithCancel(context.Background())
	b := &Bucket{
		config: config, log: config.Logger.With("bucket", config.Bucket), now: config.clock, store: store,
		fold: newFold(config.clock), over: over, stop: stop, lapses: make(chan struct{}, 1),
	}
	if err := b.follow(ctx); err != nil {
		stop()
		return nil, fault.New("host/unavailable", "the leases of bucket %s cannot be followed", config.Bucket).Because(err)
	}
	return b, nil
}

// Close ends all that the bucket runs and waits for it. What is held is lost
// and not handed over: release it first. It may be called more than once.
func (b *Bucket) Close() {
	b.stop()
	b.running.Wait()
	_ = b.sub.Unsubscribe() // it fails only when the connection is gone
}

// key returns an error unless k can be a key: 1 to 8 tokens joined by dots.
func checkKey(k string) error {
	parts := strings.Split(k, ".")
	if len(parts) > 8 {
		return fault.New("lease/invalid", "a key has at most 8 parts").At("key").Got(k)
	}
	for _, part := range parts {
		if _, err := subject.Parse("lease", part); err != nil {
			return err
		}
	}
	return nil
}
