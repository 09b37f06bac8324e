package broker

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
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
	b.statusOfList(ctx, s)
	s.Waiting = append(s.Waiting, b.waiting(s)...)
	s.Whole = s.Quorum && len(s.Waiting) == 0
	return s
}

func (b *Broker) statusOfStreams(ctx context.Context) []*loomv1.ClusterStream {
	all := b.config.streams()
	if b.Clustered() {
		all = append(all, b.config.deployment())
		all = append(all, b.unlisted(ctx, all)...)
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

// unlisted are the streams that others than the broker keep beside those in its
// table, but for the proofs of other hosts.
func (b *Broker) unlisted(ctx context.Context, table []stream) (list []stream) {
	for name := range b.js[core].StreamNames(ctx).Name() {
		known := slices.ContainsFunc(table, func(s stream) bool { return s.config.Name == name })
		if !known && !strings.HasPrefix(name, proofStream) {
			list = append(list, stream{account: core, config: jetstream.StreamConfig{Name: name}})
		}
	}
	return list
}

// statusOfList adds what the deployment's list says.
func (b *Broker) statusOfList(ctx context.Context, s *loomv1.ClusterStatus) {
	if b.trust == nil {
		return
	}
	list := b.Members()
	s.Generation, s.HostsWanted = list.Generation, uint32(list.Hosts)
	for _, r := range list.Removed {
		s.Removed = append(s.Removed, &loomv1.RemovedHost{Host: r.Host, At: timestamppb.New(r.At), By: r.By, Reason: r.Reason})
	}
	for _, m := range list.Members {
		h := hostIn(s, m.Host)
		h.Member, h.Address, h.Since = true, m.Address, timestamppb.New(m.Since)
	}
	for _, p := range b.Register(ctx) {
		h := hostIn(s, p.Host)
		h.LastSeen, h.Version = p.LastSeen, p.Version
	}
	slices.SortFunc(s.Hosts, func(x, y *loomv1.ClusterHost) int { return cmp.Compare(x.Host, y.Host) })
	counted, err := b.countedNow(ctx)
	if err != nil {
		s.Waiting = append(s.Waiting, "the hosts that keep streams have no leader")
	}
	for _, name := range counted {
		if _, ok := list.Member(name); !ok {
			s.Waiting = append(s.Waiting, fmt.Sprintf("host %s is none of the deployment's, and is counted", name))
		}
	}
}

// hostIn returns a host's entry, made if need be.
func hostIn(s *loomv1.ClusterStatus, name string) *loomv1.ClusterHost {
	i := slices.IndexFunc(s.Hosts, func(h *loomv1.ClusterHost) bool { return h.Host == name })
	if i < 0 {
		i, s.Hosts = len(s.Hosts), append(s.Hosts, &loomv1.ClusterHost{Host: name})
	}
	return s.Hosts[i]
}

// waiting returns what keeps the deployment from being whole, as s has it.
func (b *Broker) waiting(s *loomv1.ClusterStatus) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	members := 0
	for _, h := range s.Hosts {
		if h.Member {
			members++
		}
		if h.Member && !h.Connected {
			add("host %s is not here", h.Host)
		}
	}
	if free := int(s.HostsWanted) - members; b.Clustered() && free > 0 {
		add("%d more hosts have to join", free)
	}
	for _, t := range s.Streams {
		switch want := b.keepers(t.Name); {
		case t.Problem != "":
			add("stream %s: %s", t.Name, t.Problem)
		case t.Leader == "":
			add("stream %s has no leader", t.Name)
		case len(t.Replicas)+1 != want:
			add("stream %s is kept by %d hosts of %d", t.Name, len(t.Replicas)+1, want)
		}
		for _, r := range t.Replicas {
			if !r.Current || r.Offline {
				add("stream %s: host %s %s", t.Name, r.Host, lagging(r))
			}
		}
	}
	return list
}

func lagging(r *loomv1.ClusterReplica) string {
	if r.Offline {
		return "is not here"
	}
	return fmt.Sprintf("is behind by %d", r.Lag)
}

// keepers is how many hosts keep a stream.
func (b *Broker) keepers(stream string) int {
	if strings.HasPrefix(stream, proofStream) {
		return 1
	}
	return b.Replicas()
}

// wholeAgain is how often it is looked whether a deployment is whole.
const wholeAgain = 500 * time.Millisecond

// AwaitWhole blocks until all hosts that the deployment wants are there and
// every stream has all its replicas, each with all that its leader has. It
// returns cluster/no-quorum, with what is missing, when ctx ends before.
func (b *Broker) AwaitWhole(ctx context.Context) error {
	look := time.NewTicker(wholeAgain)
	defer look.Stop()
	for {
		s := b.Status(ctx)
		if s.Whole {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fault.New("cluster/no-quorum", "the deployment is not whole: %s", strings.Join(s.Waiting, "; ")).Because(ctx.Err())
		}
	}
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
		s.Leader, s.Replicas = info.Cluster.Leader, b.replicasOf(info.Cluster.Replicas)
	}
	return s
}

func (b *Broker) replicasOf(peers []*jetstream.PeerInfo) (list []*loomv1.ClusterReplica) {
	for _, p := range peers {
		list = append(list, &loomv1.ClusterReplica{Host: b.nameOf(p.Name), Current: p.Current, Offline: p.Offline, Lag: p.Lag})
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
