package project

import (
	"fmt"
	"maps"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/staffing"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// maxDrained is how many hosts can be draining at a time.
const maxDrained = 1024

// staffs refuses everybody but those who run the deployment, and every project
// but the one that has what belongs to no other.
func (d *decision) staffs() error {
	if d.s.cfg.ID != System {
		return fault.New("command/malformed", "roles and hosts are the whole deployment's, not project %q's", d.s.cfg.ID).At("project")
	}
	if d.actor.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil
	}
	return fault.New("scale/identity", "only an operator may say which agents there are, and not %q", d.actor.GetName())
}

// scale changes how many agents of a role are wanted; the same again changes
// nothing.
func (d *decision) scale(c *loomv1.ScaleRole) error {
	if err := d.staffs(); err != nil {
		return err
	}
	if err := staffing.Check(c); err != nil {
		return err
	}
	old := d.s.p.GetStaffing().GetScales()[c.Role]
	if old == nil && len(d.s.p.GetStaffing().GetScales()) >= staffing.MaxRoles {
		return fault.New("scale/invalid", "%d roles have been scaled, the most is %d", staffing.MaxRoles, staffing.MaxRoles).At("role")
	}
	s := staffing.Change(old, c)
	if proto.Equal(s, old) || old == nil && proto.Equal(s, &loomv1.Scale{Role: c.Role}) {
		return nil
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_RoleScaled{RoleScaled: &loomv1.RoleScaled{Scale: s, Reason: c.Reason}}})
}

// drain has a host take no new work, or take some again.
func (d *decision) drain(c *loomv1.DrainHost) error {
	if err := d.staffs(); err != nil {
		return err
	}
	if _, err := subject.Parse("host", c.Host); err != nil {
		return err
	}
	drained := d.s.p.GetStaffing().GetDrained()
	switch {
	case drained[c.Host] != c.Undo:
		return nil
	case !c.Undo && len(drained) >= maxDrained:
		return fault.New("scale/invalid", "%d hosts are drained, the most is %d", maxDrained, maxDrained).At("host")
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_HostDrained{HostDrained: &loomv1.HostDrained{Host: c.Host, Undone: c.Undo, Reason: c.Reason}}})
}

// recordMembers has a change of the list of hosts journaled, once.
func (d *decision) recordMembers(c *loomv1.MembersChanged) error {
	if d.s.cfg.ID != System {
		return fault.New("command/malformed", "hosts are the whole deployment's, not project %q's", d.s.cfg.ID).At("project")
	}
	switch kind := d.actor.GetKind(); {
	case kind != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR && kind != loomv1.IdentityKind_IDENTITY_KIND_HOST:
		return fault.New("command/unauthorized", "only operators and hosts change which hosts there are")
	case c.GetLineage() == "" || c.GetGeneration() == 0:
		return fault.New("command/malformed", "the change names no list of hosts")
	}
	if now := d.s.p.GetStaffing(); now.GetMembersLineage() == c.Lineage && now.GetMembersGeneration() >= c.Generation {
		return nil
	}
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_MembersChanged{MembersChanged: c}})
}

// maxLives is how many records of lives one command brings.
const maxLives = 64

// recordLives journals what a host saw of its agents' lives, each record once.
func (d *decision) recordLives(c *loomv1.RecordLives) error {
	if err := d.checkLives(c); err != nil {
		return err
	}
	for _, r := range c.Records {
		if m := d.s.p.GetStaffing().GetLives()[c.Host]; m.GetEpoch() > c.Epoch || m.GetEpoch() == c.Epoch && m.GetSequence() >= r.Life.Sequence {
			continue // it is journaled, or of an earlier start
		}
		life := &loomv1.AgentLife{
			Agent: r.Life.Agent, Role: r.Life.Role, Host: c.Host, Epoch: c.Epoch, Reason: cut(oneLine(plain(r.Life.Reason)), maxReason),
			Agents: max(r.Life.Agents, 1), Times: max(r.Life.Times, 1), At: r.Life.At, Sequence: r.Life.Sequence,
		}
		if err := d.emit(lifeFact(r.Kind, life)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decision) checkLives(c *loomv1.RecordLives) error {
	switch {
	case d.s.cfg.ID != System:
		return fault.New("command/malformed", "agents' lives are the whole deployment's, not project %q's", d.s.cfg.ID).At("project")
	case d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_HOST && d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_WORKER:
		return fault.New("command/unauthorized", "only hosts tell of their agents' lives, and not %q", d.actor.GetName())
	case len(c.Records) == 0 || len(c.Records) > maxLives:
		return fault.New("command/malformed", "%d records are told at once", len(c.Records)).At("records").Want("1 to %d", maxLives)
	}
	if _, err := subject.Parse("host", c.Host); err != nil {
		return err
	}
	if marks := d.s.p.GetStaffing().GetLives(); marks[c.Host] == nil && len(marks) >= maxHosts {
		return fault.New("command/malformed", "%d hosts have told of their agents, the most is %d", len(marks), maxHosts).At("host")
	}
	last := uint64(0)
	for _, r := range c.Records {
		role, _, _ := strings.Cut(r.GetLife().GetAgent(), "/")
		if _, err := subject.Parse("role", r.GetLife().GetRole()); err != nil {
			return err
		}
		switch {
		case lifeFact(r.Kind, r.Life) == nil:
			return fault.New("command/malformed", "a record is of no kind that this release knows").At("records")
		case r.Life.Sequence <= last:
			return fault.New("command/malformed", "records do not rise: %d after %d", r.Life.Sequence, last).At("records")
		case r.Life.Agent != "" && role != r.Life.Role:
			return fault.New("command/malformed", "agent %q is not of role %q", r.Life.Agent, r.Life.Role).At("records")
		}
		last = r.Life.Sequence
	}
	return nil
}

// lifeFact is a record as a fact, or nil for one of no kind.
func lifeFact(k loomv1.LifeKind, l *loomv1.AgentLife) *loomv1.Event {
	switch k {
	case loomv1.LifeKind_LIFE_KIND_STARTED:
		return &loomv1.Event{Fact: &loomv1.Event_AgentStarted{AgentStarted: l}}
	case loomv1.LifeKind_LIFE_KIND_RESTARTED:
		return &loomv1.Event{Fact: &loomv1.Event_AgentRestarted{AgentRestarted: l}}
	case loomv1.LifeKind_LIFE_KIND_CRASHED:
		return &loomv1.Event{Fact: &loomv1.Event_AgentCrashed{AgentCrashed: l}}
	case loomv1.LifeKind_LIFE_KIND_GIVEN_UP:
		return &loomv1.Event{Fact: &loomv1.Event_AgentGivenUp{AgentGivenUp: l}}
	case loomv1.LifeKind_LIFE_KIND_DRAINED:
		return &loomv1.Event{Fact: &loomv1.Event_AgentDrained{AgentDrained: l}}
	}
	return nil
}

// lifeOf returns what an event tells of an agent's life, or nil.
func lifeOf(e *loomv1.Event) *loomv1.AgentLife {
	for _, l := range []*loomv1.AgentLife{e.GetAgentStarted(), e.GetAgentRestarted(), e.GetAgentCrashed(), e.GetAgentGivenUp(), e.GetAgentDrained()} {
		if l != nil {
			return l
		}
	}
	return nil
}

// applyLife folds a fact of an agent's life: those of a host come in the order of its
// starts and of its records.
func (s *State) applyLife(e *loomv1.Event) error {
	l := lifeOf(e)
	if m := s.p.GetStaffing().GetLives()[l.Host]; m.GetEpoch() > l.Epoch || m.GetEpoch() == l.Epoch && m.GetSequence() >= l.Sequence {
		return fmt.Errorf("record %d of start %d of host %q, after %d of %d", l.Sequence, l.Epoch, l.Host, m.GetSequence(), m.GetEpoch())
	}
	s.applyStaffing(e)
	return nil
}

func (s *State) applyStaffing(e *loomv1.Event) {
	old := s.p.GetStaffing()
	now := &loomv1.Staffing{
		Scales: maps.Clone(old.GetScales()), Drained: maps.Clone(old.GetDrained()),
		MembersLineage: old.GetMembersLineage(), MembersGeneration: old.GetMembersGeneration(), Lives: maps.Clone(old.GetLives()),
	}
	if l := lifeOf(e); l != nil {
		if now.Lives == nil {
			now.Lives = map[string]*loomv1.LifeMark{}
		}
		now.Lives[l.Host] = &loomv1.LifeMark{Epoch: l.Epoch, Sequence: l.Sequence}
	}
	if now.Scales == nil {
		now.Scales = map[string]*loomv1.Scale{}
	}
	if now.Drained == nil {
		now.Drained = map[string]bool{}
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_RoleScaled:
		scale := proto.CloneOf(f.RoleScaled.GetScale())
		now.Scales[scale.GetRole()] = scale
		if proto.Equal(scale, &loomv1.Scale{Role: scale.GetRole()}) {
			delete(now.Scales, scale.GetRole())
		}
	case *loomv1.Event_HostDrained:
		now.Drained[f.HostDrained.GetHost()] = true
		if f.HostDrained.GetUndone() {
			delete(now.Drained, f.HostDrained.GetHost())
		}
	case *loomv1.Event_MembersChanged:
		now.MembersLineage, now.MembersGeneration = f.MembersChanged.GetLineage(), f.MembersChanged.GetGeneration()
	}
	s.p.Staffing = now
}
