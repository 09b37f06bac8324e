package graph

import (
	"iter"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Dependents returns what rests on a node, oldest first and without it: what
// it led to or made possible, what requires it, the decisions that chose it,
// and what rests on those. The options that a decision leads to do not rest on
// it. For an unknown id there is none.
func (g *Graph) Dependents(id string) []*loomv1.DecisionNode {
	start, ok := g.at(id)
	if !ok {
		return nil
	}
	seen := map[int32]int32{start: -1}
	for queue := []int32{start}; len(queue) > 0; queue = queue[1:] {
		for m := range g.resting(queue[0]) {
			if _, ok := seen[m]; !ok {
				seen[m] = queue[0]
				queue = append(queue, m)
			}
		}
	}
	delete(seen, start)
	return g.sorted(seen)
}

// resting yields the nodes that rest on a node at first hand.
func (g *Graph) resting(n int32) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for _, e := range g.out[n] {
			to := g.ends[e].to
			t := g.edgeType(e)
			if t == leadsTo && g.typeOf(n) == decided && g.typeOf(to) == option {
				continue // a decision is about its options
			}
			if (t == leadsTo || t == enables) && !yield(to) {
				return
			}
		}
		for _, e := range g.in[n] {
			if t := g.edgeType(e); (t == requires || t == chosen) && !yield(g.ends[e].from) {
				return
			}
		}
	}
}

// rests reports whether one node rests on another at first hand.
func (g *Graph) rests(n, on int32) bool {
	for _, k := range []kind{{ends{on, n}, leadsTo}, {ends{on, n}, enables}, {ends{n, on}, requires}, {ends{n, on}, chosen}} {
		if _, ok := g.kinds[k]; ok {
			return true
		}
	}
	return false
}

// Stale returns the active nodes that rest on one that was superseded or given
// up, by their ids, each with the id of that. A node that rests at first hand on
// what took the superseded one's place is not stale for that reason: so linking
// the two says that it was looked at again and still holds. Nothing takes the
// place of what was given up. It costs what counts no more, and what rests on
// that.
func (g *Graph) Stale() map[string]string {
	stale := map[string]string{}
	marked := map[int32]bool{}
	for i := range int32(len(g.sorts)) {
		if s := g.statusOf(i); s == superseded || s == abandoned {
			g.mark(i, marked, func(m int32) {
				if g.statusOf(m) == active {
					stale[name(int(m)+1)] = name(int(i) + 1)
				}
			})
		}
	}
	return stale
}

// mark calls found for all that is stale because of a node that counts no more,
// and is not marked yet.
func (g *Graph) mark(old int32, marked map[int32]bool, found func(int32)) {
	heirs, newest := g.heirs(old), int32(-1)
	if len(heirs) > 0 {
		newest = heirs[len(heirs)-1]
	}
	spared := map[int32]bool{old: true}
	for _, h := range heirs {
		spared[h] = true
	}
	for queue := []int32{old}; len(queue) > 0; queue = queue[1:] {
		for m := range g.resting(queue[0]) {
			if marked[m] || spared[m] || g.rests(m, newest) {
				continue
			}
			marked[m] = true
			found(m)
			queue = append(queue, m)
		}
	}
}

// heirs returns what took the place of a superseded node, what took the place
// of that, and so on.
func (g *Graph) heirs(old int32) []int32 {
	var all []int32
	for id := g.successor(old); id != ""; {
		i, ok := g.at(id)
		if !ok {
			break
		}
		all = append(all, i)
		id = g.successor(i)
	}
	return all
}
