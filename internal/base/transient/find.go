package transient

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Missing is how long a cluster must say that something is missing before it
// is believed: the leader of its configuration may have been elected just now,
// or apply later than others what was made a moment ago.
const Missing = 10 * time.Second

// Joint says whether the server at the other end is one of a cluster.
func Joint(nc *nats.Conn) bool { return nc.ConnectedClusterName() != "" }

// Find returns a stream that should be there. It waits for an election of its
// leader. It returns jetstream.ErrStreamNotFound at once from a server that is
// alone, and after Missing from a cluster.
func Find(ctx context.Context, nc *nats.Conn, js jetstream.JetStream, name string) (s jetstream.Stream, err error) {
	if !Joint(nc) {
		return js.Stream(ctx, name)
	}
	began := time.Now()
	err = Retry(ctx, Election, func(ctx context.Context) (err error) {
		s, err = js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) && time.Since(began) < Missing {
			return errors.Join(err, ErrAgain)
		}
		return err
	})
	return s, err
}
