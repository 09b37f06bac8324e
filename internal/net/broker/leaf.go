package broker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Workers returns the workers that may connect now, by name, each with the
// roles that it may work in, sorted.
func (b *Broker) Workers() map[string][]string {
	b.gate.mu.Lock()
	defer b.gate.mu.Unlock()
	all := map[string][]string{}
	for u := range maps.Values(b.gate.known) {
		if u.kind == worker && b.gate.now().Before(u.until) {
			all[u.name] = slices.Sorted(slices.Values(u.roles))
		}
	}
	return all
}

// WatchLeaves calls heard with what each leaf host says of itself, under the
// name of its credentials, until the broker closes. One call follows the other.
func (b *Broker) WatchLeaves(heard func(name string, said []byte)) error {
	_, err := b.Core().Subscribe(subject.Leaves(), func(m *nats.Msg) {
		heard(m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], m.Data)
	})
	if err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return flush(context.Background(), b.Core())
}

// PrepareWork makes it possible that work of a role is pulled, also where no
// agent of it is on this host.
func (b *Broker) PrepareWork(ctx context.Context, role string) error {
	token, err := subject.Parse("role", role)
	if err != nil {
		return err
	}
	if err := b.worker(ctx, token); err != nil {
		return fault.New("host/unavailable", "no work of role %q can be pulled yet", role).Because(err)
	}
	return nil
}

// Pull returns the next assignment of a role, over the connection of a worker.
// It blocks until there is one, or ctx ends, and then returns ctx's error. It
// returns host/unavailable when no host serves the queue.
func Pull(ctx context.Context, nc *nats.Conn, role string) (*Delivery, error) {
	for {
		msg, err := pullOne(ctx, nc, workStream, role, farBeat)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, fault.New("host/unavailable", "no work can be pulled for role %q", role).Because(err)
		case msg == nil:
			continue
		}
		a := new(loomv1.Assignment)
		if proto.Unmarshal(msg.Data, a) == nil {
			return &Delivery{a, msg}, nil
		}
		_ = msg.Term() // the journal can make it again
	}
}
