package natsjournal

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// page is how many batches one request asks for: at most 32 MiB, which
	// is under what a subscription may hold.
	page = 32
	// heartbeat is how often the server tells a waiting reader that it lives.
	heartbeat = 2 * time.Second
	// forgotten is when the server drops the consumer of a dead reader.
	forgotten = time.Minute
)

// visit is what Read and Follow call for each batch.
type visit func(seq uint64, b *loomv1.Batch) error

// reader reads a journal through a consumer of its own. The consumer needs no
// acknowledgements, lives in memory, and is deleted when the reader ends: the
// client's ordered consumers would stay behind for minutes each.
type reader struct {
	log       *Log
	next      uint64 // of the journal
	consumer  jetstream.Consumer
	delivered uint64 // of the consumer
	pending   uint64 // batches behind the last one
}

// Read is that of [journal.Log].
func (l *Log) Read(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error {
	r := &reader{log: l, next: max(from, 1)}
	return r.run(ctx, fn, func() int { return int(min(r.pending, page)) })
}

// Follow is that of [journal.Log].
func (l *Log) Follow(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error {
	r := &reader{log: l, next: max(from, 1)}
	return r.run(ctx, fn, func() int { return page })
}

// run reads through one consumer after another until fn, ctx or the log ends
// it, or want says that no more is wanted.
func (r *reader) run(ctx context.Context, fn visit, want func() int) error {
	defer r.close()
	for {
		err := r.open(ctx)
		for n := want(); err == nil && n > 0; n = want() {
			err = r.page(ctx, n, fn)
		}
		if !lost(err) {
			return r.named(err)
		}
		r.close()
	}
}

// named returns err, which says where if it is about the chain: whoever checks
// that knows no stream.
func (r *reader) named(err error) error {
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.Code == "journal/chain" && e.Where == "" {
		e.Where = Stream(r.log.partition)
	}
	return err
}

// errSkipped says that the consumer counted a message that never came.
var errSkipped = errors.New("a message was skipped")

// lost says whether err means no more than that a new consumer is needed.
func lost(err error) bool {
	for _, e := range []error{errSkipped, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrNoHeartbeat} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// open makes the consumer.
func (r *reader) open(ctx context.Context) error {
	c, err := r.log.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next,
		AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: forgotten,
	})
	if err != nil {
		return r.log.failed(ctx, err)
	}
	r.consumer, r.delivered, r.pending = c, 0, c.CachedInfo().NumPending
	return nil
}

// close deletes the consumer. An error is no matter: the server drops it later.
func (r *reader) close() {
	if r.consumer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	_ = r.log.stream.DeleteConsumer(ctx, r.consumer.CachedInfo().Name)
	r.consumer = nil
}

// page asks for n batches and passes on what comes, until the request ends.
func (r *reader) page(ctx context.Context, n int, fn visit) error {
	// Without ctx's deadline, which the client would make the request's own.
	asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	batch, err := r.consumer.Fetch(n, jetstream.FetchContext(asked), jetstream.FetchHeartbeat(heartbeat))
	if err != nil {
		return r.log.failed(ctx, err)
	}
	for msg := range batch.Messages() {
		if err := r.pass(msg, fn); err != nil {
			return err
		}
	}
	return r.ended(ctx, batch.Error())
}

// ended returns why a request brought no more, if that is an error.
func (r *reader) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && !r.log.nc.IsClosed():
		return nil
	}
	return r.log.failed(ctx, err)
}

// pass gives one message to fn, once.
func (r *reader) pass(msg jetstream.Msg, fn visit) error {
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	if meta.Sequence.Consumer != r.delivered+1 {
		return errSkipped
	}
	seq := meta.Sequence.Stream
	b, err := journal.Decode(seq, msg.Data())
	if err != nil {
		return err
	}
	r.delivered, r.pending, r.next = meta.Sequence.Consumer, meta.NumPending, seq+1
	return fn(seq, b)
}
