package host

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
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
	notes map[string]uint64                       // starts of which it is on record that they have no sandbox
}

type leaf struct {
	said  *loomv1.HostPresence
	heard time.Time
}

const (
	// leafEvery is how often a leaf host says that it lives, and leafTTL after
	// which silence it is gone.
	leafEvery = 500 * time.Millisecond
	leafTTL   = 3500 * time.Millisecond
)

// startLeaves begins to hear of leaf hosts. Of those that may be there and were
// not heard of yet, nothing is thought before they had time to say so: what
// they hold stays theirs over a restart of this host.
func (h *Host) startLeaves() error {
	h.leaves.mu.Lock()
	h.leaves.began, h.leaves.seen, h.leaves.told = time.Now(), map[string]*leaf{}, map[string]map[string]map[string]uint32{}
	h.leaves.mu.Unlock()
	if err := h.broker.WatchLeaves(h.leafSays); err != nil {
		return err
	}
	h.fleet.done.Go(h.watchLeaves)
	return nil
}

// watchLeaves notices leaf hosts that are silent, until this host stops.
func (h *Host) watchLeaves() {
	look := time.NewTicker(leafEvery)
	defer look.Stop()
	settling := true
	for {
		select {
		case <-look.C:
		case <-h.ctx.Done():
			return
		}
		was := settling
		settling = h.leaves.settling()
		if gone := h.leaves.expire(); len(gone) > 0 || was != settling {
			h.leavesChanged(gone)
		}
	}
}

// alone says that no other host takes part in the deployment, and that nobody has
// credentials of a leaf host.
func (h *Host) alone() bool {
	return !h.broker.Clustered() && h.config.External == nil && len(h.broker.Workers()) == 0
}

// leavesChanged has everybody look who minds that leaf hosts came or went.
func (h *Host) leavesChanged(gone []string) {
	if err := h.handover.Share(h.ctx); err != nil {
		h.log.Warn("work that waits is not shared with leaf hosts at once", "error", err)
	}
	for _, name := range gone {
		h.log.Info("leaf host", "name", name, "alive", false)
	}
	if projects := h.way(); projects != nil {
		projects.MembersChanged()
	}
	h.presence.changed()
	h.staff.wake()
}

// leafSays hears a leaf host. What it says of roles counts only as far as its
// credentials go.
func (h *Host) leafSays(name string, said []byte) {
	p := &loomv1.HostPresence{}
	if proto.Unmarshal(said, p) != nil || p.Host != name || h.isHost(name) {
		return
	}
	roles, known := h.broker.Workers()[name]
	if !known {
		return
	}
	trim(p, roles)
	if !h.leaves.hear(p) {
		return
	}
	h.log.Info("leaf host", "name", name, "epoch", p.Epoch, "alive", p.Alive)
	h.leavesChanged(nil)
}

// isHost says whether a name is that of a host which is no leaf.
func (h *Host) isHost(name string) bool {
	h.fleet.mu.Lock()
	defer h.fleet.mu.Unlock()
	return name == h.name() || h.fleet.seen[name] != nil
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

// noted returns the start of a leaf host of which it is on record that it has no
// sandbox, 0 for none.
func (l *leaves) noted(name string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notes[name]
}

func (l *leaves) note(name string, epoch uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notes == nil {
		l.notes = map[string]uint64{}
	}
	l.notes[name] = epoch
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

// everybody are the hosts that live, leaf hosts included. Those of which it is
// too early to say anything live, in a start before all others.
func (h *Host) everybody() actors.Members {
	m := h.members()
	if h.leaves.settling() {
		for name := range h.broker.Workers() {
			if _, is := m[name]; !is {
				m[name] = 0
			}
		}
	}
	for _, p := range h.leaves.list() {
		switch {
		case h.isHost(p.Host): // one that came later, under the same name
		case p.Alive:
			m[p.Host] = p.Epoch
		default:
			delete(m, p.Host)
		}
	}
	return m
}

// shared says whether other hosts may go on with what is begun here; on a leaf
// host they always may.
func (h *Host) shared() bool {
	return h.broker == nil || h.broker.Clustered() || len(h.broker.Workers()) > 0
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

// tellOfLeaves tells the projects which roles leaf hosts have agents of, and
// reports whether all know now.
func (h *Host) tellOfLeaves(ctx context.Context) bool {
	all := true
	for _, p := range h.leaves.list() {
		if !p.Alive {
			continue
		}
		for role := range agentsIn(p) {
			all = h.broker.PrepareWork(ctx, role) == nil && all
		}
		for _, id := range h.known.All() {
			all = h.tellOfLeaf(ctx, id, p) && all
		}
	}
	return all
}

func (h *Host) tellOfLeaf(ctx context.Context, id string, p *loomv1.HostPresence) bool {
	agents := agentsIn(p)
	if len(p.Projects) > 0 && !slices.Contains(p.Projects, id) { // it takes no work of this one
		return true
	}
	if h.leaves.knows(p.Host, id, agents) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	err := h.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
		Host: p.Host, Roles: &loomv1.HostRoles{Epoch: p.Epoch, Agents: agents},
	}}})
	if err != nil && fault.Code(err) != "project/quarantined" {
		return false
	}
	h.leaves.tell(p, id, agents)
	return true
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
