package graph_test

import (
	"testing"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestGRAPH02_List(t *testing.T) {
	w := story(t)
	w.take(w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: decision, Title: "t", Bead: "demo-2", Execution: "demo-2-x1"}}))
	for _, tt := range []struct {
		name   string
		filter graph.Filter
		want   string
	}{
		{"all", graph.Filter{}, "[d1 d2 d3 d4 d5 d6 d7 d8 d9]"},
		{"the newest three, oldest first", graph.Filter{Limit: 3}, "[d7 d8 d9]"},
		{"more than there are", graph.Filter{Limit: 10}, "[d1 d2 d3 d4 d5 d6 d7 d8 d9]"},
		{"a type", graph.Filter{Type: decision}, "[d3 d7 d9]"},
		{"a type and a status", graph.Filter{Type: decision, Status: active}, "[d7 d9]"},
		{"a status", graph.Filter{Status: superseded}, "[d3]"},
		{"a bead", graph.Filter{Bead: "demo-2"}, "[d9]"},
		{"a bead and a type", graph.Filter{Bead: "demo-1", Type: decision}, "[d3 d7]"},
		{"an execution", graph.Filter{Execution: "demo-1-x1", Limit: 2}, "[d7 d8]"},
		{"an execution of another bead", graph.Filter{Execution: "demo-1-x1", Bead: "demo-2"}, "[]"},
		{"an unknown bead", graph.Filter{Bead: "demo-3"}, "[]"},
		{"an unknown type", graph.Filter{Type: 99}, "[]"},
	} {
		if got := ids(w.graph.List(tt.filter)); got != tt.want {
			t.Errorf("GRAPH02 %s: List(%+v) = %s, want %s", tt.name, tt.filter, got, tt.want)
		}
	}
}

func TestGRAPH02_RecentAndGoals(t *testing.T) {
	w := story(t)
	w.add(goal, "a better goal", to(supersedes, "d1"))
	for n, want := range map[int]string{-1: "[]", 0: "[]", 2: "[d9 d8]", 100: "[d9 d8 d7 d6 d5 d4 d3 d2 d1]"} {
		if got := ids(w.graph.Recent(n)); got != want {
			t.Errorf("Recent(%d) = %s, want %s", n, got, want)
		}
	}
	if got := ids(w.graph.Goals()); got != "[d9]" {
		t.Errorf("Goals() = %s, want the active one", got)
	}
}

func TestGRAPH02_Edges(t *testing.T) {
	w := story(t)
	for _, tt := range []struct{ from, to, want string }{
		{"d3", "", "[d3-2>d4 d3-3>d5 d3-1>d6]"},
		{"", "d8", "[d6-1>d8 d7-1>d8]"},
		{"d2", "d3", "[d2-1>d3]"},
		{"d3", "d2", "[]"},
		{"d8", "", "[]"},
		{"d99", "", "[]"},
		{"d1", "d99", "[]"},
		{"x", "y", "[]"},
		{"", "", "[d1-1>d2 d2-1>d3 d3-2>d4 d3-3>d5 d3-1>d6 d6-4>d4 d2-1>d7 d6-1>d8 d7-1>d8 d7-7>d3]"},
	} {
		if got := arrows(w.graph.Edges(tt.from, tt.to)); got != tt.want {
			t.Errorf("Edges(%q, %q) = %s, want %s", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestGRAPH02_AncestorsAndDescendants(t *testing.T) {
	w := story(t)
	for _, tt := range []struct {
		id           string
		types        []loomv1.DecisionEdgeType
		above, below string
	}{
		{"d6", nil, "[d1 d2 d3 d7]", "[d4 d8]"},
		{"d6", []loomv1.DecisionEdgeType{leadsTo}, "[d1 d2 d3]", "[d8]"},
		{"d3", []loomv1.DecisionEdgeType{chosen, rejected}, "[]", "[d4 d5]"},
		{"d1", nil, "[]", "[d2 d3 d4 d5 d6 d7 d8]"},
		{"d99", nil, "[]", "[]"},
	} {
		if got := ids(w.graph.Ancestors(tt.id, tt.types...)); got != tt.above {
			t.Errorf("Ancestors(%s, %v) = %s, want %s", tt.id, tt.types, got, tt.above)
		}
		if got := ids(w.graph.Descendants(tt.id, tt.types...)); got != tt.below {
			t.Errorf("Descendants(%s, %v) = %s, want %s", tt.id, tt.types, got, tt.below)
		}
	}
	w.link("d4", chosen, "d3") // a way round, by types that may
	if got := ids(w.graph.Descendants("d3", chosen)); got != "[d4]" {
		t.Errorf("Descendants(d3) = %s, want them without d3", got)
	}
}

func TestGRAPH02_Neighbourhood(t *testing.T) {
	w := story(t)
	for _, tt := range []struct {
		id           string
		depth, limit int
		nodes, edges string
	}{
		{"d5", 0, 0, "[d5]", "[]"},
		{"d5", 1, 0, "[d3 d5]", "[d3-3>d5]"},
		{"d5", 2, 0, "[d2 d3 d4 d5 d6 d7]", "[d2-1>d3 d3-2>d4 d3-3>d5 d3-1>d6 d6-4>d4 d2-1>d7 d7-7>d3]"},
		{"d5", 2, 3, "[d3 d4 d5]", "[d3-2>d4 d3-3>d5]"},
		{"d5", 9, 1, "[d5]", "[]"},
		{"d1", 99, 0, "[d1 d2 d3 d4 d5 d6 d7 d8]", "[d1-1>d2 d2-1>d3 d3-2>d4 d3-3>d5 d3-1>d6 d6-4>d4 d2-1>d7 d6-1>d8 d7-1>d8 d7-7>d3]"},
		{"d99", 2, 0, "[]", "[]"},
	} {
		got := w.graph.Neighbourhood(tt.id, tt.depth, tt.limit)
		if ids(got.Nodes) != tt.nodes || arrows(got.Edges) != tt.edges {
			t.Errorf("Neighbourhood(%s, %d, %d) = %s %s\nwant %s %s", tt.id, tt.depth, tt.limit, ids(got.Nodes), arrows(got.Edges), tt.nodes, tt.edges)
		}
	}
}

// From a node that everything hangs on, the edges of a small part are the same
// as from any other.
func TestGRAPH02_NeighbourhoodOfAHub(t *testing.T) {
	w := newWorld(t)
	w.add(goal, "hub")
	for range 500 {
		w.add(decision, "n", from("d1", leadsTo))
	}
	w.link("d1", requires, "d3")
	w.link("d3", blocks, "d2")
	got := w.graph.Neighbourhood("d1", 1, 4)
	if want := "[d1-1>d2 d1-1>d3 d1-1>d4 d1-4>d3 d3-5>d2]"; ids(got.Nodes) != "[d1 d2 d3 d4]" || arrows(got.Edges) != want {
		t.Errorf("Neighbourhood(d1, 1, 4) = %s %s, want %s", ids(got.Nodes), arrows(got.Edges), want)
	}
}

func TestGRAPH02_Path(t *testing.T) {
	w := story(t)
	for _, tt := range []struct {
		from, to, want string
		ok             bool
	}{
		{"d1", "d8", "[d1-1>d2 d2-1>d7 d7-1>d8]", true},
		{"d6", "d4", "[d6-4>d4]", true},
		{"d1", "d1", "[]", true},
		{"d8", "d1", "[]", false},
		{"d4", "d5", "[]", false},
		{"d1", "d99", "[]", false},
		{"", "d1", "[]", false},
	} {
		got, ok := w.graph.Path(tt.from, tt.to)
		if arrows(got) != tt.want || ok != tt.ok {
			t.Errorf("Path(%s, %s) = %s, %t; want %s, %t", tt.from, tt.to, arrows(got), ok, tt.want, tt.ok)
		}
	}
}

func TestGRAPH02_AnUnknownNode(t *testing.T) {
	w := story(t)
	for _, id := range []string{"", "d", "d0", "d9", "d01", "d+1", "D1", "1", "d1 ", "d4294967297", "d18446744073709551617"} {
		if n, ok := w.graph.Node(id); ok {
			t.Errorf("Node(%q) = %v", id, n)
		}
	}
}

// What was read stays as it was, whatever happens later.
func TestGRAPH02_ReadsStay(t *testing.T) {
	w := story(t)
	d7, _ := w.graph.Node("d7")
	snapshot := w.graph.Snapshot()
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: "d7", New: "d6"}))
	if d7.Status != active || snapshot.Nodes[6].Status != active || len(snapshot.Edges) != 10 {
		t.Errorf("earlier reads changed: %v", d7)
	}
	snapshot.Nodes[0], snapshot.Edges[0] = nil, nil
	if n, ok := w.graph.Node("d1"); !ok || n == nil || w.graph.Edges("d1", "d2")[0] == nil {
		t.Error("writing to a snapshot's lists changed the graph")
	}
}
