package host

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// presence tells every project which roles this host has live agents of, so
// that work for a role that nobody works in is brought before the CEO instead
// of waiting for ever. It tells whenever that changes and when a project is
// registered, and at a clean stop that there are none any more.
type presence struct {
	wake   chan struct{}
	forget atomic.Bool // what was told counts no longer
	done   sync.WaitGroup
	stop   context.CancelFunc
	told   map[string]map[string]uint32 // by project; of run alone while it runs
}

// How long the word at a stop may take, and how long until a project that
// could not be told is told again.
const (
	leaveWithin = 2 * time.Second
	tellAgain   = time.Second
	tellWithin  = 5 * time.Second
)

func newPresence() *presence {
	return &presence{wake: make(chan struct{}, 1), told: map[string]map[string]uint32{}}
}

// changed has the projects told what is not as they were told. It never blocks.
func (p *presence) changed() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// again has all projects told, whatever they were told before. It never blocks.
func (p *presence) again() {
	p.forget.Store(true)
	p.changed()
}

// startPresence begins to tell.
func (h *Host) startPresence(context.Context) error {
	ctx, cancel := context.WithCancel(h.ctx)
	h.presence.stop = cancel
	h.presence.changed()
	h.presence.done.Go(func() { h.tellPresence(ctx) })
	return nil
}

func (h *Host) tellPresence(ctx context.Context) {
	for {
		var again <-chan time.Time
		if h.presence.forget.Swap(false) {
			clear(h.presence.told)
		}
		if !h.tellAll(ctx, h.liveAgents()) {
			again = time.After(tellAgain)
		}
		select {
		case <-h.presence.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// tellAll tells each project that was told something else before, and reports
// whether all know now.
func (h *Host) tellAll(ctx context.Context, agents map[string]uint32) bool {
	all := h.tellOfLeaves(ctx)
	for _, id := range h.known.All() {
		if told, ok := h.presence.told[id]; ok && maps.Equal(told, agents) {
			continue
		}
		if err := h.tell(ctx, id, agents); err != nil {
			if all = false; ctx.Err() == nil {
				h.log.Warn("project is not told which roles are here", "project", id, "error", err)
			}
			continue
		}
		h.presence.told[id] = agents
	}
	return all
}

// tell is reportRoles within a time that leaves some for the other projects.
func (h *Host) tell(ctx context.Context, id string, agents map[string]uint32) error {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	return h.reportRoles(ctx, id, agents)
}

func (h *Host) reportRoles(ctx context.Context, id string, agents map[string]uint32) error {
	m := h.dir.Manifest()
	err := h.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
		Host: m.Host, Roles: &loomv1.HostRoles{Epoch: m.Starts, Agents: agents},
	}}})
	if fault.Code(err) == "project/quarantined" {
		return nil // it hears of nothing, until somebody mends it
	}
	return err
}

// leave tells all projects that no agent is here any more; one that cannot be
// told hears what is at the next start.
func (h *Host) leave(ctx context.Context) {
	if h.presence.stop == nil {
		return
	}
	h.presence.stop()
	h.presence.done.Wait()
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	h.tellAll(ctx, nil)
}

// liveAgents returns how many live agents of each role are here, or will be
// once the host has started them.
func (h *Host) liveAgents() map[string]uint32 {
	h.mu.Lock()
	pools := h.pools
	h.mu.Unlock()
	if pools != nil {
		return pools.Live()
	}
	agents := map[string]uint32{}
	for _, name := range h.roles.Names() {
		if n := h.agentsOf(name); n > 0 {
			agents[name] = uint32(n)
		}
	}
	return agents
}

// ownAgents are the agents that this host is configured with, by role.
func (h *Host) ownAgents() map[string]uint32 {
	own := map[string]uint32{}
	for _, role := range h.roles.Names() {
		if n := h.agentsOf(role); n > 0 {
			own[role] = uint32(n)
		}
	}
	return own
}

// agentsOf returns how many agents of a role this host is configured with.
func (h *Host) agentsOf(name string) int {
	role, _ := h.roles.Get(name)
	if n, set := h.config.Agents[name]; set || role.Human {
		return n
	}
	return max(role.Agents, 1)
}

// workLost has all projects put their tickets into a work queue that is new.
func (h *Host) workLost() {
	if projects := h.way(); projects != nil { // else none has put any there
		projects.OfferAgain()
	}
}

// way returns the way to the projects, nil before there is one.
func (h *Host) way() *actors.Projects {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.projects
}

func (h *Host) setProjects(p *actors.Projects) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.projects = p
}

func (h *Host) setPools(p *actors.Pools) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pools = p
}
