package journals

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Timed is a journal that notes how long appends take, where it ends, and whether the
// last append failed.
type Timed struct {
	journal.Log
	Doubt    func()                   // is called when a read finds that the journal is not whole
	Appended func(took time.Duration) // is called after each append that succeeded

	last atomic.Uint64
	lag  lag
	err  atomic.Pointer[fault.Error]
}

// Append implements journal.Log.
func (l *Timed) Append(ctx context.Context, last uint64, b journal.Sealed) (uint64, error) {
	began := time.Now()
	sequence, err := l.Log.Append(ctx, last, b)
	if err != nil {
		l.err.Store(fault.From(err))
		return sequence, err
	}
	l.Appended(time.Since(began))
	l.last.Store(sequence)
	l.lag.appended(sequence, began)
	l.err.Store(nil)
	return sequence, nil
}

// Last implements journal.Log.
func (l *Timed) Last(ctx context.Context) (uint64, *loomv1.Batch, error) {
	sequence, b, err := l.Log.Last(ctx)
	if err == nil {
		l.last.Store(max(l.last.Load(), sequence))
	}
	return sequence, b, err
}

// Read implements journal.Log.
func (l *Timed) Read(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	return l.doubted(l.Log.Read(ctx, from, fn))
}

// Follow implements journal.Log.
func (l *Timed) Follow(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	return l.doubted(l.Log.Follow(ctx, from, fn))
}

func (l *Timed) doubted(err error) error {
	if fault.Code(err) == "journal/chain" {
		l.Doubt()
	}
	return err
}

// Failed says why the journal does not take appends: the last one failed, or it does not
// answer.
func (l *Timed) Failed(ctx context.Context) error {
	if err := l.err.Load(); err != nil {
		return err
	}
	_, _, err := l.Last(ctx)
	return err
}

// Newest is where the journal ended when that was seen last.
func (l *Timed) Newest() uint64 { return l.last.Load() }

// Behind says how far a follower that has applied batches up to a sequence is behind the
// journal, and for how long it has been.
func (l *Timed) Behind(applied uint64) (batches uint64, since time.Duration) {
	last := l.last.Load()
	return max(last, applied) - applied, l.lag.behind(applied, last, time.Now())
}
