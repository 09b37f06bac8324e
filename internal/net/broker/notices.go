package broker

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// noticesPending is how many notices may be on their way to their stream.
const noticesPending = 4096

// PublishNotice sends a notice to whoever listens and to the stream that keeps
// it for replay. It does not wait for the stream; it blocks only while
// noticesPending notices are on their way. The stream takes a notice once: its
// position is the message's id. One that the stream refuses is counted by
// [Broker.NoticesLost], and still in the journal.
func (b *Broker) PublishNotice(ctx context.Context, n *loomv1.Notice) error {
	to, err := noticeSubject(n)
	if err != nil {
		return err
	}
	data, err := proto.Marshal(n)
	if err != nil {
		return fault.New("internal/error", "notice cannot be encoded").Because(err)
	}
	msg := &nats.Msg{Subject: to, Data: data, Header: notice.Headers(n)}
	msg.Header[jetstream.MsgIDHeader] = []string{notice.FormatPosition(n.Position)}
	if _, err := b.js[core].PublishMsgAsync(msg, jetstream.WithStallWait(answerWithin)); err != nil {
		return fault.New("host/unavailable", "the notices' stream does not keep up").Because(err)
	}
	return ctx.Err()
}

func noticeSubject(n *loomv1.Notice) (string, error) {
	project, err := subject.Parse("project", n.GetEvent().GetProject())
	if err != nil {
		return "", err
	}
	kind, err := subject.Parse("kind", n.GetKind())
	if err != nil {
		return "", err
	}
	bead := subject.NoBead
	if id := n.GetEvent().GetBead(); id != "" {
		if bead, err = subject.Parse("bead", id); err != nil {
			return "", err
		}
	}
	return subject.Notice(int(n.GetPosition().GetPartition()), project, bead, kind), nil
}

// noticeFailed counts a notice that its stream did not take.
func (b *Broker) noticeFailed(_ jetstream.JetStream, msg *nats.Msg, err error) {
	if b.lost.Add(1) == 1 {
		b.log.Warn("a notice is not kept for replay; the journal has it", "subject", msg.Subject, "error", err)
	}
}

// NoticesLost returns how many notices the stream did not take since Start.
func (b *Broker) NoticesLost() uint64 { return b.lost.Load() }
