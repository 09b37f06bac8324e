package graph

import (
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Restore returns the graph that a snapshot describes, nodes and edges in the
// order of their numbers, and keeps its messages. A snapshot that no log leads
// to is graph/inconsistent. Nil is an empty graph.
func Restore(from *loomv1.DecisionGraph) (*Graph, error) {
	return RestorePages(Pages{Rest: from})
}

// RestorePages is [Restore] of a graph as it was kept.
func RestorePages(p Pages) (*Graph, error) {
	g := New()
	if err := g.load(p); err != nil {
		return nil, wrong("snapshot").Because(err)
	}
	return g, nil
}

func (g *Graph) load(p Pages) *fault.Error {
	from := p.Rest
	if err := g.spans(from.GetImported(), len(p.Nodes)*g.nodes.size+len(from.GetNodes())); err != nil {
		return err
	}
	for _, page := range p.Nodes {
		if err := g.nodes.take(page, g.loadNode); err != nil {
			return err
		}
	}
	for _, n := range from.GetNodes() {
		if err := g.loadNode(n); err != nil {
			return err
		}
		g.nodes.add(n)
	}
	for _, page := range p.Edges {
		if err := g.edges.take(page, g.loadEdge); err != nil {
			return err
		}
	}
	for _, e := range from.GetEdges() {
		if err := g.loadEdge(e); err != nil {
			return err
		}
		g.edges.add(e)
	}
	for _, b := range from.GetBallots() {
		if err := g.loadBallot(b); err != nil {
			return err
		}
	}
	return g.consistent()
}

// spans notes which of so many nodes were imported.
func (g *Graph) spans(imported []*loomv1.NodeSpan, nodes int) *fault.Error {
	for _, s := range imported {
		if len(g.foreign) > 0 && s.First <= g.foreign[len(g.foreign)-1].Last || s.First == 0 || s.First > s.Last || s.Last > uint64(nodes) {
			return wrong("nodes %d to %d cannot have been imported", s.First, s.Last)
		}
		g.foreign = append(g.foreign, s)
	}
	return nil
}

func (g *Graph) loadNode(n *loomv1.DecisionNode) *fault.Error {
	if err := g.nextNode(n); err != nil {
		return err
	}
	if n.Status == 0 {
		return wrong("%s has no status", n.Id)
	}
	g.note(n)
	return nil
}

func (g *Graph) loadEdge(e *loomv1.DecisionEdge) *fault.Error {
	at, err := g.nextEdge(e)
	if err != nil {
		return err
	}
	if at.from == at.to {
		return selfLoop("", e.From)
	}
	g.tie(e, at)
	return nil
}

func (g *Graph) loadBallot(b *loomv1.Ballot) *fault.Error {
	i, err := g.find("", b.GetDecision())
	if err != nil {
		return err
	}
	if g.ballots[i] != nil || b.Status < ballotOpen || b.Status > ballotClosed {
		return wrong("the ballot on %s cannot be", b.Decision)
	}
	g.keep(i, b)
	return nil
}

// consistent says what no log leads to, of the graph as a whole.
func (g *Graph) consistent() *fault.Error {
	for i := range int32(len(g.sorts)) {
		successors := 0
		for _, e := range g.in[i] {
			if g.edgeType(e) == supersedes {
				successors++
			}
		}
		if successors > 1 || (successors == 1) != (g.statusOf(i) == superseded) {
			return wrong("%s has %d successors and its status is %d", name(int(i)+1), successors, g.statusOf(i))
		}
	}
	for t := leadsTo; t <= supersedes; t++ {
		if ordering.has(t) && !g.acyclic(of(t)) {
			return wrong("the edges of type %s go round", edgeWord(t))
		}
	}
	return nil
}

// acyclic takes away nodes that no edge leads to until none is left.
func (g *Graph) acyclic(types edgeTypes) bool {
	waits := make([]int32, len(g.sorts))
	var free []int32
	for n := range g.sorts {
		for range g.around(int32(n), types, true) {
			waits[n]++
		}
		if waits[n] == 0 {
			free = append(free, int32(n))
		}
	}
	taken := 0
	for ; len(free) > 0; taken++ {
		n := free[len(free)-1]
		free = free[:len(free)-1]
		for next := range g.around(n, types, false) {
			if waits[next]--; waits[next] == 0 {
				free = append(free, next)
			}
		}
	}
	return taken == len(g.sorts)
}
