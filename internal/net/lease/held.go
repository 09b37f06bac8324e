package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/loomrun/loom/internal/base/fault"
)

// Held is a lease that was acquired. Its methods may be called from many
// goroutines.
type Held struct {
	b    *Bucket
	key  string
	term uint64
	life context.Context // ends when the lease does
	kill context.CancelFunc
	idle chan struct{} // closed when it is not renewed any more
	sets chan set

	mu     sync.Mutex
	tenure *tenure
	value  []byte
	lapse  *time.Timer
}

// set is a value that the holder wants stored.
type set struct {
	value []byte
	done  chan struct{} // closed when it is
}

func newHeld(b *Bucket, key string, value []byte) *Held {
	life, kill := context.WithCancel(b.over)
	return &Held{
		b: b, key: key, value: value, life: life, kill: kill, idle: make(chan struct{}), sets: make(chan set),
		tenure: newTenure(b.config.TTL, b.config.margin(), nonce()),
	}
}

// Key returns the lease's key.
func (h *Held) Key() string { return h.key }

// Term returns the holder's number: that of a later holder of the same key is
// greater.
func (h *Held) Term() uint64 { return h.term }

// Lost returns a channel that is closed once the lease is not surely held any
// more, before anybody else can have it; also when it was released. Where the
// process slept, [Held.Valid] tells before the channel does.
func (h *Held) Lost() <-chan struct{} { return h.life.Done() }

// Valid says whether the lease is surely held at this moment, by the clock,
// without asking anybody. Once false it stays so.
func (h *Held) Valid() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.life.Err() == nil && h.tenure.valid(h.b.now())
}

// Set changes the value, which it keeps, and returns when the bucket has it.
// It returns lease/invalid for a value that is too long, lease/lost when the
// lease is lost, and after an error of ctx the change may still come.
func (h *Held) Set(ctx context.Context, value []byte) error {
	if err := checkValue(h.key, value); err != nil {
		return err
	}
	s := set{value, make(chan struct{})}
	select {
	case h.sets <- s:
	case <-h.life.Done():
		return lost(h.key, "lost before the value was set")
	case <-ctx.Done():
		return fmt.Errorf("set the value of lease %q: %w", h.key, context.Cause(ctx))
	}
	select {
	case <-s.done:
		return nil
	case <-h.life.Done():
		return lost(h.key, "lost while the value was set")
	case <-ctx.Done():
		return fmt.Errorf("set the value of lease %q: %w", h.key, context.Cause(ctx))
	}
}

// Release gives the lease back: from now on it is not valid here, and when
// Release returns nil anybody else can have it. After an error, of ctx or of a
// connection that is closed, it may have been given back, or ends after its
// TTL. To release a lease that was
// lost or released does nothing.
func (h *Held) Release(ctx context.Context) error {
	select {
	case <-h.life.Done():
		return nil
	default:
	}
	h.kill()
	<-h.idle
	err := h.put(ctx, true)
	if err != nil && !errors.Is(err, fault.New("lease/lost", "")) {
		return fmt.Errorf("release lease %q: %w", h.key, err)
	}
	h.b.log.Info("lease released", "key", h.key, "term", h.term)
	return nil
}

// begin keeps the lease renewed until it ends.
func (h *Held) begin() {
	h.mu.Lock()
	h.lapse = time.AfterFunc(h.left(), h.check)
	h.mu.Unlock()
	h.b.running.Go(h.renew)
}

// left is how long the lease lasts unless it is renewed. mu is held.
func (h *Held) left() time.Duration { return max(h.tenure.until-h.b.now(), 0) }

// check ends the lease if it has lapsed.
func (h *Held) check() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.life.Err() != nil {
		return
	}
	if h.tenure.valid(h.b.now()) {
		h.lapse.Reset(h.left())
		return
	}
	h.b.log.Warn("lease lost", "key", h.key, "term", h.term)
	h.kill()
}

func (h *Held) renew() {
	defer close(h.idle)
	defer h.lapse.Stop()
	ticker := time.NewTicker(h.b.config.Renew)
	defer ticker.Stop()
	for {
		var asked set
		select {
		case <-h.life.Done():
			return
		case asked = <-h.sets:
			h.mu.Lock()
			h.value = asked.value
			h.mu.Unlock()
		case <-ticker.C:
		}
		h.check() // after a sleep this comes before the timer
		err := h.put(h.life, false)
		if h.check(); err == nil && asked.done != nil {
			close(asked.done)
		}
	}
}

// put stores the lease as it is, trying again until it is stored, is known to
// be another's, the connection is closed for good, or ctx ends.
func (h *Held) put(ctx context.Context, released bool) error {
	for {
		err := h.putOnce(ctx, released)
		switch {
		case err == nil, errors.Is(err, fault.New("lease/lost", "")), errors.Is(err, nats.ErrConnectionClosed):
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		h.b.log.Warn("lease not renewed", "key", h.key, "reason", err)
		pause(ctx, h.b.config.Renew/10)
	}
}

func (h *Held) putOnce(ctx context.Context, released bool) error {
	h.mu.Lock()
	last, serial := h.tenure.revision, h.tenure.send(h.b.now())
	r := h.record(serial)
	h.mu.Unlock()
	r.released = released
	revision, err := h.b.store.write(ctx, h.key, last, r)
	if err == nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.tenure.stored(serial, revision, h.b.now())
		return nil
	}
	if !errors.Is(err, errMoved) {
		return err
	}
	newest, err := h.b.store.read(ctx, h.key)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.tenure.read(newest, h.b.now()); h.tenure.lost {
		return lost(h.key, "another holder has it")
	}
	return errMoved // by a write of ours whose outcome was unknown
}

// record is what to store; mu is held, or nobody else has h yet.
func (h *Held) record(serial uint64) record {
	return record{nonce: h.tenure.nonce, term: h.term, serial: serial, ttl: h.b.config.TTL, value: h.value}
}
