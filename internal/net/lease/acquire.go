package lease

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/loomrun/loom/internal/base/fault"
)

// Option changes how Acquire goes about it.
type Option func(*acquisition)

// Own lets Acquire take at once, without waiting for the TTL, a lease whose
// value is that of an earlier start of the caller: where old says so. It must
// say so only when that earlier holder can do nothing any more, as one whose
// data directory's lock the caller has, or whose lease was lost and whose work
// has stopped.
func Own(old func(value []byte) bool) Option {
	return func(a *acquisition) { a.own = old }
}

// acquisition is a call of Acquire.
type acquisition struct {
	*Bucket
	key    string
	value  []byte
	own    func([]byte) bool
	spoilt map[string]bool // nonces under which it was not to be had
}

// Acquire waits until the key is free and the caller has it, or until ctx
// ends. The key is 1 to 8 tokens (see package subject) joined by dots, the
// value at most [MaxValue] bytes; both are kept. Of many who wait, any may be
// next. The lease is renewed until it is released, lost, or the bucket closed,
// also after ctx has ended.
//
// It returns id/malformed or lease/invalid for a key or value that cannot be,
// lease/lost when the bucket was closed, and ctx's error, wrapped. A lease
// that it won just then, and nobody knows of, ends after its TTL.
func (b *Bucket) Acquire(ctx context.Context, key string, value []byte, options ...Option) (*Held, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := checkValue(key, value); err != nil {
		return nil, err
	}
	a := &acquisition{Bucket: b, key: key, value: value, own: func([]byte) bool { return false }, spoilt: map[string]bool{}}
	for _, o := range options {
		o(a)
	}
	return a.wait(ctx)
}

// wait tries whenever the lease may have become free.
func (a *acquisition) wait(ctx context.Context) (*Held, error) {
	w := a.fold.wait(a.key)
	defer a.fold.forget(w)
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("acquire lease %q: %w", a.key, context.Cause(ctx))
		case <-a.over.Done():
			return nil, lost(a.key, "the bucket is closed")
		case <-w.kick:
		}
		for ctx.Err() == nil && a.over.Err() == nil {
			seen := a.fold.get(a.key)
			if !a.mayTake(seen) {
				break
			}
			if held := a.try(ctx, seen.record.revision); held != nil {
				return held, nil
			}
			pause(ctx, a.config.Renew/20)
		}
	}
}

func (a *acquisition) mayTake(s sight) bool {
	return s.free() || a.spoilt[s.record.nonce] || a.own(s.record.value)
}

// try takes the lease if last, the revision that was free, is still its newest.
// It returns nil if that did not come about, having looked at what is there now.
func (a *acquisition) try(ctx context.Context, last uint64) *Held {
	h := newHeld(a.Bucket, a.key, a.value)
	serial := h.tenure.send(a.now())
	revision, err := a.store.write(ctx, a.key, last, h.record(serial))
	if err == nil {
		h.tenure.stored(serial, revision, a.now())
		h.term = revision
	} else {
		a.settle(ctx, h)
	}
	if !h.Valid() { // somebody else was faster, or it took too long
		a.spoilt[h.tenure.nonce] = true // should it be stored yet
		h.kill()
		return nil
	}
	a.log.Info("lease acquired", "key", a.key, "term", h.term)
	h.begin()
	return h
}

// settle finds out whether a write that was not acknowledged is stored.
func (a *acquisition) settle(ctx context.Context, h *Held) {
	for {
		if r, err := a.lookKey(ctx, a.key); err == nil {
			h.tenure.read(r, a.now())
			h.term = r.term
			return
		}
		if !pause(ctx, a.config.Renew/4) || a.over.Err() != nil {
			return
		}
	}
}

func checkValue(key string, value []byte) error {
	if len(value) > MaxValue {
		return fault.New("lease/invalid", "the value of lease %s has %d bytes, at most %d", key, len(value), MaxValue)
	}
	return nil
}

// nonce returns a name that nobody else has.
func nonce() string { return rand.Text() }

func lost(key, why string) error { return fault.New("lease/lost", "lease %s: %s", key, why) }
