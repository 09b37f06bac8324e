package processes

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// graph is a definition as indices: who is next to whom. Edges to nodes that
// do not exist are left out; of nodes with one id the first counts.
type graph struct {
	index map[string]int
	out   [][]int
	in    [][]int
}

func newGraph(def *loomv1.Definition) *graph {
	g := &graph{
		index: make(map[string]int, len(def.Nodes)),
		out:   make([][]int, len(def.Nodes)),
		in:    make([][]int, len(def.Nodes)),
	}
	for i, n := range def.Nodes {
		if _, twice := g.index[n.Id]; !twice {
			g.index[n.Id] = i
		}
	}
	for _, e := range def.Edges {
		from, known := g.index[e.From]
		to, alsoKnown := g.index[e.To]
		if known && alsoKnown {
			g.out[from] = append(g.out[from], to)
			g.in[to] = append(g.in[to], from)
		}
	}
	return g
}

// reach marks the nodes that can be reached over next from any of the given.
func reach(next [][]int, from ...int) []bool {
	seen := make([]bool, len(next))
	queue := slices.Clone(from)
	for _, n := range from {
		seen[n] = true
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, n := range next[queue[0]] {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return seen
}

// ancestors marks the nodes that lead to a node; itself only on a cycle.
func (g *graph) ancestors(node int) []bool {
	return reach(g.in, g.in[node]...)
}

// cycles returns shortest cycles until none is left without the edges that
// close them: each begins with the first of its nodes, and goes back to it over
// an edge of its own. Without those edges the graph has no cycle.
func (g *graph) cycles() [][]int {
	var found [][]int
	open := &graph{out: make([][]int, len(g.out))}
	for i, next := range g.out {
		open.out[i] = slices.Clone(next)
	}
	for n := range open.out {
		for c := open.cycleThrough(n); c != nil; c = open.cycleThrough(n) {
			found = append(found, c)
			last := c[len(c)-1]
			open.out[last] = slices.DeleteFunc(open.out[last], func(to int) bool { return to == n })
		}
	}
	return found
}

func (g *graph) cycleThrough(start int) []int {
	before := make([]int, len(g.out)) // 1 + who led there; 0 is not reached
	queue := []int{start}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, n := range g.out[queue[0]] {
			if n == start {
				return backtrack(before, start, queue[0])
			}
			if before[n] == 0 {
				before[n] = 1 + queue[0]
				queue = append(queue, n)
			}
		}
	}
	return nil
}

func backtrack(before []int, start, last int) []int {
	cycle := []int{last}
	for n := last; n != start; {
		n = before[n] - 1
		cycle = append(cycle, n)
	}
	slices.Reverse(cycle)
	return cycle
}
