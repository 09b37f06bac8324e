package graph_test

import (
	"fmt"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A better option supersedes a worse one; the worse stays in the record.
func ExampleGraph_Supersede() {
	g := graph.New()
	record := func(events []*loomv1.Event, err error) {
		if err != nil {
			fmt.Println("refused:", err)
		}
		for _, e := range events {
			if err := g.Apply(e); err != nil {
				fmt.Println(err)
			}
		}
	}
	add := func(title string, confidence uint32) {
		record(g.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: option, Title: title, Confidence: confidence}}))
	}
	add("lock files on disk", 60)
	add("lock entries in the journal", 85)
	record(g.Supersede(&loomv1.SupersedeDecision{Old: "d1", New: "d2", Rationale: "a file is seen by one host alone"}))
	record(g.Supersede(&loomv1.SupersedeDecision{Old: "d2", New: "d1"}))

	for _, n := range g.List(graph.Filter{Type: option, Status: active}) {
		fmt.Printf("%s %s (%d%%)\n", n.Id, n.Title, n.Confidence)
	}
	// Output:
	// refused: supersedes would go round: d1 -> d2 -> d1
	// d2 lock entries in the journal (85%)
}

func ExampleText() {
	fmt.Print(graph.Text(story(example{}).graph.Snapshot(), nil))
	// Output:
	// d1 goal by architect/1: payments fail with odd totals (80%)
	//   d2 observation by architect/1: TestTotal fails: 10.01 is not 10.00 (80%)
	//     d3 decision by architect/1: ~~round once~~ (80%) (superseded by d7)
	//       d4 option by architect/1: round at the end (80%) (chosen by d3)
	//       d5 option by architect/1: round each line (80%) (rejected by d3)
	//       d6 action by architect/1: change total.go (80%) (requires d4)
	//         d8 outcome by architect/1: commit 3f2a landed on main (80%)
	//     d7 decision by architect/1: use a decimal type (80%)
	//       d8 (see above)
}

func ExampleMermaid() {
	fmt.Print(graph.Mermaid(story(example{}).graph.Neighbourhood("d3", 1, 4)))
	// Output:
	// flowchart TD
	//   d3["d3 decision by architect/1 80%<br/>round once"]:::gone
	//   d4["d4 option by architect/1 80%<br/>round at the end"]
	//   d5["d5 option by architect/1 80%<br/>round each line"]
	//   d6["d6 action by architect/1 80%<br/>change total.go"]
	//   d3 -->|chosen| d4
	//   d3 -.->|rejected| d5
	//   d3 -->|leads_to| d6
	//   d6 -->|requires| d4
	//   classDef gone stroke-dasharray:4
}

func ExampleDOT() {
	fmt.Print(graph.DOT(story(example{}).graph.Neighbourhood("d3", 1, 3)))
	// Output:
	// digraph decisions {
	//   "d3" [label="d3 decision by architect/1 (80%)\nround once", shape=hexagon, style=dashed, color=gray, fontcolor=gray];
	//   "d4" [label="d4 option by architect/1 (80%)\nround at the end", shape=ellipse];
	//   "d5" [label="d5 option by architect/1 (80%)\nround each line", shape=ellipse];
	//   "d3" -> "d4" [label="chosen"];
	//   "d3" -> "d5" [label="rejected", style=dashed, color=gray, fontcolor=gray];
	// }
}

// What is refused says where, and what would be right.
func ExampleGraph_Add() {
	_, err := graph.New().Add(&loomv1.AddDecision{
		Node:  &loomv1.DecisionNode{Type: decision, Title: "retry", Confidence: 120},
		Links: []*loomv1.DecisionEdge{{From: "d7", Type: leadsTo}},
	})
	fmt.Println(err)
	for _, more := range fault.From(err).More {
		fmt.Println(more)
	}
	// Output:
	// /node/confidence: confidence 120 is not 0 to 100
	// /links/0/from: there is no such decision (got "d7")
}

// example is a test that has nobody to tell.
type example struct{}

func (example) Helper()                        {}
func (example) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
