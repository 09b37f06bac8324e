package drawing

import (
	"cmp"
	"math"
	"slices"
)

// placeAcross gives items their x: each as near as may be to those it is linked
// to, in the order of the layer and with room between.
func (l *layout) placeAcross() {
	for _, layer := range l.layers {
		x := 0.0
		for i, n := range layer {
			if i > 0 {
				x += l.apart(layer[i-1], n)
			}
			l.items[n].x = x
		}
	}
	const rounds = 40
	for round := range rounds {
		both := round >= rounds/2
		for i := range l.layers {
			if round%2 == 0 {
				l.settle(l.layers[i], true, both)
			} else {
				l.settle(l.layers[len(l.layers)-1-i], both, true)
			}
		}
	}
	for range rounds / 4 {
		l.straighten()
		for i := range l.layers {
			l.settle(l.layers[i], true, true)
		}
		for i := range l.layers {
			l.settle(l.layers[len(l.layers)-1-i], true, true)
		}
	}
	l.straighten()
	left := math.Inf(1)
	for _, it := range l.items {
		left = min(left, it.x-it.w/2)
	}
	for i := range l.items {
		it := &l.items[i]
		it.x += margin - left
		l.width = max(l.width, it.x+it.w/2+margin)
	}
}

// apart is how far apart the middles of two neighbours must be.
func (l *layout) apart(a, b int) float64 {
	gap := nodeGap
	if l.items[a].node < 0 || l.items[b].node < 0 {
		gap = passGap
	}
	return (l.items[a].w+l.items[b].w)/2 + gap
}

// block is a run of neighbours that touch; its items' wishes have a mean.
type block struct {
	first, last int
	sum, weight float64
}

// settle moves a layer's items to where the sum of squares of their distances
// from where they wish to be is least, by pooling neighbours that would come
// too near each other.
func (l *layout) settle(layer []int, above, below bool) {
	var blocks []block
	offset := make([]float64, len(layer))
	for i, n := range layer {
		if i > 0 {
			offset[i] = offset[i-1] + l.apart(layer[i-1], n)
		}
		wish, weight := l.wish(n, above, below)
		blocks = append(blocks, block{i, i, (wish - offset[i]) * weight, weight})
		for k := len(blocks) - 1; k > 0 && blocks[k-1].sum/blocks[k-1].weight >= blocks[k].sum/blocks[k].weight; k-- {
			blocks[k-1].last = blocks[k].last
			blocks[k-1].sum += blocks[k].sum
			blocks[k-1].weight += blocks[k].weight
			blocks = blocks[:k]
		}
	}
	for _, b := range blocks {
		for i := b.first; i <= b.last; i++ {
			l.items[layer[i]].x = b.sum/b.weight + offset[i]
		}
	}
}

// wish returns where an item would like to be, and how much.
func (l *layout) wish(n int, above, below bool) (x, weight float64) {
	it := &l.items[n]
	add := func(links []int) {
		for _, m := range links {
			w := 2 * max(it.pull, l.items[m].pull)
			if it.node < 0 && l.items[m].node < 0 {
				w *= 4 * float64(max(len(it.down), len(l.items[m].down))) // more for a way that many share
			}
			x += w * l.items[m].x
			weight += w
		}
	}
	if above {
		add(it.up)
	}
	if below {
		add(it.down)
	}
	if weight == 0 {
		return it.x, 0.01
	}
	return x / weight, weight
}

// straighten makes the passes of each chain lie below each other, in runs as
// long as their neighbours let them.
func (l *layout) straighten() {
	for _, c := range l.chains {
		var run []int
		low, high, sum := math.Inf(-1), math.Inf(1), 0.0
		flush := func() {
			for _, n := range run {
				l.items[n].x = min(max(sum/float64(len(run)), low), high)
			}
			run, low, high, sum = nil, math.Inf(-1), math.Inf(1), 0
		}
		for _, n := range c.items[1 : len(c.items)-1] {
			left, right := l.room(n)
			if max(low, left) > min(high, right) {
				flush()
			}
			run, low, high, sum = append(run, n), max(low, left), min(high, right), sum+l.items[n].x
		}
		flush()
	}
}

// room returns between which x an item can lie where its neighbours are.
func (l *layout) room(n int) (left, right float64) {
	left, right = math.Inf(-1), math.Inf(1)
	layer, pos := l.layers[l.items[n].layer], l.items[n].pos
	if pos > 0 {
		left = l.items[layer[pos-1]].x + l.apart(layer[pos-1], n)
	}
	if pos+1 < len(layer) {
		right = l.items[layer[pos+1]].x - l.apart(n, layer[pos+1])
	}
	return min(left, l.items[n].x), max(right, l.items[n].x)
}

// placeDown gives layers and items their y. Where links go far to the side, the
// layers lie further apart.
func (l *layout) placeDown() {
	l.tops, l.bands = make([]float64, len(l.layers)), make([]float64, len(l.layers))
	y := margin
	for i, layer := range l.layers {
		aside := 0.0
		for _, n := range layer {
			l.bands[i] = max(l.bands[i], l.items[n].h)
			for _, m := range l.items[n].up {
				aside = max(aside, math.Abs(l.items[n].x-l.items[m].x))
			}
		}
		if i > 0 {
			y += min(max(layerGap, aside/6), 4*layerGap)
		}
		l.tops[i] = y
		for _, n := range layer {
			l.items[n].y = y + l.bands[i]/2
		}
		y += l.bands[i]
	}
	l.height = y + margin
}

// ports returns the x at which each chain leaves its upper and reaches its
// lower end: side by side, in the order of where they go.
func (l *layout) ports() (upper, lower []float64) {
	upper, lower = make([]float64, len(l.chains)), make([]float64, len(l.chains))
	below, above := make([][]int, len(l.items)), make([][]int, len(l.items))
	for i, c := range l.chains {
		first, last := c.items[0], c.items[len(c.items)-1]
		below[first], above[last] = append(below[first], i), append(above[last], i)
	}
	for n := range l.items {
		l.spread(n, below[n], upper, func(c chain) int { return c.items[1] })
		l.spread(n, above[n], lower, func(c chain) int { return c.items[len(c.items)-2] })
	}
	return upper, lower
}

func (l *layout) spread(n int, chains []int, at []float64, next func(chain) int) {
	slices.SortStableFunc(chains, func(a, b int) int {
		return cmp.Compare(l.items[next(l.chains[a])].pos, l.items[next(l.chains[b])].pos)
	})
	var places []int // those that share their way have one
	for i, c := range chains {
		if i == 0 || next(l.chains[c]) != next(l.chains[chains[i-1]]) {
			places = append(places, 0)
		}
		places[len(places)-1]++
	}
	step := min(22, l.items[n].flat/float64(max(1, len(places)-1)))
	for i, many := range places {
		for _, c := range chains[:many] {
			at[c] = l.items[n].x + (float64(i)-float64(len(places)-1)/2)*step
		}
		chains = chains[many:]
	}
}
