package host

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/staffing"
	"github.com/loomrun/loom/internal/net/lease"
	"github.com/loomrun/loom/internal/net/natswire"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fleet is this host among the hosts of its deployment: which of them live,
// and which serves what. A host that is alone has one without leases.
type fleet struct {
	leases *lease.Bucket // nil on a host that is alone
	wire   *natswire.Wire
	done   sync.WaitGroup

	mu   sync.Mutex
	self *lease.Held
	seen map[string]*loomv1.HostPresence // by name, this one too

	agreed atomic.Pointer[format.Agreed] // what all hosts read; nil on a host that is alone
}

// Leases of a deployment.
const (
	leaseBucket = "LOOM_LEASES"
	hostKeys    = "host."
	// leaseTTL is how long a host that died is thought to live. With what it
	// takes to recover a partition it makes less than 5 s.
	leaseTTL = 2500 * time.Millisecond
	// sayAgain is how often a host looks whether what it says of itself is
	// still so.
	sayAgain = time.Second
	// releaseSelf is how long a stopping host tries to say that it goes.
	releaseSelf = 2 * time.Second
)

// startFleet makes this host known to the others and learns of them.
func (h *Host) startFleet(ctx context.Context) error {
	h.fleet.seen = map[string]*loomv1.HostPresence{}
	if err := h.startLeaves(); err != nil {
		return err
	}
	if !h.broker.Clustered() {
		return nil
	}
	js, err := jetstream.New(h.broker.Core())
	if err != nil {
		return fmt.Errorf("host: %w", err)
	}
	h.fleet.leases, err = lease.Open(ctx, js, lease.Config{
		Bucket: leaseBucket, Replicas: h.broker.Replicas(), TTL: leaseTTL, Renew: leaseTTL / 5, Logger: h.log,
	})
	if err != nil {
		return err
	}
	if err := h.present(ctx); err != nil {
		return err
	}
	for _, e := range h.fleet.leases.Entries(hostKeys) { // before anybody is thought dead
		h.hostSeen(e)
	}
	h.fleet.done.Go(func() { h.fleet.leases.Watch(h.ctx, hostKeys, h.hostSeen) })
	h.fleet.done.Go(h.stayPresent)
	if err := h.startHearing(); err != nil {
		return err
	}
	h.broker.Sign(ctx, h.selfPresence)
	h.agree(ctx)
	h.fleet.done.Go(h.stayAgreed)
	return nil
}

// hostKey is the lease of a host's name.
func hostKey(host string) string { return hostKeys + host }

// present takes the lease of this host's name, which is its own earlier start's
// or nobody's.
func (h *Host) present(ctx context.Context) error {
	held, err := h.fleet.leases.Acquire(ctx, hostKey(h.name()), h.presenceOf(), lease.Own(func([]byte) bool { return true }))
	if err != nil {
		return err
	}
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	h.fleet.self = held
	return nil
}

// stayPresent keeps what this host says of itself true, and says it again when
// the others may have thought it dead.
func (h *Host) stayPresent() {
	look := time.NewTicker(sayAgain)
	defer look.Stop()
	said := ""
	for {
		select {
		case <-h.fleet.self.Lost():
			if h.ctx.Err() != nil {
				return
			}
			h.log.Warn("this host was thought dead; what it held is given to others")
			if err := h.present(h.ctx); err != nil {
				return // the host stops
			}
			said = ""
			h.presence.again()
		case <-look.C:
			now := h.presenceOf()
			if string(now) != said && h.fleet.self.Set(h.ctx, now) == nil {
				said = string(now)
			}
		case <-h.ctx.Done():
			return
		}
	}
}

// presenceOf is what this host says of itself, encoded.
func (h *Host) presenceOf() []byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(h.selfPresence())
	if err != nil {
		h.log.Error("this host cannot say what it is", "error", err)
	}
	return data
}

func (h *Host) selfPresence() *loomv1.HostPresence {
	m := h.dir.Manifest()
	p := &loomv1.HostPresence{
		Host: m.Host, Epoch: m.Starts, Version: Version, StartedAt: timestamppb.New(h.started), Labels: h.config.Labels, Own: h.ownAgents(),
		Url: h.broker.URL(), Alive: true, Format: h.config.Format.Number(), Unsandboxed: h.config.Unsandboxed,
	}
	h.mu.Lock()
	pools, web := h.pools, h.web
	h.mu.Unlock()
	projects := h.way()
	if pools != nil {
		p.Roles = h.counts()
	}
	if projects != nil {
		for _, n := range projects.Here() {
			p.Partitions = append(p.Partitions, uint32(n))
		}
	}
	if web != nil {
		p.Http = web.URL()
	}
	return p
}

// said is what a host says of itself, or said last when it is gone; nil when
// that cannot be understood.
func (h *Host) said(e lease.Entry) *loomv1.HostPresence {
	p := &loomv1.HostPresence{}
	if len(e.Value) == 0 && !e.Alive {
		h.fleet.mu.Lock()
		defer h.fleet.mu.Unlock()
		if p = proto.CloneOf(h.fleet.seen[strings.TrimPrefix(e.Key, hostKeys)]); p != nil {
			p.Alive = false
		}
		return p
	}
	if err := proto.Unmarshal(e.Value, p); err != nil || hostKey(p.Host) != e.Key {
		h.log.Warn("a host's word is not understood", "lease", e.Key, "error", err)
		return nil
	}
	p.Alive = e.Alive
	return p
}

// hostSeen hears of a host that came, changed or went.
func (h *Host) hostSeen(e lease.Entry) {
	p := h.said(e)
	if p == nil {
		return
	}
	if p.Alive && p.Host != h.name() {
		h.staff.since(p.Host, p.Epoch)
	}
	h.fleet.mu.Lock()
	old := h.fleet.seen[p.Host]
	h.fleet.seen[p.Host] = p
	h.fleet.mu.Unlock()
	if old.GetAlive() == p.Alive && old.GetEpoch() == p.Epoch {
		return
	}
	if p.Alive { // a host that is not heard of may only be slow: its start is over when another lives
		h.fleet.wire.HostAlive(p.Host, p.Epoch)
	}
	h.log.Info("host", "name", p.Host, "epoch", p.Epoch, "alive", p.Alive)
	if projects := h.way(); projects != nil {
		projects.MembersChanged()
	}
	h.staff.wake()
}

// forget is told of a host that was taken out of the deployment: all its starts
// are over.
func (h *Host) forget(host string) {
	if host == "" {
		return
	}
	h.fleet.wire.HostDead(host, math.MaxUint64)
	h.fleet.mu.Lock()
	delete(h.fleet.seen, host)
	h.fleet.mu.Unlock()
}

// members are the hosts that live and can serve partitions.
func (h *Host) members() actors.Members {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	m := actors.Members{}
	for name, p := range h.fleet.seen {
		if p.Alive {
			m[name] = p.Epoch
		}
	}
	return m
}

// hosts returns all hosts that are known, by name; this one as it is now.
func (h *Host) hosts() []*loomv1.HostPresence {
	h.fleet.mu.Lock()
	seen := maps.Clone(h.fleet.seen)
	h.fleet.mu.Unlock()
	if seen == nil {
		seen = map[string]*loomv1.HostPresence{}
	}
	seen[h.name()] = h.selfPresence()
	list := make([]*loomv1.HostPresence, 0, len(seen))
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, proto.CloneOf(seen[name]))
	}
	return append(list, h.leaves.list()...)
}

// registeredHosts returns all hosts that belong to the deployment, by name: what
// those that live say of themselves, and what the others said last.
func (h *Host) registeredHosts(ctx context.Context) []*loomv1.HostPresence {
	list, kept := h.hosts(), h.broker.Register(ctx)
	for _, r := range kept {
		i := slices.IndexFunc(list, func(p *loomv1.HostPresence) bool { return p.Host == r.Host })
		switch {
		case i < 0:
			list = append(list, r)
		case list[i].Alive:
			list[i].Since, list[i].Address, list[i].LastSeen = r.Since, r.Address, timestamppb.Now()
		default:
			list[i].Since, list[i].Address, list[i].LastSeen = r.Since, r.Address, r.LastSeen
		}
	}
	if kept != nil { // those that were taken out are none of the deployment's
		list = slices.DeleteFunc(list, func(p *loomv1.HostPresence) bool {
			return !p.Alive && !p.Leaf && !slices.ContainsFunc(kept, func(r *loomv1.HostPresence) bool { return r.Host == p.Host })
		})
	}
	slices.SortFunc(list, func(a, b *loomv1.HostPresence) int { return cmp.Compare(a.Host, b.Host) })
	return list
}

func (h *Host) name() string { return h.dir.Manifest().Host }

// stopFleet says that this host goes. What it held of partitions has been
// handed over before.
func (h *Host) stopFleet(ctx context.Context) {
	if h.fleet.wire != nil {
		h.fleet.wire.Close()
	}
	if h.fleet.leases == nil {
		return
	}
	h.fleet.done.Wait()
	if h.fleet.self != nil {
		ctx, cancel := context.WithTimeout(ctx, releaseSelf)
		defer cancel()
		_ = h.fleet.self.Release(ctx) // else it ends by itself
	}
	h.fleet.leases.Close()
}

// leaseTurn is the lease of a partition, as the partition sees it.
type leaseTurn struct {
	h         *Host
	partition int
}

// standBack is how long a host waits for each living host that comes before it
// in a partition's order, so that partitions are spread when hosts start at
// about the same time.
const standBack = 150 * time.Millisecond

// partitionKey is the lease of a partition.
func partitionKey(n int) string { return fmt.Sprintf("partition.%02d", n) }

// Acquire implements actors.Lease.
func (t leaseTurn) Acquire(ctx context.Context) (actors.Tenure, error) {
	key, name := partitionKey(t.partition), t.h.name()
	if err := t.h.hearing.mayServe(ctx); err != nil {
		return nil, err
	}
	rank := staffing.Rank(key, name, slices.Collect(maps.Keys(t.h.members())))
	select {
	case <-time.After(time.Duration(rank) * standBack):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	held, err := t.h.fleet.leases.Acquire(ctx, key, []byte(name), lease.Own(func(old []byte) bool { return string(old) == name }))
	if err != nil {
		return nil, err
	}
	return tenure{held}, nil
}

type tenure struct{ *lease.Held }

// Release implements actors.Tenure: a lease that is not given back ends by
// itself.
func (t tenure) Release(ctx context.Context) { _ = t.Held.Release(ctx) }
