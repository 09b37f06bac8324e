package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	"github.com/loomrun/loom/internal/store/natsjournal"
)

// progressEvery is how often a start that waits says for what.
const progressEvery = 5 * time.Second

// Quorum returns nil when the deployment takes writes: when the streams have a
// leader, and more than half of each journal's hosts are there. Otherwise it
// returns cluster/no-quorum, which says what is missing, within answerWithin
// or when ctx ends. A host that is alone always has a quorum.
func (b *Broker) Quorum(ctx context.Context) error {
	if !b.Clustered() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := transient.Retry(ctx, answerWithin/2, b.leader); err != nil {
		return b.noQuorum(err)
	}
	for p := range b.config.Dir.Manifest().Partitions {
		if err := b.led(ctx, core, natsjournal.Stream(p)); err != nil {
			return b.noQuorum(err)
		}
	}
	return nil
}

func (b *Broker) noQuorum(err error) error {
	return fault.New("cluster/no-quorum", "the cluster takes no writes: %s", b.presentHosts()).Because(err).
		Want("start the hosts that are missing")
}

// leader returns nil when the streams' configuration has a leader. While there
// is none nobody answers, so each try is bounded.
func (b *Broker) leader(ctx context.Context) error {
	return within(ctx, answerWithin, func(ctx context.Context) error {
		_, err := b.js[core].AccountInfo(ctx)
		return err
	})
}

// led returns nil when a stream has a leader that most of its replicas follow.
func (b *Broker) led(ctx context.Context, account, name string) error {
	s, err := b.js[account].Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	c := s.CachedInfo().Cluster
	if c == nil {
		return nil
	}
	there := 1
	for _, r := range c.Replicas {
		if !r.Offline {
			there++
		}
	}
	if c.Leader == "" || there*2 <= len(c.Replicas)+1 {
		return fmt.Errorf("stream %s: leader %q and %d of %d replicas are there", name, c.Leader, there, len(c.Replicas)+1)
	}
	return nil
}

// awaitQuorum blocks until the streams' configuration has a leader.
func (b *Broker) awaitQuorum(ctx context.Context) error {
	if !b.Clustered() {
		return nil
	}
	return b.patiently(ctx, "the streams have no leader yet", b.leader)
}

// patiently calls f, which is harmless to repeat, until it succeeds, fails for
// good, or ctx ends, and says now and then what it waits for. A host that is
// alone waits for its disk alone, see [Broker.slowly].
func (b *Broker) patiently(ctx context.Context, what string, f func(context.Context) error) error {
	if !b.Clustered() {
		return b.slowly(ctx, what, f)
	}
	var said time.Time
	err := transient.Watch(ctx, 0, f, func(err error) {
		if time.Since(said) > progressEvery {
			said = time.Now()
			b.log.Info("waiting for the cluster: "+what, "hosts", b.presentHosts(), "because", err)
		}
	})
	if err != nil && ctx.Err() != nil {
		return fault.New("cluster/no-quorum", "%s: %s", what, b.presentHosts()).Because(errors.Join(ctx.Err(), err)).
			Want("start the hosts that are missing")
	}
	return err
}

// slowly calls f again as long as the server of a host that is alone does not
// answer, for startWithin: its disk may take its time over what is new. Any
// answer is the last one.
func (b *Broker) slowly(ctx context.Context, what string, f func(context.Context) error) error {
	for began := time.Now(); ; {
		err := within(ctx, answerWithin, f)
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil || time.Since(began) > startWithin {
			return err
		}
		b.log.Warn("waiting for the disk: "+what, "since", time.Since(began).Round(time.Second))
	}
}

// within calls f with a context that ends after d.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// throughElection calls f, which is harmless to repeat, again while a cluster
// elects somebody. A host that is alone calls it once.
func (b *Broker) throughElection(ctx context.Context, f func(context.Context) error) error {
	if !b.Clustered() {
		return f(ctx)
	}
	return transient.Retry(ctx, transient.Election, f)
}

// presentHosts says which hosts of the cluster are connected, for people.
func (b *Broker) presentHosts() string {
	if b.config.External != nil {
		return "its NATS servers are sought at " + b.config.External.Servers
	}
	m := b.config.Dir.Manifest()
	connected := b.connected()
	text := fmt.Sprintf("%d of %d hosts are here", len(connected)+1, m.Cluster.Hosts)
	if len(connected)+1 >= m.Cluster.Hosts {
		return text
	}
	return text + ", the others are sought at " + strings.Join(b.config.Cluster.others(), ", ")
}

// connected returns the names of the hosts that routes lead to, sorted.
func (b *Broker) connected() []string {
	if b.server == nil {
		return nil
	}
	routes, err := b.server.Routez(nil)
	if err != nil {
		return nil
	}
	var names []string
	for _, r := range routes.Routes {
		if r.RemoteName != "" {
			names = append(names, r.RemoteName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
