package natswire

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// A caller waits so long before it asks again.
const (
	leastPause = 20 * time.Millisecond
	mostPause  = 500 * time.Millisecond
)

// Call asks whoever bears a name, and returns the answer. Nobody bears it, or
// is too busy, or dies over it: then it asks again, with the same request id,
// until ctx ends. So the request may be worked on more than once and by more
// than one host, and must be harmless when it is.
//
// It returns wire/unanswered when ctx ended first, with the last reason and
// ctx's error; at once wire/too-large for a request, or an answer, that the
// server does not carry, wire/unknown-type for one that the other host does
// not know, internal/error for one that failed there, and id/malformed for a
// name that is no token.
func (w *Wire) Call(ctx context.Context, name string, m proto.Message) (proto.Message, error) {
	token, err := subject.Parse("name", name)
	if err != nil {
		return nil, err
	}
	e, err := w.seal(&loomv1.Envelope{
		Kind: loomv1.EnvelopeKind_ENVELOPE_KIND_REQUEST, Request: rand.Text(), Headers: Headers(ctx), Sender: &loomv1.ActorRef{Address: w.address},
	}, m)
	if err != nil {
		return nil, err
	}
	c := &call{w: w, subj: subject.Name(token), e: e, answers: make(chan *nats.Msg, 8)}
	reply := w.replies.expect(func(m *nats.Msg) {
		select {
		case c.answers <- m:
		default: // signs of life that nobody looks at
		}
	})
	defer w.replies.forget(reply)
	return c.run(ctx, reply)
}

// call is a request until it is answered.
type call struct {
	w       *Wire
	subj    string
	e       *loomv1.Envelope
	answers chan *nats.Msg
}

func (c *call) run(ctx context.Context, reply string) (proto.Message, error) {
	pause := leastPause
	for {
		answer, err := c.once(ctx, reply)
		if err == nil {
			return open(answer)
		}
		if fault.Status(err) != fault.Unavailable || c.w.over.Err() != nil {
			return nil, err
		}
		if !c.rest(ctx, pause) {
			return nil, fault.New("wire/unanswered", "%s was not answered: %v", c.e.Type, err).At(c.subj).Because(ctx.Err())
		}
		pause = min(2*pause, mostPause)
	}
}

// rest waits before the next try; an answer to an earlier one may come yet.
func (c *call) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// once sends the request and waits for as long as there are signs of life.
func (c *call) once(ctx context.Context, reply string) (*loomv1.Envelope, error) {
	c.e.Within = durationpb.New(longest)
	if until, ok := ctx.Deadline(); ok {
		c.e.Within = durationpb.New(min(time.Until(until), longest))
	}
	if err := c.w.nc.PublishRequest(c.subj, reply, encode(c.e)); err != nil {
		return nil, fault.New("host/unavailable", "the request cannot be sent").Because(err)
	}
	silence := time.NewTimer(c.w.config.Silence)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, fault.New("wire/unanswered", "there was no time for an answer")
		case <-c.w.over.Done():
			return nil, fault.New("host/stopping", "the host is taken off the wire")
		case <-silence.C:
			return nil, fault.New("wire/unanswered", "nothing was heard for %v", c.w.config.Silence)
		case m := <-c.answers:
			answer, err := c.read(m)
			if answer != nil || err != nil {
				return answer, err
			}
			silence.Reset(c.w.config.Silence)
		}
	}
}

// read makes of what came the answer, an error, or neither: a sign of life.
func (c *call) read(m *nats.Msg) (*loomv1.Envelope, error) {
	if nobody(m) {
		return nil, fault.New("wire/unanswered", "nobody bears the name")
	}
	e, err := parse(m.Data)
	if err != nil {
		return nil, err
	}
	switch e.Kind {
	case loomv1.EnvelopeKind_ENVELOPE_KIND_REPLY:
		return e, nil
	case loomv1.EnvelopeKind_ENVELOPE_KIND_REFUSED:
		return nil, fault.FromProto(e.Error)
	default:
		return nil, nil
	}
}
