package graph_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// large is a graph of 100,000 nodes: one goal that 5,000 beads hang on, each
// bead a chain of 20 nodes.
var large = sync.OnceValue(func() *loomv1.DecisionGraph {
	w := newWorld(example{})
	w.add(goal, "keep the service up")
	for bead := 0; len(w.log) < 2*100_000-1; bead++ {
		last := "d1"
		for range 20 {
			events, err := w.graph.Add(&loomv1.AddDecision{
				Node:  &loomv1.DecisionNode{Type: decision, Title: "a step of the way", Bead: fmt.Sprintf("demo-%d", bead)},
				Links: links(from(last, leadsTo)),
			})
			last = w.take(events, err)[0].GetDecisionAdded().Node.Id
		}
	}
	return w.graph.Snapshot()
})

func on(b *testing.B) *graph.Graph {
	g := mustRestore(b, large())
	b.ReportAllocs()
	b.ResetTimer()
	return g
}

// Decides and applies a node with a link from one and to another.
func BenchmarkAdd100k(b *testing.B) {
	w := &world{t: b, graph: on(b)}
	for b.Loop() {
		w.add(decision, "a step", from("d50000", leadsTo), to(requires, "d20000"))
	}
}

// Decides a link whose start everything leads to, as far as it can.
func BenchmarkLink100k(b *testing.B) {
	g := on(b)
	for b.Loop() {
		if _, err := g.Link(&loomv1.LinkDecision{Edge: edge("d1", leadsTo, "d90000")}); err != nil {
			b.Fatal(err)
		}
	}
}

// Refuses a link that closes a cycle of 20 through the hub.
func BenchmarkCycle100k(b *testing.B) {
	g := on(b)
	for b.Loop() {
		if _, err := g.Link(&loomv1.LinkDecision{Edge: edge("d90001", leadsTo, "d1")}); err == nil {
			b.Fatal("no cycle")
		}
	}
}

func BenchmarkNeighbourhood100k(b *testing.B) {
	g := on(b)
	for b.Loop() {
		if part := g.Neighbourhood("d50000", 3, 50); len(part.Nodes) < 4 {
			b.Fatal(len(part.Nodes))
		}
	}
}

// The neighbourhood of the hub itself, without and with a limit.
func BenchmarkHub100k(b *testing.B) {
	for _, limit := range []int{50, 0} {
		b.Run(fmt.Sprintf("limit=%d", limit), func(b *testing.B) {
			g := on(b)
			for b.Loop() {
				if part := g.Neighbourhood("d1", 1, limit); len(part.Nodes) < 50 {
					b.Fatal(len(part.Nodes))
				}
			}
		})
	}
}

func BenchmarkListBead100k(b *testing.B) {
	g := on(b)
	for b.Loop() {
		if n := len(g.List(graph.Filter{Bead: "demo-400"})); n != 20 {
			b.Fatal(n)
		}
	}
}

func BenchmarkSnapshot100k(b *testing.B) {
	g := on(b)
	for b.Loop() {
		g.Snapshot()
	}
}

func BenchmarkRestore100k(b *testing.B) {
	on(b)
	for b.Loop() {
		mustRestore(b, large())
	}
}

func BenchmarkText100k(b *testing.B) {
	on(b)
	for b.Loop() {
		graph.Text(large(), nil)
	}
}
