package fleet

import (
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// leaves are the leaf hosts, as this host hears of them: those that only run
// agents, elsewhere. Each says every half second that it lives, under the name
// of its credentials. Its zero value knows none.
type leaves struct {
	mu    sync.Mutex
	began time.Time
	seen  map[string]*leaf
	told  map[string]map[string]map[string]uint32 // agents that projects were told of, by leaf and project
}

type leaf struct {
	said  *loomv1.HostPresence
	heard time.Time
}

const (
	// LeafEvery is how often a leaf host says that it lives, and leafTTL after
	// which silence it is gone.
	LeafEvery = 500 * time.Millisecond
	leafTTL   = 3500 * time.Millisecond
)

// startLeaves begins to hear of leaf hosts. Of those that may be there and were
// not heard of yet, nothing is thought before they had time to say so: what
// they hold stays theirs over a restart of this host.
func (f *Fleet) startLeaves() error {
	f.leaves.mu.Lock()
	f.leaves.began, f.leaves.seen, f.leaves.told = time.Now(), map[string]*leaf{}, map[string]map[string]map[string]uint32{}
	f.leaves.mu.Unlock()
	if err := f.config.Broker.WatchLeaves(f.leafSays); err != nil {
		return err
	}
	f.done.Go(f.watchLeaves)
	return nil
}

// watchLeaves notices leaf hosts that are silent, until this host stops.
func (f *Fleet) watchLeaves() {
	look := time.NewTicker(LeafEvery)
	defer look.Stop()
	settling := true
	for {
		select {
		case <-look.C:
		case <-f.config.Running.Done():
			return
		}
		was := settling
		settling = f.leaves.settling()
		if gone := f.leaves.expire(); len(gone) > 0 || was != settling {
			f.leavesChanged(gone)
		}
	}
}

// leavesChanged has everybody look who minds that leaf hosts came or went.
func (f *Fleet) leavesChanged(gone []string) {
	f.config.LeavesChanged()
	for _, name := range gone {
		f.config.Log.Info("leaf host", "name", name, "alive", false)
	}
	f.Reports.Changed()
	f.changed()
}

// leafSays hears a leaf host. What it says of roles counts only as far as its
// credentials go.
func (f *Fleet) leafSays(name string, said []byte) {
	p := &loomv1.HostPresence{}
	if proto.Unmarshal(said, p) != nil || p.Host != name || f.IsHost(name) {
		return
	}
	roles, known := f.config.Broker.Workers()[name]
	if !known {
		return
	}
	Trim(p, roles)
	if !f.leaves.hear(p) {
		return
	}
	f.config.Log.Info("leaf host", "name", name, "epoch", p.Epoch, "alive", p.Alive)
	f.leavesChanged(nil)
}

// IsHost says whether a name is that of a host which is no leaf.
func (f *Fleet) IsHost(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return name == f.config.Host || f.seen[name] != nil
}

// hear notes what a leaf host says, and whether that changes who lives or which
// agents there are. An earlier start of one that started again is not heard.
func (l *leaves) hear(p *loomv1.HostPresence) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.seen[p.Host]
	if old != nil && p.Epoch < old.said.Epoch {
		return false
	}
	l.seen[p.Host] = &leaf{p, time.Now()}
	if old != nil && old.said.Epoch == p.Epoch && old.said.Alive == p.Alive {
		return !maps.Equal(agentsIn(old.said), agentsIn(p)) || !maps.Equal(old.said.Own, p.Own)
	}
	delete(l.told, p.Host)
	return true
}

// expire returns the leaf hosts that are silent for too long, and are gone.
func (l *leaves) expire() (gone []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, known := range l.seen {
		if known.said.Alive && time.Since(known.heard) > leafTTL {
			known.said = proto.CloneOf(known.said)
			known.said.Alive = false
			delete(l.told, name)
			gone = append(gone, name)
		}
	}
	return gone
}

// settling says whether a leaf host that lives may not have been heard of yet.
func (l *leaves) settling() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.began) < leafTTL
}

// epoch returns the start of a leaf host that lives, 0 if none does.
func (l *leaves) epoch(name string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.seen[name]; known != nil && known.said.Alive {
		return known.said.Epoch
	}
	return 0
}

// list returns the leaf hosts by name, those that are gone included.
func (l *leaves) list() (list []*loomv1.HostPresence) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(l.seen)) {
		list = append(list, proto.CloneOf(l.seen[name].said))
	}
	return list
}

// Members are the hosts that live, leaf hosts included. Those of which it is
// too early to say anything live, in a start before all others.
func (f *Fleet) Members() actors.Members {
	m := f.members()
	if f.leaves.settling() {
		for name := range f.config.Broker.Workers() {
			if _, is := m[name]; !is {
				m[name] = 0
			}
		}
	}
	for _, p := range f.leaves.list() {
		switch {
		case f.IsHost(p.Host): // one that came later, under the same name
		case p.Alive:
			m[p.Host] = p.Epoch
		default:
			delete(m, p.Host)
		}
	}
	return m
}

// agentsIn are the agents that a host says it has, by role.
func agentsIn(p *loomv1.HostPresence) map[string]uint32 {
	m := map[string]uint32{}
	for _, r := range p.Roles {
		if r.Desired > 0 {
			m[r.Role] = r.Desired
		}
	}
	return m
}

// knows says whether a project was told of a leaf's agents.
func (l *leaves) knows(host, project string, agents map[string]uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	told, ok := l.told[host][project]
	return ok && maps.Equal(told, agents)
}

// tell notes that a project was told of a leaf's agents, if that still counts.
func (l *leaves) tell(p *loomv1.HostPresence, project string, agents map[string]uint32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.seen[p.Host]; now == nil || !now.said.Alive || now.said.Epoch != p.Epoch {
		return
	}
	if l.told[p.Host] == nil {
		l.told[p.Host] = map[string]map[string]uint32{}
	}
	l.told[p.Host][project] = agents
}

// Trim leaves of what a leaf host says what its credentials are good for.
func Trim(p *loomv1.HostPresence, roles []string) {
	p.Roles = slices.DeleteFunc(p.Roles, func(r *loomv1.RoleCount) bool { return !slices.Contains(roles, r.GetRole()) })
	for role := range p.Own {
		if !slices.Contains(roles, role) {
			delete(p.Own, role)
		}
	}
	p.Leaf, p.Partitions, p.Url, p.Http = true, nil, "", ""
}

// Leaf returns the start of a leaf host that lives, 0 if none of its name does.
func (f *Fleet) Leaf(name string) uint64 { return f.leaves.epoch(name) }

// Settling reports whether a leaf host that lives may not have been heard of yet.
func (f *Fleet) Settling() bool { return f.leaves.settling() }
