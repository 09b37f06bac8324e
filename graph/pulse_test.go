package graph_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func ExampleGraph_Narrative() {
	for _, l := range story(example{}).graph.Narrative("d6").Lines {
		fmt.Println(l.Node, l.Text)
	}
	// Output:
	// d1 architect/1 wanted: payments fail with odd totals
	// d2 architect/1 saw: TestTotal fails: 10.01 is not 10.00
	// d3 architect/1 decided: round once (80% sure); later replaced by d7, because x
	// d4 architect/1 considered: round at the end (80% sure); chosen by d3
	// d6 architect/1 did: change total.go
	// d7 architect/1 decided: use a decimal type (80% sure)
	// d8 architect/1 came of it: commit 3f2a landed on main
}

func TestGRAPH04_NarrativeOfABeadAndOfAll(t *testing.T) {
	w := story(t)
	w.take(w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: action, Title: "something else", Bead: "demo-2"}}))
	for id, want := range map[string]int{"demo-1": 8, "demo-2": 1, "demo-1-x1": 9, "": 4, "demo-7": 0, "d99": 0} {
		if got := len(w.graph.Narrative(id).Lines); got != want {
			t.Errorf("Narrative(%q) has %d lines, want %d", id, got, want)
		}
	}
}

// Each finding is there when it should be and goes when its cause does.
func TestGRAPH04_PulseFindsWhatWantsAttention(t *testing.T) {
	w := newWorld(t)
	find := func(kind string) string {
		for _, f := range w.graph.Pulse(noon.Add(time.Hour), time.Minute).Findings {
			if f.Kind == kind {
				return ids(f.Nodes)
			}
		}
		return ""
	}
	expect := func(kind, want string) {
		t.Helper()
		if got := find(kind); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	w.add(goal, "a goal") // d1
	expect("stale-goal", "[d1]")
	w.add(outcome, "reached", from("d1", leadsTo)) // d2
	expect("stale-goal", "")
	w.add(observation, "alone") // d3
	expect("orphan", "[d3]")
	w.add(decision, "which way", from("d3", leadsTo)) // d4
	expect("orphan", "")
	w.add(option, "left", from("d4", leadsTo)) // d5
	expect("undecided", "[d4]")
	w.link("d4", chosen, "d5")
	expect("undecided", "")
	w.add(decision, "another", to(rejected, "d5")) // d6
	expect("contradiction", "[d5]")
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: "d6", New: "d4"}))
	expect("contradiction", "")
	w.take(w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: decision, Title: "hm", Confidence: 49}})) // d7
	expect("low-confidence", "[d7]")
	w.add(loomv1.DecisionType_DECISION_TYPE_REVISIT, "later", from("d7", leadsTo)) // d8
	expect("revisit", "[d8]")
	w.add(decision, "now", from("d8", leadsTo)) // d9
	expect("revisit", "")
	expect("stale", "")
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: "d3", New: "d9"}))
	expect("stale", "[d4]")
	p := w.graph.Pulse(noon, 0)
	if p.Nodes != 9 || p.Types["decision"] != 4 || p.Statuses["superseded"] != 2 {
		t.Errorf("counts: %v", p)
	}
}

// TestBYD07_RivalsAreFound has two active decisions choose options that cannot
// both be right.
func TestBYD07_RivalsAreFound(t *testing.T) {
	w := newWorld(t)
	option := func(title, scope string) string {
		n := &loomv1.DecisionNode{Type: option, Title: title, Confidence: 50}
		graph.SetScope(n, scope)
		return w.take(w.graph.Add(&loomv1.AddDecision{Node: n}))[0].GetDecisionAdded().Node.Id
	}
	left, right, far := option("left", "rounding"), option("right", "ROUNDING"), option("far", "colour")
	plain, blocked := option("plain", ""), option("blocked", "")
	w.link(plain, blocks, blocked)
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{left, right, true},
		{right, left, true},
		{left, left, false},
		{left, far, false},
		{plain, blocked, true},
		{blocked, plain, true},
		{left, plain, false},
		{left, "d99", false},
		{"", left, false},
	} {
		if got := w.graph.Rivals(tt.a, tt.b); got != tt.want {
			t.Errorf("Rivals(%s, %s) = %t", tt.a, tt.b, got)
		}
	}
	found := func() string {
		for _, f := range w.graph.Pulse(noon, 0).Findings {
			if f.Kind == "contradiction" {
				return ids(f.Nodes)
			}
		}
		return ""
	}
	one := w.add(decision, "one", to(chosen, left), to(chosen, plain))
	if got := found(); got != "" {
		t.Errorf("one choice of each contradicts itself: %s", got)
	}
	other := w.add(decision, "other", to(chosen, right), to(chosen, blocked))
	if got, want := found(), fmt.Sprintf("[%s %s %s %s]", left, right, plain, blocked); got != want {
		t.Errorf("contradictions %s, want %s", got, want)
	}
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: other, New: one}))
	if got := found(); got != "" {
		t.Errorf("what no longer counts contradicts: %s", got)
	}
}
