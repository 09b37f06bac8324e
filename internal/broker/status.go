package broker

import (
	"cmp"
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Status says how the streams are kept, as this host sees it: within
// answerWithin, or when ctx ends. What cannot be known just now is said in the
// place where it would stand.
func (b *Broker) Status(ctx context.Context) *loomv1.ClusterStatus {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m := b.config.Dir.Manifest()
	s := &loomv1.ClusterStatus{Deployment: m.Deployment, By: m.Host, HostsWanted: 1, Replicas: uint32(b.Replicas()), Quorum: true}
	if m.Cluster != nil {
		s.Cluster, s.HostsWanted = m.Cluster.Name, uint32(m.Cluster.Hosts)
	}
	if err := b.Quorum(ctx); err != nil {
		s.Quorum, s.Missing = false, err.Error()
	}
	s.Streams = b.statusOfStreams(ctx)
	s.Hosts = b.statusOfHosts(s.Streams)
	return s
}

func (b *Broker) statusOfStreams(ctx context.Context) []*loomv1.ClusterStream {
	all := b.config.streams()
	if b.Clustered() {
		all = append(all, b.config.deployment())
	}
	list := make([]*loomv1.ClusterStream, len(all))
	var group errgroup.Group
	for i, row := range all {
		group.Go(func() error {
			list[i] = b.statusOfStream(ctx, row)
			return nil
		})
	}
	_ = group.Wait()
	slices.SortFunc(list, func(x, y *loomv1.ClusterStream) int { return cmp.Compare(x.Name, y.Name) })
	return list
}

func (b *Broker) statusOfStream(ctx context.Context, row stream) *loomv1.ClusterStream {
	s := &loomv1.ClusterStream{Name: row.config.Name, Truth: row.truth}
	found, err := b.js[row.account].Stream(ctx, row.config.Name)
	if err != nil {
		s.Problem = err.Error()
		return s
	}
	info := found.CachedInfo()
	s.Messages, s.Leader = info.State.Msgs, b.config.Dir.Manifest().Host
	if info.Cluster != nil {
		s.Leader, s.Replicas = info.Cluster.Leader, replicasOf(info.Cluster.Replicas)
	}
	return s
}

func replicasOf(peers []*jetstream.PeerInfo) (list []*loomv1.ClusterReplica) {
	for _, p := range peers {
		list = append(list, &loomv1.ClusterReplica{Host: p.Name, Current: p.Current, Offline: p.Offline, Lag: p.Lag})
	}
	slices.SortFunc(list, func(x, y *loomv1.ClusterReplica) int { return cmp.Compare(x.Host, y.Host) })
	return list
}

// statusOfHosts sums up what the streams say of each host.
func (b *Broker) statusOfHosts(streams []*loomv1.ClusterStream) []*loomv1.ClusterHost {
	hosts := map[string]*loomv1.ClusterHost{}
	host := func(name string) *loomv1.ClusterHost {
		if hosts[name] == nil {
			hosts[name] = &loomv1.ClusterHost{Host: name}
		}
		return hosts[name]
	}
	host(b.config.Dir.Manifest().Host).Connected = true
	for _, name := range b.connected() {
		host(name).Connected = true
	}
	for _, s := range streams {
		if s.Leader != "" {
			host(s.Leader).Leads++
		}
		for _, r := range s.Replicas {
			if h := host(r.Host); !r.Current || r.Offline {
				h.Behind++
			}
		}
	}
	list := make([]*loomv1.ClusterHost, 0, len(hosts))
	for _, h := range hosts {
		list = append(list, h)
	}
	slices.SortFunc(list, func(x, y *loomv1.ClusterHost) int { return cmp.Compare(x.Host, y.Host) })
	return list
}
