package drawing

import "slices"

// Sizes, in pixels.
const (
	fontSize   = 13.0
	lineHeight = 17.0
	padding    = 14.0 // between a node's outline and its words
	widest     = 260.0
	labelSize  = 11.0
	labelMost  = 230.0
	nodeGap    = 30.0 // between neighbours in a layer
	passGap    = 14.0
	layerGap   = 18.0 // between layers
	margin     = 16.0
)

// item is a place in a layer: a node, or where an edge passes or has its label.
type item struct {
	node  int // index, or -1
	label string
	w, h  float64
	flat  float64 // of a node: how much of its upper and lower side is straight
	layer int
	pos   int   // in its layer
	up    []int // items it is linked to in the layer above
	down  []int
	x, y  float64 // of its middle
	pull  float64 // of a pass: how much its edge's straightness matters
}

// chain is an edge as it is laid out: the items from its upper to its lower
// end. A reversed one leads upwards.
type chain struct {
	items    []int
	reversed bool
}

type layout struct {
	items  []item
	dense  bool        // rows were wrapped
	ways   map[way]int // items that bundles share
	layers [][]int
	chains []chain
	tops   []float64 // of the layers
	bands  []float64 // heights of the layers
	width  float64
	height float64
}

// arrange lays a graph out; nodes have the items of their own indices.
func arrange(nodes []Node, edges []Edge) *layout {
	l := &layout{}
	index := make(map[string]int, len(nodes))
	for i, n := range nodes {
		index[n.ID] = i
		w, h := size(n)
		l.items = append(l.items, item{node: i, w: w, h: h, flat: flat(n.Shape, w, h)})
	}
	ends := make([][2]int, len(edges))
	for i, e := range edges {
		ends[i] = [2]int{index[e.From], index[e.To]}
	}
	down := direct(len(nodes), ends, edges)
	l.rank(len(nodes), ends)
	l.wrap(len(nodes), ends)
	bundles := l.bundles(ends, down, edges)
	for i, e := range edges {
		l.thread(ends[i], down[i], e, bundles[i])
	}
	l.fill()
	l.part()
	l.order()
	l.placeAcross()
	l.placeDown()
	return l
}

// direct turns edges so that none closes a cycle; it says which keep their
// direction. Those that lead back by their own word are turned first.
func direct(nodes int, ends [][2]int, edges []Edge) []bool {
	kept := make([]bool, len(ends))
	out := make([][]int, nodes)
	for i := range ends {
		if kept[i] = !edges[i].Back; !kept[i] {
			ends[i][0], ends[i][1] = ends[i][1], ends[i][0]
		}
		out[ends[i][0]] = append(out[ends[i][0]], i)
	}
	const open, done = 1, 2
	state := make([]int, nodes)
	var visit func(n int)
	visit = func(n int) {
		state[n] = open
		for _, e := range out[n] {
			switch to := ends[e][1]; state[to] {
			case open:
				kept[e] = !kept[e]
				ends[e] = [2]int{to, n}
			case 0:
				visit(to)
			}
		}
		state[n] = done
	}
	for n := range nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
	return kept
}

// rank gives each node the layer below all that lead to it. Between two layers
// of nodes lies one of labels.
func (l *layout) rank(nodes int, ends [][2]int) {
	in, out := make([]int, nodes), make([][]int, nodes)
	for _, e := range ends {
		in[e[1]]++
		out[e[0]] = append(out[e[0]], e[1])
	}
	var free []int
	for n := range nodes {
		if in[n] == 0 {
			free = append(free, n)
		}
	}
	sources := slices.Clone(free)
	for ; len(free) > 0; free = free[1:] {
		for _, to := range out[free[0]] {
			l.items[to].layer = max(l.items[to].layer, l.items[free[0]].layer+2)
			if in[to]--; in[to] == 0 {
				free = append(free, to)
			}
		}
	}
	for _, n := range sources { // a source stands just above what it leads to
		for i, to := range out[n] {
			if above := l.items[to].layer - 2; i == 0 || above < l.items[n].layer {
				l.items[n].layer = above
			}
		}
	}
}

// thread makes the items that an edge passes, with its label beside the end
// where it begins. Those of a bundle share them.
func (l *layout) thread(ends [2]int, forth bool, e Edge, shared *bundle) {
	first, last := l.items[ends[0]].layer, l.items[ends[1]].layer
	c := chain{items: []int{ends[0]}, reversed: !forth}
	at := first + 1
	if c.reversed {
		at = last - 1
	}
	for layer := first + 1; layer < last; layer++ {
		pass := item{node: -1, layer: layer, w: 2, pull: 1}
		if e.Dashed {
			pass.pull = 0.2
		}
		if label := clean(e.Label, labelSize, labelMost); layer == at && label != "" {
			pass.label, pass.w, pass.h = label, measure(label, labelSize)+8, labelSize+6
		}
		c.items = append(c.items, l.pass(shared, pass))
	}
	c.items = append(c.items, ends[1])
	for i := 1; i < len(c.items); i++ {
		a, b := c.items[i-1], c.items[i]
		if shared != nil && slices.Contains(l.items[b].up, a) {
			continue
		}
		l.items[a].down = append(l.items[a].down, b)
		l.items[b].up = append(l.items[b].up, a)
	}
	l.chains = append(l.chains, c)
}

// fill puts the items into their layers, in the order they were made.
func (l *layout) fill() {
	for i := range l.items {
		it := &l.items[i]
		for len(l.layers) <= it.layer {
			l.layers = append(l.layers, nil)
		}
		it.pos = len(l.layers[it.layer])
		l.layers[it.layer] = append(l.layers[it.layer], i)
	}
}

// size returns how large a node is drawn.
func size(n Node) (w, h float64) {
	for i, text := range n.words() {
		w = max(w, measure(text, fontSize-float64(min(i, 1))))
		h += lineHeight
	}
	w, h = max(w+2*padding, 60), max(h, lineHeight)+padding
	if n.Shape != Box {
		w += h / 2
	}
	return w, h
}

func flat(s Shape, w, h float64) float64 {
	switch s {
	case Pill:
		return w - h
	case Hexagon:
		return w - h*2/3 - 8
	}
	return w - 16
}

// words are a node's lines as they are drawn.
func (n Node) words() []string {
	var words []string
	for _, text := range n.Lines {
		if text = clean(text, fontSize, widest); text != "" {
			words = append(words, text)
		}
	}
	return words
}
