package graph_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestGRAPH01_ANodeGetsWhatItsEventKnows(t *testing.T) {
	w := newWorld(t)
	w.take(w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{
		Id: "d99", Type: option, Status: superseded, Title: "t", Description: "why", Confidence: 100, Change: "c1", Bead: "other",
		Author: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "forged"},
		Time:   w.stamp(9),
	}}))
	n, ok := w.graph.Node("d1")
	want := &loomv1.DecisionNode{
		Id: "d1", Type: option, Status: active, Title: "t", Description: "why", Confidence: 100, Change: "c1",
		Bead: "other", Execution: "demo-1-x1", Author: w.log[0].Actor, Time: w.stamp(1),
	}
	if diff := same(want, n); !ok || diff != "" {
		t.Errorf("Node(d1) differs: %s", diff)
	}
	w.add(goal, "g", from("d1", leadsTo))
	wantEdge := &loomv1.DecisionEdge{Id: 1, From: "d1", To: "d2", Type: leadsTo, Weight: 1, Author: w.log[0].Actor, Time: w.stamp(3)}
	if diff := same(wantEdge, w.graph.Edges("d1", "d2")[0]); diff != "" {
		t.Errorf("edge 1 differs: %s", diff)
	}
}

func TestGRAPH03_Add(t *testing.T) {
	w := story(t)
	node := func(change func(*loomv1.DecisionNode)) *loomv1.DecisionNode {
		n := &loomv1.DecisionNode{Type: option, Title: "t"}
		if change != nil {
			change(n)
		}
		return n
	}
	good := node(nil)
	for _, tt := range []struct {
		name  string
		node  *loomv1.DecisionNode
		links []*loomv1.DecisionEdge
		want  string // code, at a place
	}{
		{"the least", good, nil, ""},
		{"the most", node(func(n *loomv1.DecisionNode) {
			n.Title, n.Description, n.Confidence = strings.Repeat("t", 300), strings.Repeat("d", 16<<10), 100
		}), nil, ""},
		{"confidence 101", node(func(n *loomv1.DecisionNode) { n.Confidence = 101 }), nil, "graph/confidence at /node/confidence"},
		{"no title", node(func(n *loomv1.DecisionNode) { n.Title = "" }), nil, "graph/invalid at /node/title"},
		{"a blank title", node(func(n *loomv1.DecisionNode) { n.Title = " \t\n" }), nil, "graph/invalid at /node/title"},
		{"301 bytes of title", node(func(n *loomv1.DecisionNode) { n.Title = strings.Repeat("t", 301) }), nil, "graph/invalid at /node/title"},
		{"a title that is not text", node(func(n *loomv1.DecisionNode) { n.Title = "\xff" }), nil, "graph/invalid at /node/title"},
		{"a long description", node(func(n *loomv1.DecisionNode) { n.Description = strings.Repeat("d", 16<<10+1) }), nil, "graph/invalid at /node/description"},
		{"a long bead", node(func(n *loomv1.DecisionNode) { n.Bead = strings.Repeat("b", 257) }), nil, "graph/invalid at /node/bead"},
		{"no type", node(func(n *loomv1.DecisionNode) { n.Type = 0 }), nil, "graph/unknown-type at /node/type"},
		{"an unknown type", node(func(n *loomv1.DecisionNode) { n.Type = 8 }), nil, "graph/unknown-type at /node/type"},
		{"a negative type", node(func(n *loomv1.DecisionNode) { n.Type = -1 }), nil, "graph/unknown-type at /node/type"},
		{"no node", nil, nil, "graph/unknown-type at /node/type"},
		{"metadata that is not a number", node(func(n *loomv1.DecisionNode) { n.Metadata = meta(structpb.NewNumberValue(math.NaN())) }), nil, "graph/invalid at /node/metadata"},
		{"metadata without value", node(func(n *loomv1.DecisionNode) { n.Metadata = meta(&structpb.Value{}) }), nil, "graph/invalid at /node/metadata"},
		{"deep metadata", node(func(n *loomv1.DecisionNode) { n.Metadata = meta(deep(50)) }), nil, "graph/invalid at /node/metadata"},
		{"metadata of 49 levels", node(func(n *loomv1.DecisionNode) { n.Metadata = meta(deep(49)) }), nil, ""},
		{"large metadata", node(func(n *loomv1.DecisionNode) { n.Metadata = meta(structpb.NewStringValue(strings.Repeat("m", 16<<10))) }), nil, "graph/invalid at /node/metadata"},

		{"links to and from", good, links(from("d1", leadsTo), to(enables, "d1"), to(supersedes, "d4")), ""},
		{"100 links", good, many(100), ""},
		{"101 links", good, many(101), "graph/invalid at /links"},
		{"the same link twice", good, links(from("d1", leadsTo), from("d1", leadsTo)), ""},
		{"a link twice with two weights", good, links(from("d1", leadsTo), &loomv1.DecisionEdge{From: "d1", Type: leadsTo, Weight: 0.5}), "graph/duplicate at /links/1"},
		{"a dangling link", good, links(from("d1", leadsTo), from("d9", leadsTo)), "graph/unknown-node at /links/1/from"},
		{"a link to the id it will get", good, links(to(leadsTo, "d9")), "graph/unknown-node at /links/0/to"},
		{"an id in another writing", good, links(to(leadsTo, "d01")), "graph/unknown-node at /links/0/to"},
		{"a huge id", good, links(to(leadsTo, "d99999999999999999999")), "graph/unknown-node at /links/0/to"},
		{"a link without ends", good, links(to(leadsTo, "")), "graph/self-loop at /links/0"},
		{"a link of others", good, links(edge("d1", leadsTo, "d2")), "graph/invalid at /links/0"},
		{"no link", good, []*loomv1.DecisionEdge{nil}, "graph/unknown-type at /links/0/type"},
		{"an unknown edge type", good, links(to(8, "d1")), "graph/unknown-type at /links/0/type"},
		{"a weight of 1.01", good, links(&loomv1.DecisionEdge{From: "d1", Type: leadsTo, Weight: 1.01}), "graph/invalid at /links/0/weight"},
		{"a weight that is not a number", good, links(&loomv1.DecisionEdge{From: "d1", Type: leadsTo, Weight: math.NaN()}), "graph/invalid at /links/0/weight"},
		{"a negative weight", good, links(&loomv1.DecisionEdge{From: "d1", Type: leadsTo, Weight: -0.01}), "graph/invalid at /links/0/weight"},
		{"a long rationale", good, links(&loomv1.DecisionEdge{From: "d1", Type: leadsTo, Rationale: strings.Repeat("r", 4<<10+1)}), "graph/invalid at /links/0/rationale"},
		{"a cycle through the new one", good, links(from("d6", leadsTo), to(leadsTo, "d2")), "graph/cycle at /links"},
		{"a cycle with one", good, links(from("d5", requires), to(requires, "d5")), "graph/cycle at /links"},
		{"round, but by two types", good, links(from("d6", leadsTo), to(requires, "d2")), ""},
		{"round, by a type that may", good, links(from("d6", chosen), to(chosen, "d6")), ""},
		{"superseding what is superseded", good, links(to(supersedes, "d3")), "graph/superseded at /links/0/to"},
		{"superseded from the start", good, links(from("d1", supersedes)), "graph/superseded at /links/0"},
	} {
		t.Run("GRAPH03 "+tt.name, func(t *testing.T) {
			events, err := w.graph.Add(&loomv1.AddDecision{Node: tt.node, Links: tt.links})
			if got := refusal(err); got != tt.want {
				t.Errorf("Add = %s (%v), want %s", got, err, tt.want)
			}
			if (err == nil) != (len(events) > 0) {
				t.Errorf("Add = %d events with %v", len(events), err)
			}
		})
	}
}

func TestGRAPH03_AllProblemsAtOnce(t *testing.T) {
	_, err := graph.New().Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Confidence: 101}, Links: links(to(8, "d1"), from("d2", leadsTo))})
	e, _ := errors.AsType[*fault.Error](err)
	if e == nil || len(e.More) != 4 {
		t.Fatalf("Add = %v with %v, want 5 problems", err, e)
	}
}

func TestGRAPH03_Link(t *testing.T) {
	w := story(t)
	for _, tt := range []struct {
		name   string
		edge   *loomv1.DecisionEdge
		want   string // refusal
		events int
	}{
		{"a new edge", edge("d1", leadsTo, "d8"), "", 1},
		{"an edge that is there", edge("d1", leadsTo, "d2"), "", 0},
		{"an edge that is there, weighed the same", &loomv1.DecisionEdge{From: "d1", To: "d2", Type: leadsTo, Weight: 1}, "", 0},
		{"an edge that is there, weighed otherwise", &loomv1.DecisionEdge{From: "d1", To: "d2", Type: leadsTo, Weight: 0.5}, "graph/duplicate at /edge", 0},
		{"an edge that is there, for another reason", &loomv1.DecisionEdge{From: "d1", To: "d2", Type: leadsTo, Rationale: "r"}, "graph/duplicate at /edge", 0},
		{"the same ends by another type", edge("d1", requires, "d2"), "", 1},
		{"dangling start", edge("d9", leadsTo, "d1"), "graph/unknown-node at /edge/from", 0},
		{"dangling end", edge("d1", leadsTo, "d9"), "graph/unknown-node at /edge/to", 0},
		{"no ends", edge("", leadsTo, ""), "graph/unknown-node at /edge/from", 0},
		{"node zero", edge("d1", leadsTo, "d0"), "graph/unknown-node at /edge/to", 0},
		{"self-loop", edge("d1", leadsTo, "d1"), "graph/self-loop at /edge", 0},
		{"self-loop of a type that may go round", edge("d1", chosen, "d1"), "graph/self-loop at /edge", 0},
		{"cycle", edge("d8", leadsTo, "d1"), "graph/cycle at /edge", 0},
		{"round by a type that may", edge("d4", chosen, "d3"), "", 1},
		{"round by two types", edge("d8", enables, "d1"), "", 1},
		{"no type", edge("d1", 0, "d2"), "graph/unknown-type at /edge/type", 0},
		{"no edge", nil, "graph/unknown-type at /edge/type", 0},
		{"superseding by a link", edge("d8", supersedes, "d5"), "", 1},
		{"superseding what is superseded", edge("d8", supersedes, "d3"), "graph/superseded at /edge/to", 0},
	} {
		t.Run("GRAPH03 "+tt.name, func(t *testing.T) {
			events, err := w.graph.Link(&loomv1.LinkDecision{Edge: tt.edge})
			if got := refusal(err); got != tt.want || len(events) != tt.events {
				t.Errorf("Link = %d events, %s (%v); want %d, %s", len(events), got, err, tt.events, tt.want)
			}
		})
	}
}

func TestGRAPH03_Supersede(t *testing.T) {
	for _, tt := range []struct {
		name, old, new, rationale string
		want                      string
		events                    int
	}{
		{"the better takes the place", "d5", "d4", "", "", 1},
		{"again", "d3", "d7", "x", "", 0},
		{"again for another reason", "d3", "d7", "y", "graph/duplicate", 0},
		{"by a second", "d3", "d6", "", "graph/superseded at /old", 0},
		{"by one that is superseded", "d5", "d3", "", "graph/superseded at /new", 0},
		{"its own successor", "d7", "d3", "", "graph/cycle", 0},
		{"itself", "d5", "d5", "", "graph/self-loop", 0},
		{"an unknown one", "d9", "d5", "", "graph/unknown-node at /old", 0},
		{"by an unknown one", "d5", "", "", "graph/unknown-node at /new", 0},
	} {
		t.Run("GRAPH03 "+tt.name, func(t *testing.T) {
			w := story(t)
			events, err := w.graph.Supersede(&loomv1.SupersedeDecision{Old: tt.old, New: tt.new, Rationale: tt.rationale})
			if got := refusal(err); got != tt.want || len(events) != tt.events {
				t.Fatalf("Supersede = %d events, %s (%v); want %d, %s", len(events), got, err, tt.events, tt.want)
			}
			w.take(events, nil)
			if n, _ := w.graph.Node(tt.old); tt.events == 1 && n.Status != superseded {
				t.Errorf("%s is %s", tt.old, n.Status)
			}
		})
	}
}

// P28: what is superseded and by what is one fact, so no prefix of the log
// has a node superseded by nothing, or two that both count.
func TestGRAPH02_SupersedeIsOneFact(t *testing.T) {
	w := story(t)
	events := w.take(w.graph.Add(&loomv1.AddDecision{
		Node: &loomv1.DecisionNode{Type: decision, Title: "better"}, Links: links(from("d2", leadsTo), to(supersedes, "d7")),
	}))
	if len(events) != 3 || events[2].GetDecisionSuperseded() == nil {
		t.Fatalf("events %v, want the last to supersede", events)
	}
	old, _ := w.graph.Node("d7")
	if e := w.graph.Edges("d9", "d7"); old.Status != superseded || len(e) != 1 || e[0].Type != supersedes {
		t.Errorf("d7 is %s, edges %v", old.Status, e)
	}
}

func TestGRAPH03_ACycleNamesTheWay(t *testing.T) {
	w := newWorld(t)
	w.add(decision, "n")
	for range 40 {
		last := w.graph.Recent(1)[0].Id
		w.add(decision, "n", from(last, leadsTo))
	}
	for _, tt := range []struct{ from, to, want string }{
		{"d3", "d1", "/edge: leads_to would go round: d3 -> d1 -> d2 -> d3"},
		{"d11", "d1", "/edge: leads_to would go round: d11 -> d1 -> d2 -> d3 -> d4 -> d5 -> d6 -> d7 -> d8 -> d9 -> d10 -> d11"},
		{"d41", "d1", "/edge: leads_to would go round: d41 -> d1 -> d2 -> d3 -> d4 -> d5 -> (30 more) -> d36 -> d37 -> d38 -> d39 -> d40 -> d41"},
	} {
		_, err := w.graph.Link(&loomv1.LinkDecision{Edge: edge(tt.from, leadsTo, tt.to)})
		if err == nil || err.Error() != tt.want {
			t.Errorf("Link(%s, %s) = %v\nwant %s", tt.from, tt.to, err, tt.want)
		}
	}
	_, err := w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: decision, Title: "n"}, Links: links(from("d3", blocks), to(blocks, "d3"))})
	if want := "/links: blocks would go round: d42 -> d3 -> d42"; err == nil || err.Error() != want {
		t.Errorf("Add = %v, want %s", err, want)
	}
}

func refusal(err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return ""
	}
	if e.Where == "" {
		return e.Code
	}
	return e.Code + " at " + e.Where
}

func links(l ...*loomv1.DecisionEdge) []*loomv1.DecisionEdge { return l }

func many(n int) []*loomv1.DecisionEdge {
	var l []*loomv1.DecisionEdge
	for range n {
		l = append(l, from("d1", leadsTo))
	}
	return l
}

func meta(v *structpb.Value) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"k": v}}
}

// deep returns a value of so many lists.
func deep(levels int) *structpb.Value {
	v := structpb.NewListValue(&structpb.ListValue{})
	for range levels - 1 {
		v = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{v}})
	}
	return v
}
