package host

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/registry"
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

	// What follows is set before the first word, and stays.
	host     string
	epoch    uint64
	projects *registry.Projects
	agents   func() map[string]uint32                                             // live ones, by role
	leaves   func(ctx context.Context) (all bool)                                 // tells of leaf hosts
	do       func(ctx context.Context, project string, cmd *loomv1.Command) error // in the host's name
	log      *slog.Logger
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
	m, p := h.dir.Manifest(), h.presence
	p.host, p.epoch, p.projects, p.agents, p.leaves, p.do, p.log = m.Host, m.Starts, &h.known, h.liveAgents, h.tellOfLeaves, h.do, h.log
	ctx, cancel := context.WithCancel(h.ctx)
	p.stop = cancel
	p.changed()
	p.done.Go(func() { p.run(ctx) })
	return nil
}

// run tells what changes until ctx ends.
func (p *presence) run(ctx context.Context) {
	for {
		var again <-chan time.Time
		if p.forget.Swap(false) {
			clear(p.told)
		}
		if !p.tellAll(ctx, p.agents()) {
			again = time.After(tellAgain)
		}
		select {
		case <-p.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// tellAll tells each project that was told something else before, and reports
// whether all know now.
func (p *presence) tellAll(ctx context.Context, agents map[string]uint32) bool {
	all := p.leaves(ctx)
	for _, id := range p.projects.All() {
		if told, ok := p.told[id]; ok && maps.Equal(told, agents) {
			continue
		}
		if err := p.tell(ctx, id, agents); err != nil {
			if all = false; ctx.Err() == nil {
				p.log.Warn("project is not told which roles are here", "project", id, "error", err)
			}
			continue
		}
		p.told[id] = agents
	}
	return all
}

// tell is report within a time that leaves some for the other projects.
func (p *presence) tell(ctx context.Context, id string, agents map[string]uint32) error {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	return p.report(ctx, id, agents)
}

func (p *presence) report(ctx context.Context, id string, agents map[string]uint32) error {
	err := p.do(ctx, id, &loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
		Host: p.host, Roles: &loomv1.HostRoles{Epoch: p.epoch, Agents: agents},
	}}})
	if fault.Code(err) == "project/quarantined" {
		return nil // it hears of nothing, until somebody mends it
	}
	return err
}

// leave tells all projects that no agent is here any more; one that cannot be
// told hears what is at the next start.
func (p *presence) leave(ctx context.Context) {
	if p.stop == nil {
		return
	}
	p.stop()
	p.done.Wait()
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	p.tellAll(ctx, nil)
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
