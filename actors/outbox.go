package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Notices publishes notices to observers.
type Notices interface {
	// Heard says whether anybody listens to the notice of e; true where that
	// cannot be known.
	Heard(e *loomv1.Event) bool
	// PublishNotice sends n to those who listen; the same position again is
	// harmless.
	PublishNotice(ctx context.Context, n *loomv1.Notice) error
}

// Work publishes assignments to the work queue.
type Work interface {
	// PublishWork queues a; when it is queued already nothing changes.
	PublishWork(ctx context.Context, a *loomv1.Assignment) error
}

// mostQueued is how many events, and how many assignments, wait in an outbox.
const mostQueued = 8192

// outbox sends what a partition's journal has, in order and beside the actors:
// assignments on one lane, notices on another, so that work never waits for
// those who watch. Its queues are bounded, because all of it can be derived
// again: events that find no place are read from the journal later, and
// assignments are offered again by the sweep. A notice is made only where
// somebody listens.
type outbox struct {
	journal journal.Log
	notices Notices
	work    Work
	log     *slog.Logger

	mu      sync.Mutex
	told    []told
	events  int // in told
	tasks   []*loomv1.Assignment
	newest  uint64 // sequence of the newest batch that was put
	behind  uint64 // sequence from which notices are in the journal alone, 0 for none
	read    uint64 // sequence up to which they were read from there
	dropped int    // assignments since the last that found a place

	wakeNotices, wakeWork chan struct{}
}

// told is a batch that observers are told of.
type told struct {
	epoch, sequence uint64
	events          []*loomv1.Event
}

func newOutbox(log journal.Log, n Notices, w Work, l *slog.Logger) *outbox {
	return &outbox{
		journal: log, notices: n, work: w, log: l,
		wakeNotices: make(chan struct{}, 1), wakeWork: make(chan struct{}, 1),
	}
}

// put takes assignments and batches that were acknowledged; it never blocks.
func (o *outbox) put(work []*loomv1.Assignment, batches ...told) {
	o.mu.Lock()
	o.putWork(work)
	for _, b := range batches {
		if len(b.events) > 0 {
			o.putBatch(b)
		}
	}
	o.mu.Unlock()
	for _, wake := range []chan struct{}{o.wakeNotices, o.wakeWork} {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func (o *outbox) putWork(work []*loomv1.Assignment) {
	room := min(len(work), mostQueued-len(o.tasks))
	o.tasks = append(o.tasks, work[:room]...)
	switch {
	case room == len(work):
		o.dropped = 0
	case o.dropped == 0:
		o.log.Warn("the work queue does not keep up; assignments are left to the sweep")
		fallthrough
	default:
		o.dropped += len(work) - room
	}
}

func (o *outbox) putBatch(b told) {
	o.newest = max(o.newest, b.sequence)
	switch {
	case b.sequence <= o.read || o.behind != 0: // was read, or will be
	case o.events+len(b.events) > mostQueued:
		o.behind = b.sequence
		o.log.Warn("observers do not keep up; notices are read from the journal", "partition", o.journal.Partition(), "from", b.sequence)
	default:
		o.told, o.events = append(o.told, b), o.events+len(b.events)
	}
}

// sendWork offers assignments until ctx ends.
func (o *outbox) sendWork(ctx context.Context) {
	for wait(ctx, o.wakeWork) {
		o.mu.Lock()
		tasks := o.tasks
		o.tasks = nil
		o.mu.Unlock()
		for _, a := range tasks {
			o.try(ctx, "assignment", a.Attempt, func(ctx context.Context) error { return o.work.PublishWork(ctx, a) })
		}
	}
}

// sendNotices tells observers until ctx ends.
func (o *outbox) sendNotices(ctx context.Context) {
	for wait(ctx, o.wakeNotices) {
		for ctx.Err() == nil {
			o.mu.Lock()
			batches, behind := o.told, o.behind
			o.told, o.events = nil, 0
			o.mu.Unlock()
			if len(batches) == 0 && behind == 0 {
				break
			}
			for _, b := range batches {
				o.tell(ctx, b)
			}
			if len(batches) == 0 {
				o.catchUp(ctx, behind)
			}
		}
	}
}

func wait(ctx context.Context, wake <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	}
}

// tell publishes the notices of a batch that somebody listens to.
func (o *outbox) tell(ctx context.Context, b told) {
	for i, e := range b.events {
		if o.notices.Heard(e) {
			n := notice.Of(e, &loomv1.Position{Partition: uint32(o.journal.Partition()), Epoch: b.epoch, Sequence: b.sequence, Index: uint32(i)})
			o.try(ctx, "notice", n.Summary, func(ctx context.Context) error { return o.notices.PublishNotice(ctx, n) })
		}
	}
}

// catchUp tells what the journal has from a sequence on, and goes back to the
// queue when it has seen all that was put meanwhile.
func (o *outbox) catchUp(ctx context.Context, from uint64) {
	err := o.journal.Read(ctx, from, func(seq uint64, b *loomv1.Batch) error {
		o.tell(ctx, told{epoch: b.Epoch, sequence: seq, events: b.Events})
		from = seq + 1
		return ctx.Err()
	})
	o.mu.Lock()
	o.behind, o.read = from, from-1
	if from > o.newest {
		o.behind = 0
	}
	o.mu.Unlock()
	if err != nil && ctx.Err() == nil {
		o.log.Warn("notices cannot be read from the journal", "partition", o.journal.Partition(), "error", err)
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}

func (o *outbox) try(ctx context.Context, what, which string, f func(context.Context) error) {
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := f(within); err != nil && ctx.Err() == nil {
		o.log.Warn("not published", what, which, "error", err)
	}
}
