package staff

import (
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/staffing"
	"github.com/loomrun/loom/internal/host/fleet"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sharers are the hosts among which agents are shared out, of those in all that
// live. Leaf hosts take part with the roles of their credentials. Those of which
// it is too early to say anything count as if they lived: so no host begins
// more than its share.
func (s *Staff) sharers(wanted *loomv1.Staffing, all []*loomv1.HostPresence) []staffing.Host {
	workers, early := s.config.Broker.Workers(), s.config.Fleet.Settling()
	var hosts []staffing.Host
	for _, p := range all {
		sharer := staffing.Host{Name: p.Host, Labels: p.Labels, Draining: wanted.GetDrained()[p.Host], Own: counted(p.Own)}
		if p.Leaf {
			sharer.Confined, sharer.Roles = true, workers[p.Host]
			delete(workers, p.Host)
		}
		if p.Alive && (!p.Leaf || !s.config.Fleet.IsHost(p.Host)) {
			hosts = append(hosts, sharer)
		}
	}
	for name, roles := range workers {
		if early && !s.config.Fleet.IsHost(name) {
			hosts = append(hosts, staffing.Host{Name: name, Draining: wanted.GetDrained()[name], Confined: true, Roles: roles})
		}
	}
	return hosts
}

// Leaf says how many agents of each role a leaf host is to have, which says
// of itself what p says; nil while not all leaf hosts may have been heard of.
func (s *Staff) Leaf(wanted *loomv1.Staffing, p *loomv1.HostPresence, roles []string) *loomv1.LeafStaff {
	if s.config.Fleet.Settling() {
		return nil
	}
	fleet.Trim(p, roles)
	all := slices.DeleteFunc(s.config.Fleet.Hosts(), func(other *loomv1.HostPresence) bool { return other.Leaf && other.Host == p.Host })
	hosts := s.sharers(wanted, append(all, p))
	staff := &loomv1.LeafStaff{Agents: map[string]uint32{}}
	for _, role := range roles {
		if n := staffing.Wanted(role, wanted.GetScales()[role], hosts)[p.Host]; n > 0 {
			staff.Agents[role] = uint32(n)
		}
	}
	return staff
}

// checkLeaf refuses agents on a leaf host whose credentials are not for their
// role.
func (s *Staff) checkLeaf(name, role string) error {
	leaf := slices.ContainsFunc(s.config.Fleet.Hosts(), func(p *loomv1.HostPresence) bool { return p.Leaf && p.Host == name })
	if !leaf || s.config.Fleet.IsHost(name) || slices.Contains(s.config.Broker.Workers()[name], role) {
		return nil
	}
	return fault.New("scale/invalid", "the credentials of leaf host %q are not for role %q", name, role).At("host").Got(name).
		Want("credentials of a worker with --role %s", role)
}
