package drawing

import "math"

// part is some of a graph that nothing links to the rest, laid out by itself.
type part struct {
	nodes []Node
	edges []Edge
	*layout
}

// aspect is how much wider than high a picture of many parts is to be.
const aspect = 1.5

// parts splits a graph into what hangs together, in the order of the first
// nodes, and lays each part out.
func parts(nodes []Node, edges []Edge) []part {
	leader := make(map[string]string, len(nodes))
	var find func(id string) string
	find = func(id string) string {
		up, ok := leader[id]
		if !ok || up == id {
			return id
		}
		leader[id] = find(up)
		return leader[id]
	}
	for _, e := range edges {
		leader[find(e.To)] = find(e.From)
	}
	place := map[string]int{}
	var list []part
	for _, n := range nodes {
		to := find(n.ID)
		if _, known := place[to]; !known {
			place[to] = len(list)
			list = append(list, part{})
		}
		p := &list[place[to]]
		p.nodes = append(p.nodes, n)
	}
	for _, e := range edges {
		p := &list[place[find(e.From)]]
		p.edges = append(p.edges, e)
	}
	for i := range list {
		list[i].layout = arrange(list[i].nodes, list[i].edges)
	}
	return list
}

// pack puts parts beside each other in rows, and returns the size of the whole.
func pack(list []part) (width, height float64) {
	area, row := 0.0, 0.0
	for _, p := range list {
		area += p.width * p.height
		row = max(row, p.width)
	}
	row = max(row, math.Sqrt(area*aspect))
	x, y, tall := 0.0, 0.0, 0.0
	for _, p := range list {
		if x > 0 && x+p.width > row {
			x, y, tall = 0, y+tall, 0
		}
		p.shift(x, y)
		x, tall = x+p.width, max(tall, p.height)
		width, height = max(width, x), max(height, y+tall)
	}
	return max(width, 2*margin), max(height, 2*margin)
}

// shift moves all of a layout.
func (l *layout) shift(x, y float64) {
	for i := range l.items {
		l.items[i].x += x
		l.items[i].y += y
	}
	for i := range l.tops {
		l.tops[i] += y
	}
}
