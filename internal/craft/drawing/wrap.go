package drawing

import (
	"cmp"
	"math"
	"slices"
)

const (
	leastAcross = 8 // nodes that may always stand side by side
	leastBundle = 4 // edges that share their way
)

// across is the most nodes that stand side by side: of a large graph so many that
// it becomes neither a strip nor a tower.
func across(nodes int) int { return max(leastAcross, int(math.Sqrt(0.6*float64(nodes)))) }

// wrap breaks layers that are too wide into several, one below the other: first
// stands what has something below it, and what is below that; what has nothing
// below it fills up the rows. What is below what moved down moves as well. A
// graph without such a layer stays as it is.
func (l *layout) wrap(nodes int, ends [][2]int) {
	most, count := across(nodes), map[int]int{}
	for n := range nodes {
		count[l.items[n].layer]++
		l.dense = l.dense || count[l.items[n].layer] > most
	}
	if !l.dense {
		return
	}
	above, parent := make([][]int, nodes), make([]bool, nodes)
	for _, e := range ends {
		above[e[1]], parent[e[0]] = append(above[e[1]], e[0]), true
	}
	loose := func(n int) bool { return !parent[n] && count[l.items[n].layer] > most }
	order := l.downwards(nodes, loose)
	count = map[int]int{}
	for _, n := range order {
		layer := l.items[n].layer
		for _, up := range above[n] {
			layer = max(layer, l.items[up].layer+2)
		}
		for count[layer] >= most {
			layer += 2
		}
		count[layer]++
		l.items[n].layer = layer
	}
}

// downwards returns the nodes by their layers; after all others those that are
// loose, the lowest first, so that they stand near what leads to them.
func (l *layout) downwards(nodes int, loose func(int) bool) []int {
	var order, rest []int
	for n := range nodes {
		if loose(n) {
			rest = append(rest, n)
		} else {
			order = append(order, n)
		}
	}
	byLayer := func(a, b int) int { return cmp.Compare(l.items[a].layer, l.items[b].layer) }
	slices.SortStableFunc(order, byLayer)
	slices.SortStableFunc(rest, func(a, b int) int { return byLayer(b, a) })
	return append(order, rest...)
}

// part has what passes a row go through its middle, where rows were wrapped: so
// those below stand in the middle as well.
func (l *layout) part() {
	if !l.dense {
		return
	}
	for i, layer := range l.layers {
		var nodes, passes []int
		for _, n := range layer {
			if l.items[n].node >= 0 {
				nodes = append(nodes, n)
			} else {
				passes = append(passes, n)
			}
		}
		half := len(nodes) / 2
		l.layers[i] = slices.Concat(nodes[:half], passes, nodes[half:])
		for pos, n := range l.layers[i] {
			l.items[n].pos = pos
		}
	}
}

// bundle is edges of one look from one node, or to one.
type bundle struct {
	node   int
	from   bool
	label  string
	dashed bool
	tone   Tone
}

// bundles says which edges share their way, where rows were wrapped: many from
// one node, else many to one. An edge that does not has none.
func (l *layout) bundles(ends [][2]int, down []bool, edges []Edge) []*bundle {
	list := make([]*bundle, len(edges))
	if !l.dense {
		return list
	}
	look := func(i int, from bool) bundle {
		e := edges[i]
		if from {
			return bundle{ends[i][0], true, e.Label, e.Dashed, e.Tone}
		}
		return bundle{ends[i][1], false, "", e.Dashed, e.Tone}
	}
	size := map[bundle]int{}
	for i := range edges {
		if down[i] {
			size[look(i, true)]++
			size[look(i, false)]++
		}
	}
	for i := range edges {
		for _, from := range []bool{true, false} {
			if b := look(i, from); down[i] && list[i] == nil && size[b] >= leastBundle {
				list[i] = &b
			}
		}
	}
	return list
}

// way is a place that the edges of a bundle pass.
type way struct {
	bundle
	layer int
}

// pass returns the item by which an edge passes a layer: its own, or that of its
// bundle.
func (l *layout) pass(b *bundle, it item) int {
	if b == nil || !b.from && it.label != "" {
		l.items = append(l.items, it)
		return len(l.items) - 1
	}
	at := way{*b, it.layer}
	if n, there := l.ways[at]; there {
		return n
	}
	if l.ways == nil {
		l.ways = map[way]int{}
	}
	l.ways[at] = len(l.items)
	l.items = append(l.items, it)
	return len(l.items) - 1
}
