package natsjournal

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	// page is how many batches one request asks for: at most 32 MiB, which
	// is under what a subscription may hold.
	page = 32
	// heartbeat is how often the server tells a waiting reader that it lives:
	// more often where it can die while the reader lives.
	heartbeat      = 2 * time.Second
	jointHeartbeat = 750 * time.Millisecond
	// purgedAfter is when a reader asks anew what there is.
	purgedAfter = 30 * time.Second
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
	bounded   bool   // it reads what there is, and does not wait for more
	delivered uint64 // of the consumer
	pending   uint64 // batches behind the last one
	reading   journal.Reading
	begun     bool // a batch was passed on
}

// Read is that of [journal.Log].
func (l *Log) Read(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error {
	r := &reader{log: l, next: max(from, 1), bounded: true}
	end, err := l.end(ctx)
	for began := time.Now(); err == nil; {
		err = r.run(ctx, fn, func() int { return int(min(r.pending, page)) })
		if err != nil || r.next > end {
			return err
		}
		if time.Since(began) > transient.Election {
			return fault.New("host/unavailable", "journal of partition %d can be read up to %d, and its leader has %d", l.partition, r.next-1, end)
		}
		err = pause(ctx)
	}
	return err
}

// end returns up to where a read must come at least: where several hosts keep
// the stream, the one that is asked may not have everything yet.
func (l *Log) end(ctx context.Context) (uint64, error) {
	if !l.joint {
		return 0, nil
	}
	seq, _, err := l.Last(ctx)
	return seq, err
}

// pause waits a moment, or returns ctx's error.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(5 * time.Millisecond):
		return nil
	}
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
			before := r.next
			if err = r.asked(ctx, n, fn); err == nil && r.bounded && r.next == before {
				err = errSkipped // what it waited for was purged
			}
		}
		if !lost(err) {
			return r.named(err)
		}
		r.close()
	}
}

// asked is page that bears with a consumer that does not answer yet: one that
// another host keeps is known there before it can be reached from here.
func (r *reader) asked(ctx context.Context, n int, fn visit) error {
	const most = 100
	for tries := 1; ; tries++ {
		err := r.page(ctx, n, fn)
		if !r.log.joint || !errors.Is(err, nats.ErrNoResponders) {
			return err
		}
		if tries == most {
			return errUnreached
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// errUnreached says that the host which keeps the consumer is gone.
var errUnreached = errors.New("the consumer does not answer")

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
	for _, e := range []error{
		errSkipped, errUnreached, jetstream.ErrConsumerDeleted, jetstream.ErrConsumerNotFound, jetstream.ErrNoHeartbeat,
		jetstream.ErrConsumerLeadershipChanged, jetstream.ErrServerShutdown,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// open makes the consumer. One that was made and not heard of is forgotten by
// the server.
func (r *reader) open(ctx context.Context) error {
	var c jetstream.Consumer
	err := r.log.patiently(ctx, func(ctx context.Context) (err error) {
		c, err = r.log.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: r.next,
			AckPolicy: jetstream.AckNonePolicy, MemoryStorage: true, InactiveThreshold: forgotten,
		})
		return err
	})
	if err != nil {
		return r.log.failed(ctx, err)
	}
	r.consumer, r.delivered, r.pending = c, 0, c.CachedInfo().NumPending
	return nil
}

// deleteWithin is how long a reader waits to hear that its consumer is deleted:
// whoever led it may be gone, and a host that takes a partition over waits for
// the reader.
const deleteWithin = 500 * time.Millisecond

// close deletes the consumer. An error is no matter: the server drops it later.
func (r *reader) close() {
	if r.consumer == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), deleteWithin)
	defer cancel()
	_ = r.log.stream.DeleteConsumer(ctx, r.consumer.CachedInfo().Name)
	r.consumer = nil
}

func (l *Log) heartbeat() time.Duration {
	if l.joint {
		return jointHeartbeat
	}
	return heartbeat
}

// patiently calls f, which is harmless to repeat, through an election where
// several hosts keep the stream.
func (l *Log) patiently(ctx context.Context, f func(context.Context) error) error {
	if !l.joint {
		return f(ctx)
	}
	return transient.Retry(ctx, transient.Election, f)
}

// page asks for n batches and passes on what comes, until the request ends.
func (r *reader) page(ctx context.Context, n int, fn visit) error {
	// Without ctx's deadline, which the client would make the request's own.
	asked, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if r.bounded { // what it asks for is there, unless it is purged meanwhile
		asked, cancel = context.WithTimeout(asked, purgedAfter)
		defer cancel()
	}
	batch, err := r.consumer.Fetch(n, jetstream.FetchContext(asked), jetstream.FetchHeartbeat(r.log.heartbeat()))
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

// follows returns journal/chain unless the message at seq is the batch that the
// reader is to pass on next.
func (r *reader) follows(seq uint64, data []byte) error {
	if seq > r.next {
		if err := r.cutBefore(seq); err != nil {
			return err
		}
	}
	r.begun = true
	return r.reading.Next(seq, data)
}

// cutBefore returns nil for a read that begins at seq because the log does, and
// otherwise why the batches before are not there: the log was cut meanwhile,
// which a new read knows, or they are missing.
func (r *reader) cutBefore(seq uint64) error {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	info, err := r.log.stream.Info(ctx)
	switch {
	case err != nil:
		return r.log.failed(ctx, err)
	case info.State.FirstSeq < seq:
		return fault.New("journal/chain", "journal sequence %d: the batch is missing; the next one that can be read is %d", r.next, seq)
	case r.begun:
		return fault.New("host/unavailable", "journal of partition %d was cut at %d while it was read", r.log.partition, seq-1).Want("read it again")
	}
	return nil
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
	if err := r.follows(seq, msg.Data()); err != nil {
		return err
	}
	b, err := journal.Decode(seq, msg.Data())
	if err != nil {
		return err
	}
	r.delivered, r.pending, r.next = meta.Sequence.Consumer, meta.NumPending, seq+1
	return journal.Told(seq, msg.Data(), fn(seq, b))
}
