package drawing

import (
	"cmp"
	"slices"
)

// order sorts the layers so that few links cross: by the medians of the layers
// above and below in turn, with swaps of neighbours, keeping the best.
func (l *layout) order() {
	best, least := l.positions(), l.crossings()
	rounds := min(24, 4+2_000_000/(len(l.items)*len(l.items)+1))
	for round := range rounds {
		if least == 0 {
			break
		}
		l.sweep(round%2 == 0)
		l.swap()
		if c := l.crossings(); c < least {
			best, least = l.positions(), c
		}
	}
	for i, pos := range best {
		l.items[i].pos = pos
	}
	for _, layer := range l.layers {
		l.sort(layer)
	}
}

func (l *layout) positions() []int {
	pos := make([]int, len(l.items))
	for i, it := range l.items {
		pos[i] = it.pos
	}
	return pos
}

// sort puts a layer in the order of its items' positions.
func (l *layout) sort(layer []int) {
	slices.SortFunc(layer, func(a, b int) int { return cmp.Compare(l.items[a].pos, l.items[b].pos) })
}

// sweep orders each layer by the medians of its neighbours in the one before.
func (l *layout) sweep(downwards bool) {
	for i := range l.layers {
		layer, next := l.layers[i], func(it *item) []int { return it.up }
		if !downwards {
			layer, next = l.layers[len(l.layers)-1-i], func(it *item) []int { return it.down }
		}
		key := make(map[int]float64, len(layer))
		for _, n := range layer {
			key[n] = l.median(next(&l.items[n]), float64(l.items[n].pos))
		}
		slices.SortStableFunc(layer, func(a, b int) int { return cmp.Compare(key[a], key[b]) })
		for pos, n := range layer {
			l.items[n].pos = pos
		}
	}
}

// median returns the weighted median of items' positions, or else.
func (l *layout) median(of []int, otherwise float64) float64 {
	if len(of) == 0 {
		return otherwise
	}
	at := make([]int, len(of))
	for i, n := range of {
		at[i] = l.items[n].pos
	}
	slices.Sort(at)
	m := len(at) / 2
	switch {
	case len(at)%2 == 1:
		return float64(at[m])
	case len(at) == 2:
		return float64(at[0]+at[1]) / 2
	}
	left, right := float64(at[m-1]-at[0]), float64(at[len(at)-1]-at[m])
	if left+right == 0 {
		return float64(at[m])
	}
	return (float64(at[m-1])*right + float64(at[m])*left) / (left + right)
}

// swap exchanges neighbours as long as that leaves fewer crossings.
func (l *layout) swap() {
	for better := true; better; {
		better = false
		for _, layer := range l.layers {
			for i := 1; i < len(layer); i++ {
				a, b := &l.items[layer[i-1]], &l.items[layer[i]]
				if l.pair(a, b) > l.pair(b, a) {
					a.pos, b.pos = b.pos, a.pos
					layer[i-1], layer[i] = layer[i], layer[i-1]
					better = true
				}
			}
		}
	}
}

// pair counts the crossings of two neighbours' links, a being left of b.
func (l *layout) pair(a, b *item) int {
	return l.inverted(a.up, b.up) + l.inverted(a.down, b.down)
}

func (l *layout) inverted(a, b []int) (n int) {
	for _, x := range a {
		for _, y := range b {
			if l.items[x].pos > l.items[y].pos {
				n++
			}
		}
	}
	return n
}

// crossings counts all crossings of links.
func (l *layout) crossings() (n int) {
	for i, layer := range l.layers {
		if i+1 < len(l.layers) {
			n += l.between(layer, len(l.layers[i+1]))
		}
	}
	return n
}

// between counts the inversions of links below a layer with a Fenwick tree.
func (l *layout) between(layer []int, below int) (n int) {
	tree := make([]int, below+1)
	total := 0
	for _, a := range layer {
		down := make([]int, len(l.items[a].down))
		for i, b := range l.items[a].down {
			down[i] = l.items[b].pos
		}
		for _, pos := range down { // those seen before that lie right of it
			n += total
			for i := pos + 1; i > 0; i -= i & -i {
				n -= tree[i]
			}
		}
		for _, pos := range down {
			total++
			for i := pos + 1; i <= below; i += i & -i {
				tree[i]++
			}
		}
	}
	return n
}
