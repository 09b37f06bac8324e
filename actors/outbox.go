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
	// PublishNotice sends n; the same position again is harmless.
	PublishNotice(ctx context.Context, n *loomv1.Notice) error
}

// Work publishes assignments to the work queue.
type Work interface {
	// PublishWork queues a; when it is queued already nothing changes.
	PublishWork(ctx context.Context, a *loomv1.Assignment) error
}

// mostQueued is how many notices, and how many assignments, wait in an outbox.
const mostQueued = 8192

// outbox sends what a partition's journal has, in order and beside the actors:
// assignments on one lane, notices on another, so that work never waits for
// those who watch. Its queues are bounded, because all of it can be derived
// again: notices that find no place are read from the journal later, and
// assignments are offered again by the sweep.
type outbox struct {
	journal journal.Log
	notices Notices
	work    Work
	log     *slog.Logger

	mu      sync.Mutex
	told    []*loomv1.Notice
	tasks   []*loomv1.Assignment
	newest  uint64 // sequence of the newest batch that was put
	behind  uint64 // sequence from which notices are in the journal alone, 0 for none
	read    uint64 // sequence up to which they were read from there
	dropped int    // assignments since the last that found a place

	wakeNotices, wakeWork chan struct{}
}

type outgoing struct {
	sequence uint64 // of the batch that the notices are about
	notices  []*loomv1.Notice
	work     []*loomv1.Assignment
}

func newOutbox(log journal.Log, n Notices, w Work, l *slog.Logger) *outbox {
	return &outbox{
		journal: log, notices: n, work: w, log: l,
		wakeNotices: make(chan struct{}, 1), wakeWork: make(chan struct{}, 1),
	}
}

// put never blocks.
func (o *outbox) put(g outgoing) {
	o.mu.Lock()
	o.putWork(g.work)
	if len(g.notices) > 0 {
		o.putNotices(g)
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

func (o *outbox) putNotices(g outgoing) {
	o.newest = max(o.newest, g.sequence)
	switch {
	case g.sequence <= o.read || o.behind != 0: // was read, or will be
	case len(o.told)+len(g.notices) > mostQueued:
		o.behind = g.sequence
		o.log.Warn("observers do not keep up; notices are read from the journal", "partition", o.journal.Partition(), "from", g.sequence)
	default:
		o.told = append(o.told, g.notices...)
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
			told, behind := o.told, o.behind
			o.told = nil
			o.mu.Unlock()
			if len(told) == 0 && behind == 0 {
				break
			}
			for _, n := range told {
				o.tell(ctx, n)
			}
			if len(told) == 0 {
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

func (o *outbox) tell(ctx context.Context, n *loomv1.Notice) {
	o.try(ctx, "notice", n.Summary, func(ctx context.Context) error { return o.notices.PublishNotice(ctx, n) })
}

// catchUp tells what the journal has from a sequence on, and goes back to the
// queue when it has seen all that was put meanwhile.
func (o *outbox) catchUp(ctx context.Context, from uint64) {
	err := o.journal.Read(ctx, from, func(seq uint64, b *loomv1.Batch) error {
		for i, e := range b.Events {
			o.tell(ctx, notice.Of(e, &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}))
		}
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
