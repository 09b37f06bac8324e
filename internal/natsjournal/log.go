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
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Stream returns the name of a partition's stream.
func Stream(partition int) string { return fmt.Sprintf("LOOM_J_%02d", partition) }

// Log is a partition's journal on JetStream; it implements [journal.Log].
type Log struct {
	partition int
	nc        *nats.Conn
	js        jetstream.JetStream
	stream    jetstream.Stream
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
	stream, err := js.Stream(ctx, Stream(partition))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fault.New("data/stream-missing", "stream %s is missing", Stream(partition))
	}
	if err != nil {
		return nil, fault.New("host/unavailable", "journal of partition %d cannot be opened", partition).Because(err)
	}
	return &Log{partition: partition, nc: nc, js: js, stream: stream}, nil
}

// Partition returns the partition's number.
func (l *Log) Partition() int { return l.partition }

// Append is that of [journal.Log].
func (l *Log) Append(ctx context.Context, last uint64, b *loomv1.Batch) (uint64, error) {
	if l.nc.IsClosed() {
		return 0, l.closed(nats.ErrConnectionClosed)
	}
	data := journal.Encode(b)
	if len(data) > journal.MaxBytes {
		return 0, journal.TooLarge(l.partition, len(data))
	}
	seq, err := l.publish(ctx, last, data)
	if err == nil {
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
	}
}

// refused turns the server's refusal into the contract's error, or into
// success when the batch it refused is the newest already.
func (l *Log) refused(ctx context.Context, last uint64, b *loomv1.Batch, api *jetstream.APIError) (uint64, error) {
	switch api.ErrorCode {
	case wrongLastSeq:
		seq, newest, err := l.Last(ctx)
		if err != nil {
			return 0, l.unknown(err)
		}
		if seq == last+1 && newest.Id == b.Id {
			return seq, nil
		}
		return 0, fault.New("journal/moved", "journal of partition %d ends at %d, not at %d", l.partition, seq, last)
	case storeFailed, noStorage, noResources:
		return 0, fault.New("journal/full", "journal of partition %d is full", l.partition).Because(api)
	case tooLarge:
		return 0, journal.TooLarge(l.partition, len(journal.Encode(b)))
	}
	return 0, l.unknown(api)
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

// Last is that of [journal.Log]. It asks the stream's leader.
func (l *Log) Last(ctx context.Context) (uint64, *loomv1.Batch, error) {
	msg, err := l.stream.GetLastMsgForSubject(ctx, subject.Journal(l.partition))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return l.empty(ctx)
	}
	if err != nil {
		return 0, nil, l.failed(ctx, err)
	}
	b, err := journal.Decode(msg.Sequence, msg.Data)
	return msg.Sequence, b, err
}

// empty tells an empty log from one that lost its batches.
func (l *Log) empty(ctx context.Context) (uint64, *loomv1.Batch, error) {
	info, err := l.stream.Info(ctx)
	if err != nil {
		return 0, nil, l.failed(ctx, err)
	}
	if last := info.State.LastSeq; last > 0 {
		return 0, nil, fault.New("journal/chain", "journal sequence %d: stream %s counts up to it and holds nothing", last, Stream(l.partition))
	}
	return 0, nil, nil
}
