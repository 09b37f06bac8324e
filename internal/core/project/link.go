package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// Limits of links between beads.
const (
	MaxBlockers = 32 // beads that one bead can wait for
	MaxDepth    = 16 // beads in a line of parents, the lowest included
)

// linked returns the bead that a link leads to: one of this project, and none
// that the CEO answers.
func (s *State) linked(where, id string) (*loomv1.Bead, *fault.Error) {
	if _, err := subject.Parse("bead", id); err != nil {
		return nil, fault.From(err).At(where)
	}
	b := s.bead(id)
	switch {
	case b == nil:
		return nil, fault.New("bead/unknown", "bead is not known in project %q", s.cfg.ID).At(where).Got(id)
	case b.Type == loomv1.BeadType_BEAD_TYPE_APPROVAL:
		return nil, fault.New("bead/invalid", "bead %q is an approval, which is answered and not worked on", id).At(where)
	}
	return b, nil
}

func (d *decision) checkParent(b *loomv1.Bead) []*fault.Error {
	if b.Parent == "" {
		return nil
	}
	up, bad := d.s.linked("parent", b.Parent)
	if bad != nil {
		return problem(bad)
	}
	line := []string{}
	for ; up != nil && len(line) <= MaxDepth; up = d.s.bead(up.Parent) {
		line = append(line, up.Id)
		if up.Id == b.Id {
			return problem(fault.New("bead/cycle", "bead %q would be a part of itself: %s", b.Id, strings.Join(append([]string{b.Id}, line...), " -> ")).At("parent"))
		}
	}
	if depth := len(line) + d.s.height(b.Id, MaxDepth); depth > MaxDepth {
		return problem(fault.New("bead/invalid", "%d or more beads would be parts of each other, the most is %d", depth, MaxDepth).At("parent").Got(b.Parent))
	}
	return nil
}

// height returns how many beads there are in the longest line of children that
// begins with a bead, at most about most.
func (s *State) height(id string, most int) int {
	below := 0
	if most > 0 {
		for _, c := range s.index.children[id] {
			below = max(below, s.height(c, most-1))
		}
	}
	return below + 1
}

func (d *decision) checkBlockers(b *loomv1.Bead) []*fault.Error {
	if len(b.BlockedBy) > MaxBlockers {
		return problem(fault.New("bead/invalid", "%d beads to wait for, the most is %d", len(b.BlockedBy), MaxBlockers).At("blocked_by"))
	}
	var errs []*fault.Error
	for i, id := range b.BlockedBy {
		where := fmt.Sprintf("blocked_by[%d]", i)
		if _, bad := d.s.linked(where, id); bad != nil {
			errs = append(errs, bad)
		} else if way := d.s.way(id, b.Id); way != nil {
			errs = append(errs, fault.New("bead/cycle", "bead %q would wait for itself: %s", b.Id, strings.Join(append([]string{b.Id}, way...), " -> ")).At(where))
		}
	}
	return errs
}

// way returns the beads by which from waits for to, both included, or nil. What
// works for to is held with it, and so waits for it too.
func (s *State) way(from, to string) []string {
	if to == "" { // a bead that is not filed yet: nobody can wait for it
		return nil
	}
	came := map[string]string{from: ""}
	for next := []string{from}; len(next) > 0; next = next[1:] {
		at := next[0]
		if slices.Contains(s.masters(at), to) {
			came[to], at = at, to
		}
		if at == to {
			way := []string{at}
			for came[at] != "" {
				at = came[at]
				way = append(way, at)
			}
			slices.Reverse(way)
			return way
		}
		for _, on := range s.waitsFor(s.bead(at)) {
			if _, seen := came[on]; !seen {
				came[on] = at
				next = append(next, on)
			}
		}
	}
	return nil
}

// masters returns the beads that the execution of a bead works for, the nearest
// first.
func (s *State) masters(bead string) []string {
	var list []string
	x := s.execution(s.bead(bead).GetExecution())
	for x = s.execution(x.GetParent()); x != nil; x = s.execution(x.Parent) {
		list = append(list, x.Bead)
	}
	return list
}

// waitsFor returns the beads that must end before b goes on: its blockers, those
// of the beads that it works for, those that do the work of its execution's nodes,
// and tasks that its attempts gave, which they may wait for. Sorted, each may stand twice.
func (s *State) waitsFor(b *loomv1.Bead) []string {
	list := slices.Clone(b.GetBlockedBy())
	for _, up := range s.masters(b.GetId()) {
		list = append(list, s.bead(up).GetBlockedBy()...)
	}
	for _, n := range s.execution(b.GetExecution()).GetNodes() {
		for _, helper := range s.helpersOf(n.GetAttempt()) {
			if running(helper) {
				list = append(list, helper.Bead)
			}
		}
	}
	slices.Sort(list)
	return list
}
