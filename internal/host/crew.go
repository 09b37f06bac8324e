package host

import (
	"sync"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// crew are the agents of a host: those that it is configured with, and once they are
// started, those that live. All methods may be called at the same time.
type crew struct {
	roles  *roles.Set
	agents map[string]int // configured, by role; a role that is not there has as many as its file says
	model  model.Provider
	models map[string]model.Provider // of roles that have one of their own

	mu    sync.Mutex
	pools *actors.Pools // nil before they are started
}

func newCrew(c Config, r *roles.Set) *crew {
	return &crew{roles: r, agents: c.Agents, model: c.Model, models: c.Models}
}

// started returns the pools of agents, nil before they are started.
func (c *crew) started() *actors.Pools {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pools
}

// start notes that agents are started.
func (c *crew) start(p *actors.Pools) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pools = p
}

// of returns how many agents of a role the host is configured with.
func (c *crew) of(name string) int {
	role, _ := c.roles.Get(name)
	if n, set := c.agents[name]; set || role.Human {
		return n
	}
	return max(role.Agents, 1)
}

// own are the agents that the host is configured with, by role.
func (c *crew) own() map[string]uint32 {
	own := map[string]uint32{}
	for _, role := range c.roles.Names() {
		if n := c.of(role); n > 0 {
			own[role] = uint32(n)
		}
	}
	return own
}

// live returns how many live agents of each role are here, or will be once the host has
// started them.
func (c *crew) live() map[string]uint32 {
	if pools := c.started(); pools != nil {
		return pools.Live()
	}
	return c.own()
}

// counts returns how many agents of each role run here, and what answers for them; nil
// before they are started.
func (c *crew) counts() []*loomv1.RoleCount {
	pools := c.started()
	if pools == nil {
		return nil
	}
	list := pools.Counts()
	for _, count := range list {
		count.Model = c.model.Name()
		if m, ok := c.models[count.Role]; ok {
			count.Model = m.Name()
		}
	}
	return list
}

// resize brings the agents of a role to a number.
func (c *crew) resize(role string, agents int) { c.started().Resize(role, agents) }

// stop has every agent give back what it works on.
func (c *crew) stop() {
	if pools := c.started(); pools != nil {
		pools.Stop()
	}
}
