// Package staffing is the pure core that says how many agents of each role each
// host has: from what is wanted of the deployment, what hosts there are, and
// where a role may be.
//
// It promises that every host that knows the same comes to the same answer, so
// that nobody need hand agents out; that what is wanted is there as long as any
// host may have it; and that a host that comes or goes moves few agents. It
// holds no state and never starts anything.
package staffing

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Limits of what can be wanted.
const (
	MaxAgents = 10_000 // of a role
	MaxRoles  = 256
	maxHosts  = 1024 // that a role names
	maxLabels = 32
	maxReason = 1000 // bytes
)

// Host is a host that lives.
type Host struct {
	Name   string
	Labels map[string]string
	// Draining hosts have no agents.
	Draining bool
	// Own is how many agents of each role it has where nothing else is wanted.
	Own map[string]int
	// Confined hosts have agents of Roles alone: those that their credentials
	// are for.
	Confined bool
	Roles    []string
}

// Wanted returns how many agents of a role each host has: hosts with none are
// not named. A nil scale leaves each host its own.
func Wanted(role string, s *loomv1.Scale, hosts []Host) map[string]int {
	wanted := map[string]int{}
	var share []Host
	for _, h := range hosts {
		if h.Draining || !h.can(role) || !may(s, h) {
			continue
		}
		switch n, fixed := s.GetOnHost()[h.Name]; {
		case fixed:
			add(wanted, h.Name, int(n))
		case s == nil || s.Agents == nil:
			add(wanted, h.Name, h.Own[role])
		default:
			share = append(share, h)
		}
	}
	if s != nil && s.Agents != nil {
		spread(wanted, role, int(*s.Agents), share)
	}
	return wanted
}

// can says whether a host can have agents of a role at all.
func (h Host) can(role string) bool { return !h.Confined || slices.Contains(h.Roles, role) }

// may says whether a host may have agents of a role, by what is wanted of it.
func may(s *loomv1.Scale, h Host) bool {
	if len(s.GetHosts()) > 0 && !slices.Contains(s.Hosts, h.Name) {
		return false
	}
	for k, v := range s.GetLabels() {
		if h.Labels[k] != v {
			return false
		}
	}
	return true
}

func add(m map[string]int, host string, n int) {
	if n > 0 {
		m[host] = n
	}
}

// spread shares n agents out as evenly as can be; those that are left over go
// to the hosts that come first in an order of the role's own (rendezvous
// hashing, so that the order of the others stays when one comes or goes).
func spread(wanted map[string]int, role string, n int, hosts []Host) {
	slices.SortFunc(hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(rank(role, a.Name), rank(role, b.Name)), cmp.Compare(a.Name, b.Name))
	})
	for i, h := range hosts {
		each := n / len(hosts)
		if i < n%len(hosts) {
			each++
		}
		add(wanted, h.Name, each)
	}
}

// rank is where a host comes among those that something may be on.
func rank(what, host string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what + "\x00" + host)) // never fails
	x := h.Sum64()
	// FNV alone mixes the last bytes badly; the finisher is MurmurHash3's.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Rank returns where a host comes among hosts, from 0, in the order of what:
// everybody who knows the same hosts comes to the same order.
func Rank(what, host string, hosts []string) int {
	before := 0
	for _, other := range hosts {
		if other != host && rank(what, other) < rank(what, host) {
			before++
		}
	}
	return before
}

// Check returns what is wrong with a change of a role's scale.
func Check(c *loomv1.ScaleRole) error {
	if _, err := subject.Parse("role", c.GetRole()); err != nil {
		return err
	}
	switch confine := c.GetConfine(); {
	case c.Host != "" && bad("host", c.Host):
		_, err := subject.Parse("host", c.Host)
		return err
	case c.GetAgents() > MaxAgents:
		return fault.New("scale/invalid", "%d agents of role %q, the most is %d", c.GetAgents(), c.Role, MaxAgents).At("agents")
	case c.Agents == nil && !c.Clear && confine == nil:
		return fault.New("scale/invalid", "neither a number of agents nor a place is given for role %q", c.Role).At("agents").Want("a number from 0 to %d", MaxAgents)
	case c.Clear && (c.Agents != nil || confine != nil):
		return fault.New("scale/invalid", "role %q is to be taken back and to be changed", c.Role).At("clear")
	case c.Host != "" && confine != nil:
		return fault.New("scale/invalid", "where role %q may be is said for all hosts at once", c.Role).At("host")
	case len(c.Reason) > maxReason:
		return fault.New("scale/invalid", "the reason has %d bytes, the most is %d", len(c.Reason), maxReason).At("reason")
	default:
		return checkPlaces(c.Role, confine)
	}
}

func bad(kind, token string) bool { _, err := subject.Parse(kind, token); return err != nil }

func checkPlaces(role string, p *loomv1.Confinement) error {
	if len(p.GetHosts()) > maxHosts || len(p.GetLabels()) > maxLabels {
		return fault.New("scale/invalid", "role %q is confined to %d hosts and %d labels, the most are %d and %d",
			role, len(p.GetHosts()), len(p.GetLabels()), maxHosts, maxLabels).At("confine")
	}
	for _, h := range p.GetHosts() {
		if _, err := subject.Parse("host", h); err != nil {
			return err
		}
	}
	return CheckLabels(p.GetLabels())
}

// CheckLabels returns what is wrong with labels of a host: keys and values are
// tokens.
func CheckLabels(labels map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		if _, err := subject.Parse("label", k); err != nil {
			return err
		}
		if _, err := subject.Parse("label "+k, labels[k]); err != nil {
			return err
		}
	}
	return nil
}

// Change returns the scale that a change makes of an old one, which may be nil
// and stays as it is.
func Change(old *loomv1.Scale, c *loomv1.ScaleRole) *loomv1.Scale {
	s := &loomv1.Scale{
		Role: c.Role, Agents: agentsOf(old), OnHost: maps.Clone(old.GetOnHost()), Hosts: slices.Clone(old.GetHosts()), Labels: maps.Clone(old.GetLabels()),
	}
	if s.OnHost == nil {
		s.OnHost = map[string]uint32{}
	}
	switch {
	case c.Clear && c.Host != "":
		delete(s.OnHost, c.Host)
	case c.Clear:
		return &loomv1.Scale{Role: c.Role}
	case c.Agents != nil && c.Host != "":
		s.OnHost[c.Host] = *c.Agents
	case c.Agents != nil:
		s.Agents = c.Agents
	}
	if c.Confine != nil {
		s.Hosts, s.Labels = slices.Sorted(slices.Values(c.Confine.Hosts)), c.Confine.Labels
	}
	return s
}

func agentsOf(s *loomv1.Scale) *uint32 {
	if s == nil {
		return nil
	}
	return s.Agents
}
