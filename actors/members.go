package actors

import (
	"maps"
	"math"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Members are the hosts that live, by name, each with the epoch of its present
// start.
type Members map[string]uint64

// membersChanged says that a host came or went.
type membersChanged struct{ members Members }

// MembersChanged has the projects that this host serves free what was held by
// hosts, or by earlier starts of hosts, that are gone. It never blocks.
func (p *Projects) MembersChanged() {
	for _, pid := range p.partitions {
		p.sys.sys.Root.Send(pid, &membersChanged{})
	}
}

// members returns the hosts that live; this one always does.
func (p *partition) members() Members {
	var m Members
	if p.Members != nil {
		m = maps.Clone(p.Members())
	}
	if m == nil {
		m = Members{}
	}
	m[p.Host] = p.Start
	return m
}

// tellMembers tells every project which hosts live. It is repeated with each
// sweep, because a host's last command may come in after the word of its end.
func (p *partition) tellMembers(c actor.Context) {
	if !p.serving || p.Members == nil {
		return
	}
	m := p.members()
	for _, pid := range p.projects {
		c.Send(pid, &membersChanged{m})
	}
}

// firstCommands are what a project decides before anything else: it frees what
// dead starts and dead hosts held in it, and hears which agents this host has.
func (p *partition) firstCommands(id string, s *project.State) []*loomv1.Command {
	known := s.Hosts()
	if p.Members == nil { // of others nothing is known
		known = map[string]*loomv1.HostRoles{p.Host: known[p.Host]}
	}
	list := freeing(id, p.Host, s, known, p.members())
	if !s.HeldBefore(p.Host, p.Start) && s.Blocked() { // which a host that started asks for again
		list = append(list, fromHost(id, p.Host, &loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: p.Host, Epoch: p.Start}}}))
	}
	if p.Roles != nil && s.Config() != nil {
		list = append(list, fromHost(id, p.Host, &loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
			Host: p.Host, Roles: &loomv1.HostRoles{Epoch: p.Start, Agents: p.Roles()},
		}}}))
	}
	return list
}

// freeing are the commands that take from known hosts what they cannot hold:
// from living ones what they held in earlier starts, from all others
// everything, their agents included.
func freeing(id, by string, s *project.State, known map[string]*loomv1.HostRoles, m Members) []*loomv1.Command {
	var list []*loomv1.Command
	for _, host := range slices.Sorted(maps.Keys(known)) {
		epoch, alive := m[host]
		if !alive {
			epoch = math.MaxUint64
		}
		if s.HeldBefore(host, epoch) {
			list = append(list, fromHost(id, by, &loomv1.Command{Body: &loomv1.Command_ReleaseHost{ReleaseHost: &loomv1.ReleaseHost{Host: host, Epoch: epoch}}}))
		}
		if !alive && known[host] != nil && s.Config() != nil {
			list = append(list, fromHost(id, by, &loomv1.Command{Body: &loomv1.Command_ReportRoles{ReportRoles: &loomv1.ReportRoles{
				Host: host, Roles: &loomv1.HostRoles{Epoch: known[host].Epoch},
			}}}))
		}
	}
	return list
}

func fromHost(project, host string, cmd *loomv1.Command) *loomv1.Command {
	cmd.Project = project
	cmd.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_HOST, Name: host}
	return cmd
}
