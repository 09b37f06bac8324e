package graph

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Filter says which nodes [Graph.List] returns. Its zero value is all.
type Filter struct {
	// Type and Status, where they are set, are those of the nodes.
	Type   loomv1.DecisionType
	Status loomv1.DecisionStatus
	// Bead and Execution, where they are set, are what the nodes are about.
	Bead, Execution string
	// Limit keeps the newest so many. Zero or less keeps all.
	Limit int
}

// matches says whether a node is wanted. An imported one is about no bead or
// execution of this project.
func (g *Graph) matches(f Filter, i int32) bool {
	if f.Type != 0 && g.typeOf(i) != f.Type || f.Status != 0 && g.statusOf(i) != f.Status {
		return false
	}
	if f.Bead == "" && f.Execution == "" {
		return true
	}
	n := g.node(i)
	return !g.isForeign(i) && (f.Bead == "" || n.Bead == f.Bead) && (f.Execution == "" || n.Execution == f.Execution)
}

// Node returns a node by its id.
func (g *Graph) Node(id string) (*loomv1.DecisionNode, bool) {
	i, ok := g.at(id)
	if !ok {
		return nil, false
	}
	return g.node(i), true
}

// List returns the nodes that match, oldest first.
func (g *Graph) List(f Filter) []*loomv1.DecisionNode {
	var found []*loomv1.DecisionNode
	n, at := g.candidates(f)
	for i := n - 1; i >= 0 && (f.Limit <= 0 || len(found) < f.Limit); i-- {
		if g.matches(f, at(i)) {
			found = append(found, g.node(at(i)))
		}
	}
	slices.Reverse(found)
	return found
}

// First returns the oldest node that matches.
func (g *Graph) First(f Filter) (*loomv1.DecisionNode, bool) {
	n, at := g.candidates(f)
	for i := range n {
		if g.matches(f, at(i)) {
			return g.node(at(i)), true
		}
	}
	return nil, false
}

// candidates returns how many nodes a filter has to look at, the fewest that
// an index gives, and the place of each, oldest first.
func (g *Graph) candidates(f Filter) (int, func(int) int32) {
	n, at := len(g.sorts), func(i int) int32 { return int32(i) }
	narrow := func(index []int32) {
		if len(index) <= n {
			n, at = len(index), func(i int) int32 { return index[i] }
		}
	}
	if f.Type != 0 {
		narrow(g.byType[f.Type])
	}
	if f.Bead != "" {
		narrow(g.byBead[f.Bead])
	}
	if f.Execution != "" {
		narrow(g.byExecution[f.Execution])
	}
	return n, at
}

// Recent returns the n newest nodes, newest first.
func (g *Graph) Recent(n int) []*loomv1.DecisionNode {
	n = min(max(n, 0), len(g.sorts))
	recent := make([]*loomv1.DecisionNode, n)
	for i := range recent {
		recent[i] = g.node(int32(len(g.sorts) - 1 - i))
	}
	return recent
}

// Goals returns the active goals, oldest first.
func (g *Graph) Goals() []*loomv1.DecisionNode {
	return g.List(Filter{Type: goal, Status: active})
}

// Edges returns the edges from one node to another, oldest first. An empty id
// stands for any node, an unknown one for none.
func (g *Graph) Edges(from, to string) []*loomv1.DecisionEdge {
	i, known := g.at(from)
	j, knownTo := g.at(to)
	if from != "" && !known || to != "" && !knownTo {
		return nil
	}
	switch {
	case from == "" && to == "":
		return g.edges.whole()
	case to == "" || from != "" && len(g.out[i]) <= len(g.in[j]):
		return g.joining(g.out[i], from, to)
	}
	return g.joining(g.in[j], from, to)
}

func (g *Graph) joining(edges []int32, from, to string) []*loomv1.DecisionEdge {
	var found []*loomv1.DecisionEdge
	for _, e := range edges {
		if at := g.ends[e]; (from == "" || name(int(at.from)+1) == from) && (to == "" || name(int(at.to)+1) == to) {
			found = append(found, g.edge(e))
		}
	}
	return found
}

// Ancestors returns the nodes from which a way along edges of the given types
// leads to id, oldest first and without id. No types means all of them.
func (g *Graph) Ancestors(id string, types ...loomv1.DecisionEdgeType) []*loomv1.DecisionNode {
	return g.closure(id, types, true)
}

// Descendants returns the nodes to which a way along edges of the given types
// leads from id, oldest first and without id. No types means all of them.
func (g *Graph) Descendants(id string, types ...loomv1.DecisionEdgeType) []*loomv1.DecisionNode {
	return g.closure(id, types, false)
}

func (g *Graph) closure(id string, types []loomv1.DecisionEdgeType, backward bool) []*loomv1.DecisionNode {
	along := everyType
	if len(types) > 0 {
		along = of(types...)
	}
	start, ok := g.at(id)
	if !ok {
		return nil
	}
	f, none := newFront([]int32{start}), newFront(nil)
	for len(f.edge) > 0 {
		g.level(along, f, none, backward)
	}
	delete(f.seen, start)
	return g.sorted(f.seen)
}

// sorted returns the nodes of a search, oldest first.
func (g *Graph) sorted(seen map[int32]int32) []*loomv1.DecisionNode {
	places := make([]int32, 0, len(seen))
	for n := range seen {
		places = append(places, n)
	}
	slices.Sort(places)
	nodes := make([]*loomv1.DecisionNode, len(places))
	for i, n := range places {
		nodes[i] = g.node(n)
	}
	return nodes
}

// Neighbourhood returns the part of the graph that is at most depth edges away
// from id, in either direction, with every edge within it. Of a part with more
// than limit nodes it is the nearest, and of those what a node leads to before what
// leads to it, older edges first; no limit is 0. For an unknown id it is empty.
func (g *Graph) Neighbourhood(id string, depth, limit int) *loomv1.DecisionGraph {
	start, ok := g.at(id)
	if !ok {
		return &loomv1.DecisionGraph{}
	}
	seen, last := map[int32]int32{start: -1}, []int32{start}
	for ; depth > 0 && len(last) > 0; depth-- {
		var next []int32
		for _, n := range last {
			for _, backward := range []bool{false, true} {
				for m := range g.around(n, everyType, backward) {
					if limit > 0 && len(seen) >= limit {
						return g.part(seen)
					}
					if _, ok := seen[m]; !ok {
						seen[m] = n
						next = append(next, m)
					}
				}
			}
		}
		last = next
	}
	return g.part(seen)
}

// part returns the nodes and the edges that have both ends among them.
func (g *Graph) part(seen map[int32]int32) *loomv1.DecisionGraph {
	part := &loomv1.DecisionGraph{Nodes: g.sorted(seen)}
	var edges []int32
	for n := range seen {
		edges = g.within(edges, n, seen)
	}
	slices.Sort(edges)
	for _, e := range edges {
		part.Edges = append(part.Edges, g.edge(e))
	}
	return part
}

// within appends the edges from n to nodes seen. From a node with far more
// edges than nodes were seen it asks for each edge that there could be.
func (g *Graph) within(edges []int32, n int32, seen map[int32]int32) []int32 {
	if len(g.out[n]) <= 8*len(seen) {
		for _, e := range g.out[n] {
			if _, ok := seen[g.ends[e].to]; ok {
				edges = append(edges, e)
			}
		}
		return edges
	}
	for m := range seen {
		for t := leadsTo; t <= supersedes; t++ {
			if e, ok := g.kinds[kind{ends{n, m}, t}]; ok {
				edges = append(edges, e)
			}
		}
	}
	return edges
}

// Path returns the edges of a shortest way from one node to another, and
// whether there is one. From a node to itself it is empty.
func (g *Graph) Path(from, to string) ([]*loomv1.DecisionEdge, bool) {
	i, known := g.at(from)
	j, knownTo := g.at(to)
	if !known || !knownTo {
		return nil, false
	}
	way := g.route(everyType, []int32{i}, []int32{j})
	var edges []*loomv1.DecisionEdge
	for k := 1; k < len(way); k++ {
		between := g.Edges(g.node(way[k-1]).Id, g.node(way[k]).Id)
		edges = append(edges, between[0])
	}
	return edges, way != nil
}
