package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/transient"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/store/datadir"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// listKey is where the deployment keeps the list of its hosts.
const listKey = "hosts"

// Members returns the list of the deployment's hosts as this host knows it; the
// zero list on a host that is alone.
func (b *Broker) Members() membership.List {
	if b.trust == nil {
		return membership.List{}
	}
	return b.trust.now()
}

// enlist has this host in the deployment's list. A host for which there is no
// place leaves the streams' hosts again.
func (b *Broker) enlist(ctx context.Context) error {
	if b.trust == nil {
		return nil
	}
	self, err := b.trust.member.Self()
	if err != nil {
		return fault.New("data/manifest", "the host's certificate cannot be used").At(b.config.Dir.Path()).Because(err)
	}
	me := membership.Member{Host: self.Host, Key: self.Key, Address: b.config.Cluster.told(), Since: time.Now().UTC()}
	err = b.patiently(ctx, "the list of hosts cannot be changed", func(ctx context.Context) error {
		return b.enter(ctx, me)
	})
	if code := fault.Code(err); code == "cluster/full" || code == "cluster/removed" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), evictWithin)
		defer cancel()
		return errors.Join(err, b.evict(ctx, me.Host))
	}
	if err == nil {
		b.oddRoutes(b.trust.now())
	}
	return err
}

// told is what the others are told of where they meet this host; empty when
// that means nothing to them.
func (c Cluster) told() string {
	if c.Advertise != "" {
		return c.Advertise
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); err != nil || ip != nil && ip.IsUnspecified() {
		return ""
	}
	return c.Listen
}

// enter has m in the list, if nobody else changes it meanwhile.
func (b *Broker) enter(ctx context.Context, m membership.Member) error {
	list, revision, err := b.readList(ctx)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		manifest := b.config.Dir.Manifest()
		list, revision, err = membership.New(manifest.Lineage, manifest.Cluster.Hosts, b.trust.member.Authority), 0, nil
	}
	if err != nil {
		return err
	}
	if list, changed, err := list.Enlist(m); err != nil || !changed {
		b.trust.take(list)
		return err
	} else if err := b.writeList(ctx, list, revision); err != nil {
		return err
	}
	return nil
}

// readList returns the deployment's list and its revision.
func (b *Broker) readList(ctx context.Context) (membership.List, uint64, error) {
	entry, err := b.deployment.Get(ctx, listKey)
	if err != nil {
		return membership.List{}, 0, err
	}
	list, err := membership.Decode(entry.Value())
	return list, entry.Revision(), err
}

// writeList keeps a list, if that of revision is still the deployment's, and
// tells the others.
func (b *Broker) writeList(ctx context.Context, list membership.List, revision uint64) error {
	if _, err := b.deployment.Update(ctx, listKey, list.Encode(), revision); err != nil {
		return faster(err)
	}
	b.trust.take(list)
	b.tellList()
	return nil
}

// ChangeMembers changes which hosts belong to the deployment, and returns when
// that is durable; a host that is removed counts for no stream any more then.
// It returns what membership.List.Apply refuses, cluster/change when a stream
// would lose what it has acknowledged, and cluster/no-quorum when ctx ends
// before all is done: then it can be said again.
func (b *Broker) ChangeMembers(ctx context.Context, c membership.Change, by string) (membership.List, error) {
	if b.config.External != nil {
		return membership.List{}, fault.New("cluster/mode", "the deployment is on NATS servers that somebody else runs: whoever has its credentials is a host of it").
			At(b.config.Dir.Path())
	}
	if !b.Clustered() {
		return membership.List{}, fault.New("cluster/mode", "the host is alone").At(b.config.Dir.Path()).
			Want("make it a cluster: loom cluster init --from DATA")
	}
	facts, err := b.facts(ctx, by)
	if err != nil {
		return membership.List{}, err
	}
	if _, _, err := b.trust.now().Apply(c, facts); err != nil {
		return membership.List{}, err
	}
	if _, gone := b.trust.now().Gone(c.Remove); c.Remove != "" && !gone {
		if err := b.survive(ctx, c.Remove); err != nil {
			return membership.List{}, err
		}
	}
	err = b.patiently(ctx, "the list of hosts cannot be changed", func(ctx context.Context) error {
		return b.change(ctx, c, facts)
	})
	if err == nil && c.Remove != "" {
		err = b.bury(ctx, c.Remove)
	}
	return b.trust.now(), err
}

// change applies a change to the deployment's list, if nobody else changes it
// meanwhile.
func (b *Broker) change(ctx context.Context, c membership.Change, f membership.Facts) error {
	list, revision, err := b.readList(ctx)
	if err != nil {
		return err
	}
	if list, changed, err := list.Apply(c, f); err != nil || !changed {
		b.trust.take(list)
		return err
	} else if err := b.writeList(ctx, list, revision); err != nil {
		return err
	}
	return nil
}

// facts are what this host sees of the others.
func (b *Broker) facts(ctx context.Context, by string) (membership.Facts, error) {
	seen, err := b.counted(ctx)
	here := append(b.connected(), b.config.Dir.Manifest().Host)
	return membership.Facts{Replicas: b.Replicas(), Here: here, Seen: seen, At: time.Now().UTC(), By: by}, err
}

// survive refuses to remove a host while a stream has not enough others that
// have all of it. An election is waited for.
func (b *Broker) survive(ctx context.Context, host string) error {
	var weak error
	err := transient.Retry(ctx, transient.Election, func(ctx context.Context) error {
		for _, s := range b.statusOfStreams(ctx) {
			if weak = survives(s, host); weak != nil {
				return fmt.Errorf("%w: %w", weak, transient.ErrAgain)
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}
	return errors.Join(weak, ctx.Err())
}

// survives returns why a stream would not be safe without a host.
func survives(s *loomv1.ClusterStream, host string) error {
	if s.Problem != "" || s.Leader == "" {
		return fault.New("cluster/change", "stream %s has no leader", s.Name).At(host).Want("wait until the deployment is whole: loom cluster status").
			Because(errors.New(s.Problem))
	}
	sound := 1
	for _, r := range s.Replicas {
		if r.Host != host && r.Current && !r.Offline {
			sound++
		}
	}
	has := s.Leader == host || slices.ContainsFunc(s.Replicas, func(r *loomv1.ClusterReplica) bool { return r.Host == host })
	if all := len(s.Replicas) + 1; has && (s.Leader == host || sound*2 <= all) {
		return fault.New("cluster/change", "%d of the %d hosts that keep stream %s have all of it", sound, all, s.Name).At(host).
			Want("wait until the others are whole: loom cluster status")
	}
	return nil
}

// bury takes a removed host out of all streams.
func (b *Broker) bury(ctx context.Context, host string) error {
	if err := b.evict(ctx, host); err != nil {
		return err
	}
	return b.patiently(ctx, "what host "+host+" alone kept is not forgotten yet", func(ctx context.Context) error {
		return b.forgetProof(ctx, host)
	})
}

// forgetProof deletes the proof that a removed host alone kept. Nobody is left
// to answer for it, so it is looked whether it is gone.
func (b *Broker) forgetProof(ctx context.Context, host string) error {
	name := proofStream + "_" + host
	for found := range b.js[core].StreamNames(ctx).Name() {
		if found != name {
			continue
		}
		asking, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		err := b.js[core].DeleteStream(asking, name)
		if err != nil && !transient.Is(err) && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		return fmt.Errorf("stream %s is still there: %w", name, transient.ErrAgain)
	}
	return nil
}

// Join is what a host must know to join, but for the secrets: the figures of
// the deployment, where its hosts meet, and who they are.
func (b *Broker) Join() datadir.Join {
	m, list := b.config.Dir.Manifest(), b.Members()
	return datadir.Join{
		Deployment: m.Deployment, Cluster: m.Cluster.Name, Hosts: list.Hosts, Replicas: m.Cluster.Replicas,
		Partitions: m.Partitions, Epoch: m.Epoch, CEO: m.CEO, Routes: list.Addresses(""), List: &list,
	}
}
