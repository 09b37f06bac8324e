package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

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

// outbox sends what a partition's journal has, in order and beside the actors.
// All of it can be derived from the journal again, so what cannot be sent is
// logged and left to recovery (notices) or the sweep (assignments).
type outbox struct {
	notices Notices
	work    Work
	log     *slog.Logger
	mu      sync.Mutex
	queue   []outgoing
	wake    chan struct{}
	done    chan struct{}
}

type outgoing struct {
	notices []*loomv1.Notice
	work    []*loomv1.Assignment
}

func newOutbox(ctx context.Context, n Notices, w Work, log *slog.Logger) *outbox {
	o := &outbox{notices: n, work: w, log: log, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go o.run(ctx)
	return o
}

// put never blocks.
func (o *outbox) put(g outgoing) {
	o.mu.Lock()
	o.queue = append(o.queue, g)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) run(ctx context.Context) {
	defer close(o.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		o.mu.Lock()
		queue := o.queue
		o.queue = nil
		o.mu.Unlock()
		for _, g := range queue {
			o.send(ctx, g)
		}
	}
}

// send gives work before notices: an agent may start while people read.
func (o *outbox) send(ctx context.Context, g outgoing) {
	for _, a := range g.work {
		o.try(ctx, "assignment", a.Attempt, func(ctx context.Context) error { return o.work.PublishWork(ctx, a) })
	}
	for _, n := range g.notices {
		o.try(ctx, "notice", n.Summary, func(ctx context.Context) error { return o.notices.PublishNotice(ctx, n) })
	}
}

func (o *outbox) try(ctx context.Context, what, which string, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := f(ctx); err != nil && ctx.Err() == nil {
		o.log.Warn("not published", what, which, "error", err)
	}
}
