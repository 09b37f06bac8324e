package host

import (
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/staffing"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sharers are the hosts among which agents are shared out, of those in all that
// live. Leaf hosts take part with the roles of their credentials. Those of which
// it is too early to say anything count as if they lived: so no host begins
// more than its share.
func (h *Host) sharers(wanted *loomv1.Staffing, all []*loomv1.HostPresence) []staffing.Host {
	workers, early := h.broker.Workers(), h.leaves.settling()
	var hosts []staffing.Host
	for _, p := range all {
		s := staffing.Host{Name: p.Host, Labels: p.Labels, Draining: wanted.GetDrained()[p.Host], Own: counted(p.Own)}
		if p.Leaf {
			s.Confined, s.Roles = true, workers[p.Host]
			delete(workers, p.Host)
		}
		if p.Alive && (!p.Leaf || !h.isHost(p.Host)) {
			hosts = append(hosts, s)
		}
	}
	for name, roles := range workers {
		if early && !h.isHost(name) {
			hosts = append(hosts, staffing.Host{Name: name, Draining: wanted.GetDrained()[name], Confined: true, Roles: roles})
		}
	}
	return hosts
}

// leafStaff says how many agents of each role a leaf host is to have, which says
// of itself what p says; nil while not all leaf hosts may have been heard of.
func (h *Host) leafStaff(wanted *loomv1.Staffing, p *loomv1.HostPresence, roles []string) *loomv1.LeafStaff {
	if h.leaves.settling() {
		return nil
	}
	trim(p, roles)
	all := slices.DeleteFunc(h.hosts(), func(other *loomv1.HostPresence) bool { return other.Leaf && other.Host == p.Host })
	hosts := h.sharers(wanted, append(all, p))
	staff := &loomv1.LeafStaff{Agents: map[string]uint32{}}
	for _, role := range roles {
		if n := staffing.Wanted(role, wanted.GetScales()[role], hosts)[p.Host]; n > 0 {
			staff.Agents[role] = uint32(n)
		}
	}
	return staff
}

// trim leaves of what a leaf host says what its credentials are good for.
func trim(p *loomv1.HostPresence, roles []string) {
	p.Roles = slices.DeleteFunc(p.Roles, func(r *loomv1.RoleCount) bool { return !slices.Contains(roles, r.GetRole()) })
	for role := range p.Own {
		if !slices.Contains(roles, role) {
			delete(p.Own, role)
		}
	}
	p.Leaf, p.Partitions, p.Url, p.Http = true, nil, "", ""
}

// checkLeaf refuses agents on a leaf host whose credentials are not for their
// role.
func (h *Host) checkLeaf(name, role string) error {
	leaf := slices.ContainsFunc(h.leaves.list(), func(p *loomv1.HostPresence) bool { return p.Host == name })
	if !leaf || h.isHost(name) || slices.Contains(h.broker.Workers()[name], role) {
		return nil
	}
	return fault.New("scale/invalid", "the credentials of leaf host %q are not for role %q", name, role).At("host").Got(name).
		Want("credentials of a worker with --role %s", role)
}

// heed has each role come to what is wanted of this leaf host.
func (l *Leaf) heed(w *loomv1.LeafWelcome) {
	for _, role := range l.roles {
		if n, known := l.due(w, role); known {
			l.h.pools.Resize(role, n)
		}
	}
	for execution, project := range w.GetEnded() {
		l.h.disk.Retire(l.h.ctx, project, execution)
	}
}

// due is how many agents of a role a host says that this one is to have, if it
// says anything.
func (l *Leaf) due(w *loomv1.LeafWelcome, role string) (n int, known bool) {
	if w.GetDrained() {
		return 0, true
	}
	return int(w.GetStaff().GetAgents()[role]), w.GetStaff() != nil
}
