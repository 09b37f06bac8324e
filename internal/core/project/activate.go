package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Before its steps begin, a session is judged by what is at hand for them, and what they
// may spend is held back for it: no other session is promised the same money, and its own
// work can spend no more.

// means are what the project has for a session: the roles that it knows, the tools that
// those of its steps may use, and what may still be spent.
func (d *decision) means(on *intent.Session) *loomv1.IntentMeans {
	m := &loomv1.IntentMeans{Roles: d.s.cfg.Roles.Names()}
	for _, step := range on.Pattern().GetSteps() {
		if role, ok := d.s.cfg.Roles.Get(step.Role); ok {
			m.Tools = append(m.Tools, role.Tools.Allow...)
		}
	}
	m.BudgetMicroUsd, m.Limited = d.room(on.ID())
	return m
}

// activation names who will do each step of a session, and reserves what the project gives
// to a bead, or what is left of that. Where it gives any bead what it wants, nothing is
// reserved: one session would have it all.
func (d *decision) activation(on *intent.Session) *loomv1.ActivatePattern {
	a := &loomv1.ActivatePattern{}
	for _, step := range on.Pattern().GetSteps() {
		a.Agents = append(a.Agents, d.s.agentsOf(step.Role))
	}
	if left, _ := d.room(on.ID()); d.s.p.Config.GetBeadBudget().GetMicroUsd() > 0 {
		a.BudgetMicroUsd = max(left, 1) // with nothing at all META validation has not passed
	}
	return a
}

// agentsOf names a role with the agents of it that hosts have said that they have:
// "analyst (2 at h1, 4 at h2)".
func (s *State) agentsOf(role string) string {
	var at []string
	for _, host := range slices.Sorted(maps.Keys(s.p.Hosts)) {
		if n := s.p.Hosts[host].Agents[role]; n > 0 {
			at = append(at, fmt.Sprintf("%d at %s", n, host))
		}
	}
	if len(at) == 0 {
		return role
	}
	return role + " (" + strings.Join(at, ", ") + ")"
}

// room is what the work of a session may spend, in micro-dollars: of a bead's budget, and
// of what is left to the project and of its day beside what is held back for other
// sessions. limited is false where none of them bounds it.
func (d *decision) room(session string) (left int64, limited bool) {
	bound := func(n int64) {
		if !limited || n < left {
			left, limited = n, true
		}
	}
	if most := d.s.p.Config.GetBeadBudget().GetMicroUsd(); most > 0 {
		bound(most)
	}
	reserved := d.s.reservedBeside(session)
	if most := d.s.projectAllowed().GetMicroUsd(); most > 0 {
		bound(most - d.s.spent.money - reserved)
	}
	if most := d.s.dayAllowed(d.wall).GetMicroUsd(); most > 0 {
		bound(most - d.s.spentToday(d.wall).money - reserved)
	}
	return left, limited
}

// reservedBeside adds up what is held back for other sessions and is not spent yet.
func (s *State) reservedBeside(session string) (held int64) {
	for id, on := range s.sessions { // in any order: it is a sum
		if most := on.Reserved().GetBudgetMicroUsd(); id != session && most > 0 {
			held += max(0, most-s.spentInSession(id))
		}
	}
	return held
}

// spentInSession is what the work of a session's bead has cost.
func (s *State) spentInSession(id string) int64 {
	x := s.execution(s.bead(s.p.Sessions[id].GetBead()).GetExecution())
	if x == nil {
		return 0
	}
	return s.spentBy(x).money
}

// reservedBudget is what the bead of a session's steps may spend; nil for what the project
// allows a bead.
func (s *State) reservedBudget(on *intent.Session) *loomv1.Budget {
	if most := on.Reserved().GetBudgetMicroUsd(); most > 0 {
		return &loomv1.Budget{MicroUsd: most, Tokens: s.p.Config.GetBeadBudget().GetTokens()}
	}
	return nil
}
