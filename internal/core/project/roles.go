package project

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Limits of what hosts say of their agents.
const (
	maxRoles = 256 // of one host
	maxHosts = 1024
)

// DefaultGrace is how long work waits for a live agent where the project does
// not say.
const DefaultGrace = 2 * time.Minute

// grace is how long work waits for a live agent of its role.
func (s *State) grace() time.Duration {
	if g := s.p.GetConfig().GetGrace().AsDuration(); g > 0 {
		return g
	}
	return DefaultGrace
}

// absent says since when a role has no live agent, if it has none. A role that
// some host has agents of is there. One that had some is absent since the last
// of them went; one that nobody ever had, since a host first said which roles
// it has: before that, and as long as no host says anything, none is absent,
// because nobody can know.
func (s *State) absent(role string) (since time.Time, gone bool) {
	if s.p.RolesSince == nil || s.live(role) {
		return time.Time{}, false
	}
	if at, ok := s.p.Absent[role]; ok {
		return at.AsTime(), true
	}
	return s.p.RolesSince.AsTime(), true
}

// live says whether a host has an agent of a role.
func (s *State) live(role string) bool {
	for _, h := range s.p.Hosts {
		if h.Agents[role] > 0 {
			return true
		}
	}
	return false
}

// reportRoles notes what a host has to say of its agents, if that is news.
func (d *decision) reportRoles(c *loomv1.ReportRoles) error {
	if err := d.s.checkRoles(c); err != nil {
		return err
	}
	old := d.s.p.Hosts[c.Host]
	if old != nil && (c.Roles.Epoch < old.Epoch || proto.Equal(old, c.Roles)) {
		return nil
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_RolesReported{RolesReported: &loomv1.RolesReported{Host: c.Host, Roles: c.Roles}}})
}

func (s *State) checkRoles(c *loomv1.ReportRoles) error {
	if _, err := subject.Parse("host", c.GetHost()); err != nil {
		return err
	}
	switch agents := c.GetRoles().GetAgents(); {
	case c.Roles == nil:
		return fault.New("command/malformed", "host %q reports no roles", c.Host).At("roles")
	case len(agents) > maxRoles:
		return fault.New("command/malformed", "%d roles, the most is %d", len(agents), maxRoles).At("roles")
	case s.p.Hosts[c.Host] == nil && len(s.p.Hosts) >= maxHosts:
		return fault.New("command/malformed", "%d hosts have reported, the most is %d", len(s.p.Hosts), maxHosts).At("host")
	default:
		for _, role := range slices.Sorted(maps.Keys(agents)) {
			if _, err := subject.Parse("role", role); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyRoles folds a report. Timers of work that waits for a role depend on who
// is there, so that they are all looked at again.
func (s *State) applyRoles(e *loomv1.Event, f *loomv1.RolesReported) {
	before := s.liveRoles()
	s.p.Hosts[f.Host] = proto.CloneOf(f.Roles)
	if s.p.RolesSince == nil {
		s.p.RolesSince = e.Time
	}
	now := s.liveRoles()
	for role := range before {
		if !now[role] {
			s.p.Absent[role] = e.Time
		}
	}
	for role := range now {
		delete(s.p.Absent, role)
	}
	for _, x := range s.running() {
		s.rearm(x)
	}
}

func (s *State) liveRoles() map[string]bool {
	live := map[string]bool{}
	for _, h := range s.p.Hosts {
		for role, n := range h.Agents {
			if n > 0 {
				live[role] = true
			}
		}
	}
	return live
}

// Hosts returns the hosts that agents of this project work on, or said that
// they have some: each with what it reported last, nil for one that never did.
// The reports are the state's own and are not to be changed.
func (s *State) Hosts() map[string]*loomv1.HostRoles {
	hosts := maps.Clone(s.p.Hosts)
	if hosts == nil {
		hosts = map[string]*loomv1.HostRoles{}
	}
	for by := range s.queue.held {
		if _, reported := hosts[by.host]; !reported && by.host != "" {
			hosts[by.host] = nil
		}
	}
	return hosts
}

// HeldBefore says whether a start of a host before epoch still holds an
// attempt.
func (s *State) HeldBefore(host string, epoch uint64) bool {
	return len(s.queue.leftBy(host, epoch)) > 0
}
