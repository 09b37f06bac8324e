package host

import (
	"github.com/loomrun/loom/actors"
)

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
