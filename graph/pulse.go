package graph

import (
	"slices"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a pulse takes for granted where nothing else is said.
const (
	// StaleAfter is how long a goal may go without anything new.
	StaleAfter = 7 * 24 * time.Hour
	// LowConfidence is below what a decision should be looked at again.
	LowConfidence = 50

	pulseMost = 20 // nodes of one finding
)

// Pulse says how healthy the graph is at a moment. Its findings are in the
// order of their words, those without a node left out:
//
//   - contradiction: an option that one active decision chose and another
//     rejected, or one that active decisions chose although it stands against
//     another that they chose ([Graph.Rivals]);
//   - low-confidence: an active decision below 50;
//   - orphan: an active node, not a goal, that no edge touches;
//   - revisit: something to be looked at again that nothing has come of;
//   - stale: an active node that rests on what counts no more ([Graph.Stale]);
//   - stale-goal: an active goal that nothing new came of for a time (7 days
//     where none is given);
//   - undecided: an active decision that options lead from, none of them
//     chosen.
//
// It costs a look at every node and edge.
func (g *Graph) Pulse(now time.Time, stale time.Duration) *loomv1.Pulse {
	if stale <= 0 {
		stale = StaleAfter
	}
	p := &loomv1.Pulse{
		Nodes: uint32(len(g.sorts)), Edges: uint32(len(g.ends)),
		Types: map[string]uint32{}, Statuses: map[string]uint32{},
	}
	for i := range int32(len(g.sorts)) {
		p.Types[nodeWord(g.typeOf(i))]++
		p.Statuses[statusWord(g.statusOf(i))]++
	}
	rests, taken := g.Stale(), g.taken()
	for _, f := range []struct {
		kind, meaning string
		is            func(int32) bool
	}{
		{"contradiction", "an option that one active decision chose and another rejected, or that stands against one that was chosen", func(i int32) bool { return g.contradicted(i) || g.rivalled(i, taken) }},
		{"low-confidence", "an active decision that its author doubted", g.doubted},
		{"orphan", "an active node that nothing is linked to", g.orphan},
		{"revisit", "to be looked at again, and nothing has come of it", g.open},
		{"stale", "an active node that rests on what was superseded or given up", func(i int32) bool { return rests[name(int(i)+1)] != "" }},
		{"stale-goal", "an active goal that nothing new came of", func(i int32) bool { return g.staleGoal(i, now.Add(-stale)) }},
		{"undecided", "an active decision with options, none of them chosen", g.undecided},
	} {
		p.Findings = append(p.Findings, g.finding(f.kind, f.meaning, f.is)...)
	}
	return p
}

// finding returns the active nodes that are so, or nothing.
func (g *Graph) finding(kind, meaning string, is func(int32) bool) []*loomv1.PulseFinding {
	f := &loomv1.PulseFinding{Kind: kind, Meaning: meaning}
	for i := range int32(len(g.sorts)) {
		if g.statusOf(i) != active || !is(i) {
			continue
		}
		if f.Count++; f.Count <= pulseMost {
			f.Nodes = append(f.Nodes, g.node(i))
		}
	}
	if f.Count == 0 {
		return nil
	}
	return []*loomv1.PulseFinding{f}
}

func (g *Graph) orphan(i int32) bool {
	return g.typeOf(i) != goal && len(g.in[i]) == 0 && len(g.out[i]) == 0
}

func (g *Graph) doubted(i int32) bool {
	return g.typeOf(i) == decided && g.confidence(i) < LowConfidence
}

func (g *Graph) open(i int32) bool {
	return g.typeOf(i) == loomv1.DecisionType_DECISION_TYPE_REVISIT && len(g.out[i]) == 0
}

// contradicted reports whether active decisions differ about an option.
func (g *Graph) contradicted(i int32) bool {
	says := func(t loomv1.DecisionEdgeType) bool {
		return slices.ContainsFunc(g.in[i], func(e int32) bool {
			return g.edgeType(e) == t && g.statusOf(g.ends[e].from) == active
		})
	}
	return says(chosen) && says(rejected)
}

func (g *Graph) undecided(i int32) bool {
	options, made := false, false
	for _, e := range g.out[i] {
		to := g.ends[e].to
		options = options || g.typeOf(to) == option && g.statusOf(to) == active
		made = made || g.edgeType(e) == chosen
	}
	return g.typeOf(i) == decided && options && !made
}

// staleGoal reports whether the goal and all about its bead are older than a
// moment. A goal whose outcome is there has been reached.
func (g *Graph) staleGoal(i int32, before time.Time) bool {
	if g.typeOf(i) != goal {
		return false
	}
	n := g.node(i)
	last := n
	if about := g.byBead[n.Bead]; len(about) > 0 && !g.isForeign(i) {
		last = g.node(about[len(about)-1])
	}
	for _, e := range g.out[i] {
		if to := g.node(g.ends[e].to); to.Time.AsTime().After(last.Time.AsTime()) {
			last = to
		}
	}
	return last.Type != outcome && last.Time.AsTime().Before(before)
}
