package project

import (
	"maps"

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

func (s *State) applyStaffing(e *loomv1.Event) {
	old := s.p.GetStaffing()
	now := &loomv1.Staffing{
		Scales: maps.Clone(old.GetScales()), Drained: maps.Clone(old.GetDrained()),
		MembersLineage: old.GetMembersLineage(), MembersGeneration: old.GetMembersGeneration(),
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
