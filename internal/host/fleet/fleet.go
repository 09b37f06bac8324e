// Package fleet knows the hosts of a deployment: which of them live and what they say of
// themselves, leaf hosts too, who hears whom, what all of them read, and which of them
// serves what. It makes this host known to the others, and tells the projects which
// agents there are.
package fleet

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/format"
	"github.com/loomrun/loom/internal/core/membership"
	"github.com/loomrun/loom/internal/core/reach"
	"github.com/loomrun/loom/internal/net/lease"
	"github.com/loomrun/loom/internal/net/natswire"
	"github.com/loomrun/loom/internal/store/blob"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Broker is what a fleet asks of this host's broker.
type Broker interface {
	// Workers returns the workers that may connect now, by name, with their roles.
	Workers() map[string][]string
	// WatchLeaves calls heard with what each leaf host says of itself.
	WatchLeaves(heard func(name string, said []byte)) error
	// PrepareWork makes it possible that work of a role is pulled.
	PrepareWork(ctx context.Context, role string) error
	// Members returns the list of the deployment's hosts; the zero list on a host that
	// is alone.
	Members() membership.List
	// Register returns what each host of that list said of itself last.
	Register(ctx context.Context) []*loomv1.HostPresence
	// Sign has this host say there what it is, now and every minute.
	Sign(ctx context.Context, about func() *loomv1.HostPresence)
	// Yield has this host's server give up what one of to can lead.
	Yield(ctx context.Context, to []string)
}

// Config says which host a fleet is seen from, and what it works with.
type Config struct {
	Host    string // this one
	Epoch   uint64 // its start
	Version string
	Format  format.Build // what it reads

	// Self is what this host is now.
	Self func() *loomv1.HostPresence
	// Agents are its live agents, by role.
	Agents func() map[string]uint32
	// Do sends a command in its name.
	Do func(ctx context.Context, project string, cmd *loomv1.Command) error
	// Registered are the projects of the deployment.
	Registered func() []string
	// Projects is the way to them, nil before there is one.
	Projects func() *actors.Projects

	Broker Broker
	Blobs  blob.Store
	// Leases, Wire, Say and Listen are of a host that is not alone. Say tells all hosts
	// what Listen has them hear.
	Leases *lease.Bucket
	Wire   *natswire.Wire
	Say    func(data []byte)
	Listen func(hear func(data []byte)) error

	// Changed is called when a host came or went, LeavesChanged before that when a leaf
	// host did or has other agents.
	Changed, LeavesChanged func()
	Running                context.Context // ends all that the fleet does
	Log                    *slog.Logger
}

// Fleet is a host among the hosts of its deployment. All methods may be called at the
// same time.
type Fleet struct {
	// Reports tell the projects which agents there are.
	Reports *Reports

	config  Config
	leaves  leaves
	hearing hearing
	spread  spread
	done    sync.WaitGroup // of what runs beside

	mu   sync.Mutex
	self *lease.Held
	seen map[string]*loomv1.HostPresence // by name, this one too

	agreed atomic.Pointer[format.Agreed] // what all hosts read; nil on a host that is alone
}

const (
	hostKeys = "host."
	// sayAgain is how often a host looks whether what it says of itself is
	// still so.
	sayAgain = time.Second
	// releaseSelf is how long a stopping host tries to say that it goes.
	releaseSelf = 2 * time.Second
	// tellWithin bounds what a project is told, and what the deployment is asked.
	tellWithin = 5 * time.Second
)

// New returns a fleet that knows of nobody yet. Nobody is told anything before
// [Fleet.Start].
func New(c Config) *Fleet {
	f := &Fleet{config: c, seen: map[string]*loomv1.HostPresence{}}
	f.Reports = newReports(&f.config, &f.leaves)
	return f
}

// Clustered reports whether there are other hosts than leaf hosts.
func (f *Fleet) Clustered() bool { return f.config.Leases != nil }

// Start makes this host known to the others and learns of them.
func (f *Fleet) Start(ctx context.Context) error {
	if err := f.startLeaves(); err != nil {
		return err
	}
	if !f.Clustered() {
		return nil
	}
	if err := f.present(ctx); err != nil {
		return err
	}
	for _, e := range f.config.Leases.Entries(hostKeys) { // before anybody is thought dead
		f.hostSeen(e)
	}
	f.done.Go(func() { f.config.Leases.Watch(f.config.Running, hostKeys, f.hostSeen) })
	f.done.Go(f.stayPresent)
	if err := f.hearing.start(&f.config, &f.done); err != nil {
		return err
	}
	f.config.Broker.Sign(ctx, f.config.Self)
	f.agree(ctx)
	f.done.Go(f.stayAgreed)
	return nil
}

// Stop says that this host goes, after Running has ended. What it held of partitions
// has been handed over before.
func (f *Fleet) Stop(ctx context.Context) {
	if !f.Clustered() {
		return
	}
	f.done.Wait()
	if f.self != nil {
		ctx, cancel := context.WithTimeout(ctx, releaseSelf)
		defer cancel()
		_ = f.self.Release(ctx) // else it ends by itself
	}
	f.config.Leases.Close()
}

// hostKey is the lease of a host's name.
func hostKey(host string) string { return hostKeys + host }

// changed has everybody look who minds that a host came or went.
func (f *Fleet) changed() {
	if projects := f.config.Projects(); projects != nil {
		projects.MembersChanged()
	}
	f.config.Changed()
}

// Hearing is how the hosts heard each other when it was looked last.
func (f *Fleet) Hearing() reach.View { return f.hearing.now() }

// Deafen has this host not hear what others say of whom they hear, in tests.
func (f *Fleet) Deafen(others ...string) { f.hearing.deafen(others) }

// present takes the lease of this host's name, which is its own earlier start's
// or nobody's.
func (f *Fleet) present(ctx context.Context) error {
	held, err := f.config.Leases.Acquire(ctx, hostKey(f.config.Host), f.word(), lease.Own(func([]byte) bool { return true }))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.self = held
	return nil
}

// stayPresent keeps what this host says of itself true, and says it again when
// the others may have thought it dead.
func (f *Fleet) stayPresent() {
	look := time.NewTicker(sayAgain)
	defer look.Stop()
	said := ""
	for {
		select {
		case <-f.self.Lost():
			if f.config.Running.Err() != nil {
				return
			}
			f.config.Log.Warn("this host was thought dead; what it held is given to others")
			if err := f.present(f.config.Running); err != nil {
				return // the host stops
			}
			said = ""
			f.Reports.again()
		case <-look.C:
			now := f.word()
			if string(now) != said && f.self.Set(f.config.Running, now) == nil {
				said = string(now)
			}
		case <-f.config.Running.Done():
			return
		}
	}
}

// word is what this host says of itself, encoded.
func (f *Fleet) word() []byte {
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(f.config.Self())
	if err != nil {
		f.config.Log.Error("this host cannot say what it is", "error", err)
	}
	return data
}

// said is what a host says of itself, or said last when it is gone; nil when
// that cannot be understood.
func (f *Fleet) said(e lease.Entry) *loomv1.HostPresence {
	p := &loomv1.HostPresence{}
	if len(e.Value) == 0 && !e.Alive {
		f.mu.Lock()
		defer f.mu.Unlock()
		if p = proto.CloneOf(f.seen[strings.TrimPrefix(e.Key, hostKeys)]); p != nil {
			p.Alive = false
		}
		return p
	}
	if err := proto.Unmarshal(e.Value, p); err != nil || hostKey(p.Host) != e.Key {
		f.config.Log.Warn("a host's word is not understood", "lease", e.Key, "error", err)
		return nil
	}
	p.Alive = e.Alive
	return p
}

// hostSeen hears of a host that came, changed or went.
func (f *Fleet) hostSeen(e lease.Entry) {
	p := f.said(e)
	if p == nil {
		return
	}
	if p.Alive && p.Host != f.config.Host {
		f.spread.since(p.Host, p.Epoch)
	}
	f.mu.Lock()
	old := f.seen[p.Host]
	f.seen[p.Host] = p
	f.mu.Unlock()
	if old.GetAlive() == p.Alive && old.GetEpoch() == p.Epoch {
		return
	}
	if p.Alive { // a host that is not heard of may only be slow: its start is over when another lives
		f.config.Wire.HostAlive(p.Host, p.Epoch)
	}
	f.config.Log.Info("host", "name", p.Host, "epoch", p.Epoch, "alive", p.Alive)
	f.changed()
}

// Forget is told of a host that was taken out of the deployment: all its starts
// are over.
func (f *Fleet) Forget(host string) {
	if host == "" {
		return
	}
	f.config.Wire.HostDead(host, math.MaxUint64)
	f.mu.Lock()
	delete(f.seen, host)
	f.mu.Unlock()
}

// members are the hosts that live and can serve partitions.
func (f *Fleet) members() actors.Members {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := actors.Members{}
	for name, p := range f.seen {
		if p.Alive {
			m[name] = p.Epoch
		}
	}
	return m
}

// Hosts returns all hosts that are known, by name; this one as it is now.
func (f *Fleet) Hosts() []*loomv1.HostPresence {
	f.mu.Lock()
	seen := maps.Clone(f.seen)
	f.mu.Unlock()
	seen[f.config.Host] = f.config.Self()
	list := make([]*loomv1.HostPresence, 0, len(seen))
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, proto.CloneOf(seen[name]))
	}
	return append(list, f.leaves.list()...)
}

// Registered returns all hosts that belong to the deployment, by name: what
// those that live say of themselves, and what the others said last.
func (f *Fleet) Registered(ctx context.Context) []*loomv1.HostPresence {
	list, kept := f.Hosts(), f.config.Broker.Register(ctx)
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
