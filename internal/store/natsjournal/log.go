// Package natsjournal keeps the journal and its snapshots on JetStream.
//
// It promises what package journal's contract says, as far as the stream is
// kept by a server that syncs every acknowledged write; package broker proves
// that. It never creates a journal's stream: a missing one is damage.
package natsjournal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// StreamPrefix is what the names of all journals' streams begin with.
const StreamPrefix = "LOOM_J_"

// Stream returns the name of a partition's stream.
func Stream(partition int) string { return fmt.Sprintf("%s%02d", StreamPrefix, partition) }

// Log is a partition's journal on JetStream; it implements [journal.Log].
type Log struct {
	partition int
	nc        *nats.Conn
	js        jetstream.JetStream
	stream    jetstream.Stream
	// joint says that several hosts keep the stream.
	joint bool
	// seen is the highest sequence that was acknowledged or read here.
	seen atomic.Uint64
}

var _ journal.Log = (*Log)(nil)

// answerWithin bounds a request whose context has no deadline.
const answerWithin = 5 * time.Second

// New returns the journal of a partition whose stream is there already, over a
// connection of the core account. It returns data/stream-missing if it is not.
func New(ctx context.Context, nc *nats.Conn, partition int) (*Log, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(answerWithin))
	if err != nil {
		return nil, fmt.Errorf("journal of partition %d: %w", partition, err)
	}
	stream, err := transient.Find(ctx, nc, js, Stream(partition))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fault.New("data/stream-missing", "stream %s is missing", Stream(partition))
	}
	if err != nil {
		return nil, fault.New("host/unavailable", "journal of partition %d cannot be opened", partition).Because(err)
	}
	return &Log{partition: partition, nc: nc, js: js, stream: stream, joint: stream.CachedInfo().Config.Replicas > 1}, nil
}

// Partition returns the partition's number.
func (l *Log) Partition() int { return l.partition }

// Append is that of [journal.Log].
func (l *Log) Append(ctx context.Context, last uint64, b journal.Sealed) (uint64, error) {
	if l.nc.IsClosed() {
		return 0, l.closed(nats.ErrConnectionClosed)
	}
	data := b.Encoding()
	if len(data) > journal.MaxBytes {
		return 0, journal.TooLarge(l.partition, len(data))
	}
	var seq uint64
	// Where several hosts keep the log, the same batch is sent through an
	// election: the log takes it once at most, and knows it again.
	err := l.patiently(ctx, func(ctx context.Context) (err error) {
		seq, err = l.publish(ctx, last, data)
		return err
	})
	if err == nil {
		l.see(seq)
		return seq, nil
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return 0, l.unknown(err)
	}
	return l.refused(ctx, last, b, api)
}

// What the server answers to an append, by its error code.
const (
	inProcess    jetstream.ErrorCode = 10164 // an earlier write is not settled yet
	storeFailed  jetstream.ErrorCode = 10077 // over the stream's limits
	noStorage    jetstream.ErrorCode = 10047
	noResources  jetstream.ErrorCode = 10023
	tooLarge     jetstream.ErrorCode = 10054
	wrongLastSeq jetstream.ErrorCode = 10071
)

// publish writes data once, and again for as long as the server says that an
// earlier write of the stream is still in process.
func (l *Log) publish(ctx context.Context, last uint64, data []byte) (uint64, error) {
	msg := &nats.Msg{Subject: subject.Journal(l.partition), Data: data, Header: nats.Header{
		jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(last, 10)},
	}}
	const most = 20
	for tries := 1; ; tries++ {
		ack, err := l.js.PublishMsg(ctx, msg, jetstream.WithRetryAttempts(0))
		if err == nil {
			return ack.Sequence, nil
		}
		var api *jetstream.APIError
		if !errors.As(err, &api) || api.ErrorCode != inProcess || tries == most {
			return 0, err
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(time.Duration(tries) * time.Millisecond):
		}
	}
}

// see notes that the log has reached seq.
func (l *Log) see(seq uint64) {
	for {
		old := l.seen.Load()
		if seq <= old || l.seen.CompareAndSwap(old, seq) {
			return
		}
	}
}

// refused turns the server's refusal into the contract's error, or into
// success when the batch it refused is the newest already.
func (l *Log) refused(ctx context.Context, last uint64, b journal.Sealed, api *jetstream.APIError) (uint64, error) {
	switch api.ErrorCode {
	case wrongLastSeq:
		seq, newest, err := l.past(ctx, last)
		if err != nil || seq == last {
			return 0, l.unknown(errors.Join(api, err))
		}
		if seq == last+1 && newest.Id == b.Id {
			return seq, nil
		}
		return 0, fault.New("journal/moved", "journal of partition %d ends at %d, not at %d", l.partition, seq, last)
	case storeFailed, noStorage, noResources:
		return 0, fault.New("journal/full", "journal of partition %d is full", l.partition).Because(api)
	case tooLarge:
		return 0, journal.TooLarge(l.partition, len(b.Encoding()))
	}
	return 0, l.unknown(api)
}

// past is Last that waits for the log to grow past last: where several hosts
// keep it, a write is refused as soon as another stands before it, and that may
// not be committed yet, or be the same.
func (l *Log) past(ctx context.Context, last uint64) (seq uint64, newest *loomv1.Batch, err error) {
	for began := time.Now(); ; {
		seq, newest, err = l.Last(ctx)
		if err != nil || seq != last || !l.joint || time.Since(began) > transient.Election {
			return seq, newest, err
		}
		if err := pause(ctx); err != nil {
			return 0, nil, err
		}
	}
}

func (l *Log) unknown(err error) error {
	return fault.New("journal/unknown", "journal of partition %d: the outcome of an append is unknown", l.partition).Because(err)
}

func (l *Log) closed(err error) error {
	return fault.New("journal/closed", "journal of partition %d is closed", l.partition).Because(err)
}

// failed names the reason why a read cannot go on.
func (l *Log) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case l.nc.IsClosed(), errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, jetstream.ErrStreamNotFound):
		return l.closed(err)
	}
	return fault.New("host/unavailable", "journal of partition %d cannot be read", l.partition).Because(err)
}

// errBehind says that the stream's leader has not read all of it yet.
var errBehind = fmt.Errorf("the leader is behind what was acknowledged: %w", transient.ErrAgain)

// Last is that of [journal.Log]. It asks the stream's leader, and where there
// are several hosts waits for its election, and for it to know all that this
// log has seen.
func (l *Log) Last(ctx context.Context) (seq uint64, b *loomv1.Batch, err error) {
	if !l.joint {
		return l.last(ctx)
	}
	least := l.seen.Load()
	retried := transient.Retry(ctx, transient.Election, func(ctx context.Context) error {
		if seq, b, err = l.last(ctx); err == nil && seq < least {
			return errBehind
		}
		return err
	})
	if errors.Is(retried, context.DeadlineExceeded) {
		err = l.failed(ctx, retried)
	}
	return seq, b, err
}

func (l *Log) last(ctx context.Context) (uint64, *loomv1.Batch, error) {
	msg, err := l.stream.GetLastMsgForSubject(ctx, subject.Journal(l.partition))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		if msg, err = l.first(ctx); msg == nil && err == nil {
			return 0, nil, nil
		}
	}
	if fault.Code(err) != "" {
		return 0, nil, err
	}
	if err != nil {
		return 0, nil, l.failed(ctx, err)
	}
	l.see(msg.Sequence)
	b, err := journal.Decode(msg.Sequence, msg.Data)
	return msg.Sequence, b, err
}

// Unwritten says that the log looks as after a first write for which the disk had no
// room: the server counts that one, and then refuses every other first. Only who knows
// that no batch was ever acknowledged can tell it from a log that lost its only one.
func (l *Log) Unwritten(ctx context.Context) (bool, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return false, l.failed(ctx, err)
	}
	return info.State.Msgs == 0 && info.State.FirstSeq == 2 && info.State.LastSeq == 1, nil
}

// first tells a log that was just found empty from one that lost its batches:
// it returns nothing for the former, and the newest batch if the first one came
// meanwhile.
func (l *Log) first(ctx context.Context) (*jetstream.RawStreamMsg, error) {
	info, err := l.stream.Info(ctx)
	if err != nil || info.State.LastSeq == 0 {
		return nil, err
	}
	msg, err := l.stream.GetLastMsgForSubject(ctx, subject.Journal(l.partition))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fault.New("journal/chain", "journal sequence %d: stream %s counts up to it and holds nothing", info.State.LastSeq, Stream(l.partition))
	}
	return msg, err
}
