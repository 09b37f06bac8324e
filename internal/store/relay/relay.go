// Package relay hands what a host appends to a journal to one follower in memory, so
// that it is not read back from the log.
//
// It promises that the follower gets each batch once and in order, as it would from
// the log, whatever becomes of appends; and that it keeps at most 256 batches that the
// follower has not taken. It checks no chain: that is for the follower.
package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of a relay: how many batches wait for its follower, and, where others append
// too, how many must wait before it is fed, and how long it waits for the next one
// before it looks into the log again.
const (
	most   = 256
	busy   = 8
	period = time.Second
)

// errHanded ends the reading of the log.
var errHanded = errors.New("the rest is handed over")

// Relay is a log that hands what is appended through it to its follower: the same
// batches, which share their messages with whoever appended them and must not be
// changed by anybody.
//
// Whatever the follower cannot be handed it reads from the log: what is there when it
// begins, what others append, what came while more than 256 batches waited for it, and
// what follows an append whose outcome is not known.
type Relay struct {
	journal.Log
	alone bool

	mu      sync.Mutex
	fed     bool // somebody follows
	waiting []handedOver
	last    uint64 // newest batch that was handed over since something was missed
	missed  bool   // the log may have what was not handed over
	wake    chan struct{}
}

type handedOver struct {
	sequence uint64
	batch    *loomv1.Batch
}

// New returns a relay of a log. Alone says that nobody else appends to it.
func New(log journal.Log, alone bool) *Relay {
	return &Relay{Log: log, alone: alone, wake: make(chan struct{}, 1)}
}

// Append implements [journal.Log].
func (r *Relay) Append(ctx context.Context, last uint64, b journal.Sealed) (uint64, error) {
	sequence, err := r.Log.Append(ctx, last, b)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !r.fed:
		return sequence, err
	case err != nil:
		r.miss()
	case len(r.waiting) == most:
		r.miss()
	case sequence > r.last: // an append that is repeated is the same batch
		r.waiting, r.last = append(r.waiting, handedOver{sequence, b.Batch}), sequence
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return sequence, err
}

// miss has the follower read the log.
func (r *Relay) miss() { r.waiting, r.last, r.missed = nil, 0, true }

// Follower returns the log for the one who is fed: its Follow is called once at a time,
// and called again it is that of the log.
func (r *Relay) Follower() journal.Log { return &follower{r} }

type follower struct{ *Relay }

// Follow implements [journal.Log].
func (r *follower) Follow(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error {
	if !r.begin() {
		return r.Log.Follow(ctx, from, fn)
	}
	defer r.end()
	next := max(from, 1)
	for {
		err := r.Log.Follow(ctx, next, func(sequence uint64, b *loomv1.Batch) error {
			if err := fn(sequence, b); err != nil {
				return err
			}
			if next = sequence + 1; r.continues(next) {
				return errHanded
			}
			return nil
		})
		if !errors.Is(err, errHanded) {
			return err
		}
		if next, err = r.handed(ctx, next, fn); err != nil {
			return err
		}
	}
}

func (r *Relay) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fed {
		return false
	}
	r.fed, r.waiting, r.last, r.missed = true, nil, 0, false
	return true
}

func (r *Relay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fed, r.waiting = false, nil
}

// continues says whether what is handed over goes on with the batch next, so that the
// log need not be read for it.
func (r *Relay) continues(next uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	missed := r.missed
	r.missed = false // what was missed is in the log, which is being read
	r.drop(next)
	if missed {
		return false
	}
	if len(r.waiting) > 0 {
		return r.waiting[0].sequence == next && (r.alone || len(r.waiting) >= busy)
	}
	return r.alone && r.last == next-1
}

// drop forgets what the follower has already.
func (r *Relay) drop(next uint64) {
	for len(r.waiting) > 0 && r.waiting[0].sequence < next {
		r.waiting = r.waiting[1:]
	}
}

// handed passes on what is handed over, and returns which batch is next when that does
// not go on: something is missing, or nothing came for a while where others append too.
func (r *Relay) handed(ctx context.Context, next uint64, fn func(seq uint64, b *loomv1.Batch) error) (uint64, error) {
	for {
		batch, gap := r.take(next)
		switch {
		case gap:
			return next, nil
		case batch != nil:
			if err := fn(next, batch); err != nil {
				return next, err
			}
			next++
			continue
		}
		came, err := r.wait(ctx)
		if err != nil || !came {
			return next, err
		}
	}
}

// take returns the batch next if it waits, and whether another is there in its place.
func (r *Relay) take(next uint64) (batch *loomv1.Batch, gap bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(next)
	switch {
	case r.missed:
		return nil, true
	case len(r.waiting) == 0:
		return nil, false
	case r.waiting[0].sequence > next:
		return nil, true
	}
	batch = r.waiting[0].batch
	r.waiting[0] = handedOver{}
	r.waiting = r.waiting[1:]
	return batch, false
}

// wait waits for something to be handed over, and says whether something was.
func (r *Relay) wait(ctx context.Context) (bool, error) {
	var idle <-chan time.Time
	if !r.alone {
		t := time.NewTimer(period)
		defer t.Stop()
		idle = t.C
	}
	select {
	case <-r.wake:
		return true, nil
	case <-idle:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}
