package graph

import "slices"

// front is one side of a search: the nodes it has seen, each with the one it
// was reached from (-1 for where it began), and those of its last level.
type front struct {
	seen map[int32]int32
	edge []int32
}

func newFront(from []int32) *front {
	f := &front{seen: make(map[int32]int32, len(from)), edge: from}
	for _, n := range from {
		f.seen[n] = -1
	}
	return f
}

// trail returns the way from where the search began to n.
func (f *front) trail(n int32) []int32 {
	var way []int32
	for ; n >= 0; n = f.seen[n] {
		way = append(way, n)
	}
	slices.Reverse(way)
	return way
}

// route returns the nodes of a shortest way along edges of the given types
// from one of starts to one of goals, or nil. It searches from both sides, a
// level at a time where less has been seen, so it costs no more than about
// twice the smaller of the two sides: nothing when one of them is empty.
func (g *Graph) route(types edgeTypes, starts, goals []int32) []int32 {
	ahead, behind := newFront(starts), newFront(goals)
	for _, n := range starts {
		if _, ok := behind.seen[n]; ok {
			return []int32{n}
		}
	}
	for len(ahead.edge) > 0 && len(behind.edge) > 0 {
		var meet int32
		if len(ahead.seen) <= len(behind.seen) {
			meet = g.level(types, ahead, behind, false)
		} else {
			meet = g.level(types, behind, ahead, true)
		}
		if meet >= 0 {
			back := behind.trail(meet)
			slices.Reverse(back)
			return append(ahead.trail(meet), back[1:]...)
		}
	}
	return nil
}

// level takes f one level further, against the edges if backward, and returns
// a node that the other side has seen, or -1.
func (g *Graph) level(types edgeTypes, f, other *front, backward bool) int32 {
	last := f.edge
	f.edge = nil
	for _, n := range last {
		for next := range g.around(n, types, backward) {
			if _, ok := f.seen[next]; ok {
				continue
			}
			f.seen[next] = n
			if _, ok := other.seen[next]; ok {
				return next
			}
			f.edge = append(f.edge, next)
		}
	}
	return -1
}

// around yields the other end of each edge of the given types from n, or to n
// if backward, oldest edge first.
func (g *Graph) around(n int32, types edgeTypes, backward bool) func(func(int32) bool) {
	edges := g.out[n]
	if backward {
		edges = g.in[n]
	}
	return func(yield func(int32) bool) {
		for _, e := range edges {
			next := g.ends[e].to
			if backward {
				next = g.ends[e].from
			}
			if types.has(g.edgeType(e)) && !yield(next) {
				return
			}
		}
	}
}
