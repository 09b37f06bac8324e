package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// farBeat is how often a server that can be lost tells a waiting puller that it
	// lives. One in the process of the puller ends with it; homeBeat is for the request
	// that is lost all the same, with a consumer that is made anew.
	farBeat, homeBeat = 500 * time.Millisecond, 10 * time.Second
	// silences is after how many beats a puller gives its request up for lost.
	silences = 4
	// stay is how long a request waits at the server.
	stay = 30 * time.Second
)

// pullOne asks a pull consumer for one message and waits for it. It returns
// neither message nor error when the request ended without one. When ctx ends
// first, it gives back what crosses with that.
//
// The client library's own ways fall short here: its continuous consumers can
// lose a wake-up and sit idle with work pending, and its single requests lose
// the message that crosses with their end, which then comes again only after
// the time for acknowledgements.
func pullOne(ctx context.Context, nc *nats.Conn, stream, consumer string, beat time.Duration) (*nats.Msg, error) {
	inbox, answers := nc.NewInbox(), make(chan *nats.Msg, 8)
	sub, err := nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, err
	}
	request := fmt.Appendf(nil, `{"batch":1,"expires":%d,"idle_heartbeat":%d}`, stay, beat)
	if err := nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+stream+"."+consumer, inbox, request); err != nil {
		return nil, errors.Join(err, sub.Unsubscribe())
	}
	msg, err := answer(ctx, answers, silences*beat)
	if msg != nil {
		return msg, sub.Unsubscribe() // nothing more can come
	}
	_ = sub.Drain()
	if flushed := flush(context.WithoutCancel(ctx), nc); flushed != nil {
		return nil, errors.Join(err, flushed)
	}
	for len(answers) > 0 {
		giveBack(<-answers)
	}
	return nil, err
}

// beat is how often the server is to say that it lives.
func (b *Broker) beat() time.Duration {
	if b.config.External == nil && !b.config.clustered() {
		return homeBeat
	}
	return farBeat
}

// answer waits for a message, the end of its request, or that of ctx. After so much
// silence it fails.
func answer(ctx context.Context, answers <-chan *nats.Msg, silence time.Duration) (*nats.Msg, error) {
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-quiet.C:
			return nil, jetstream.ErrNoHeartbeat
		case m := <-answers:
			if isDelivery(m) {
				return m, nil
			}
			if err := status(m); !errors.Is(err, errAlive) {
				return nil, err
			}
			quiet.Reset(silence)
		}
	}
}

// isDelivery tells a stream's message from what the server says about a
// request.
func isDelivery(m *nats.Msg) bool { return strings.HasPrefix(m.Reply, "$JS.ACK.") }

// giveBack makes the server deliver m again.
func giveBack(m *nats.Msg) {
	if isDelivery(m) {
		_ = m.Nak()
	}
}

// errAlive is the status of a server that has no message yet.
var errAlive = errors.New("the server lives")

// status returns what a message without a body says: nil for a request that
// is over.
func status(m *nats.Msg) error {
	words := m.Header.Get("Description")
	switch m.Header.Get("Status") {
	case "100":
		return errAlive
	case "404", "408":
		return nil
	case "503":
		return nats.ErrNoResponders
	}
	switch {
	case strings.EqualFold(words, "Leadership Change"):
		return jetstream.ErrConsumerLeadershipChanged
	case strings.EqualFold(words, "Server Shutdown"):
		return jetstream.ErrServerShutdown
	}
	if strings.EqualFold(words, "Consumer Deleted") {
		return jetstream.ErrConsumerDeleted
	}
	return fmt.Errorf("the server says %s %q", m.Header.Get("Status"), words)
}
