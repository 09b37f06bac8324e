package graph

import (
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Restore returns the graph that a snapshot describes, nodes and edges in the
// order of their numbers, and keeps its messages. A snapshot that no log leads
// to is graph/inconsistent. Nil is an empty graph.
func Restore(from *loomv1.DecisionGraph) (*Graph, error) {
	g := New()
	if err := g.load(from); err != nil {
		return nil, wrong("snapshot").Because(err)
	}
	return g, nil
}

func (g *Graph) load(from *loomv1.DecisionGraph) *fault.Error {
	for _, s := range from.GetImported() {
		if len(g.foreign) > 0 && s.First <= g.foreign[len(g.foreign)-1].Last || s.First == 0 || s.First > s.Last || s.Last > uint64(len(from.Nodes)) {
			return wrong("nodes %d to %d cannot have been imported", s.First, s.Last)
		}
		g.foreign = append(g.foreign, s)
	}
	for _, n := range from.GetNodes() {
		if err := g.nextNode(n); err != nil {
			return err
		}
		if n.Status == 0 {
			return wrong("%s has no status", n.Id)
		}
		g.put(n)
	}
	for _, e := range from.GetEdges() {
		at, err := g.nextEdge(e)
		if err != nil {
			return err
		}
		if at.from == at.to {
			return selfLoop("", e.From)
		}
		g.join(e, at)
	}
	for _, b := range from.GetBallots() {
		i, err := g.find("", b.GetDecision())
		if err != nil {
			return err
		}
		if g.ballots[i] != nil || b.Status < ballotOpen || b.Status > ballotClosed {
			return wrong("the ballot on %s cannot be", b.Decision)
		}
		g.keep(i, b)
	}
	return g.consistent()
}

// consistent says what no log leads to, of the graph as a whole.
func (g *Graph) consistent() *fault.Error {
	for i, n := range g.nodes {
		successors := 0
		for _, e := range g.in[i] {
			if g.edges[e].Type == supersedes {
				successors++
			}
		}
		if successors > 1 || (successors == 1) != (n.Status == superseded) {
			return wrong("%s has %d successors and its status is %d", n.Id, successors, n.Status)
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
	waits := make([]int32, len(g.nodes))
	var free []int32
	for n := range g.nodes {
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
	return taken == len(g.nodes)
}
