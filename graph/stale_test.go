package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestBYD07_WhatRestsOnASupersededDecisionIsStale(t *testing.T) {
	for _, tt := range []struct {
		name  string
		links [][3]any // of d1 to d6: a decision, a decision, two options, an action, a decision
		old   string
		by    string
		want  map[string]string
	}{
		{"nothing", [][3]any{{"d1", rejected, "d3"}, {"d1", blocks, "d5"}}, "d1", "d6", map[string]string{}},
		{"what it led to", [][3]any{{"d1", leadsTo, "d2"}, {"d2", leadsTo, "d5"}}, "d1", "d6", map[string]string{"d2": "d1", "d5": "d1"}},
		{"what it made possible", [][3]any{{"d1", enables, "d5"}}, "d1", "d6", map[string]string{"d5": "d1"}},
		{"what requires it", [][3]any{{"d5", requires, "d1"}}, "d1", "d6", map[string]string{"d5": "d1"}},
		{"who chose it", [][3]any{{"d2", chosen, "d3"}, {"d2", rejected, "d4"}, {"d2", leadsTo, "d5"}}, "d3", "d4", map[string]string{"d2": "d3", "d5": "d3"}},
		{"not its options", [][3]any{{"d1", leadsTo, "d3"}, {"d1", chosen, "d3"}}, "d1", "d6", map[string]string{}},
		{"not what led to it", [][3]any{{"d2", leadsTo, "d1"}}, "d1", "d6", map[string]string{}},
		{"not what took its place", [][3]any{{"d1", leadsTo, "d2"}, {"d2", leadsTo, "d6"}}, "d1", "d6", map[string]string{"d2": "d1"}},
		{"not what rests on that as well", [][3]any{{"d1", leadsTo, "d2"}, {"d6", leadsTo, "d2"}, {"d2", leadsTo, "d5"}}, "d1", "d6", map[string]string{}},
		{"in a circle", [][3]any{{"d1", leadsTo, "d2"}, {"d2", chosen, "d5"}, {"d2", leadsTo, "d5"}}, "d1", "d6", map[string]string{"d2": "d1", "d5": "d1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for i, of := range []loomv1.DecisionType{decision, decision, option, option, action, decision} {
				w.add(of, fmt.Sprint(i+1))
			}
			for _, l := range tt.links {
				w.take(w.graph.Link(&loomv1.LinkDecision{Edge: edge(l[0].(string), l[1].(loomv1.DecisionEdgeType), l[2].(string))}))
			}
			rested := w.graph.Dependents(tt.old)
			w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: tt.old, New: tt.by}))
			got := w.graph.Stale()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("stale (-want +got):\n%s", diff)
			}
			for id := range got {
				if !slices.ContainsFunc(rested, func(n *loomv1.DecisionNode) bool { return n.Id == id }) {
					t.Errorf("%s is stale and did not rest on %s: %s", id, tt.old, ids(rested))
				}
			}
		})
	}
}

// TestBYD07_LookedAtAgain has what took a decision's place linked to what
// rested on it, which then holds again, until that is superseded as well.
func TestBYD07_LookedAtAgain(t *testing.T) {
	w := newWorld(t)
	old := w.add(decision, "old")
	rests := w.add(action, "rests", &loomv1.DecisionEdge{From: old, Type: leadsTo})
	next, last := w.add(decision, "next"), w.add(decision, "last")
	want := func(because string) {
		t.Helper()
		if got := w.graph.Stale()[rests]; got != because {
			t.Errorf("stale because of %q, want %q", got, because)
		}
	}
	want("")
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: old, New: next}))
	want(old)
	w.take(w.graph.Link(&loomv1.LinkDecision{Edge: edge(next, leadsTo, rests)}))
	want("")
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: next, New: last}))
	want(old)
	w.take(w.graph.Link(&loomv1.LinkDecision{Edge: edge(last, leadsTo, rests)}))
	want("")
}

// TestBYD07_StaleIsWhatRestsOnSuperseded compares with asking each superseded
// or abandoned node for what rests on it.
func TestBYD07_StaleIsWhatRestsOnSuperseded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(2, 12).Draw(t, "nodes") {
			w.add(loomv1.DecisionType(rapid.Int32Range(1, 7).Draw(t, "type")), "n")
		}
		t.Repeat(map[string]func(*rapid.T){
			"link": func(t *rapid.T) {
				w.act(func() ([]*loomv1.Event, error) {
					return w.graph.Link(&loomv1.LinkDecision{Edge: edge(w.anyID(t), anyEdgeType(t), w.anyID(t))})
				})
			},
			"supersede": func(t *rapid.T) {
				w.act(func() ([]*loomv1.Event, error) {
					return w.graph.Supersede(&loomv1.SupersedeDecision{Old: w.anyID(t), New: w.anyID(t)})
				})
			},
			"abandon": func(t *rapid.T) {
				id := w.anyID(t)
				w.act(func() ([]*loomv1.Event, error) { return w.graph.Abandon(giveUp(id, "why not")) })
			},
		})
		rest := map[string]bool{}
		for _, n := range append(w.graph.List(graph.Filter{Status: superseded}), w.graph.List(graph.Filter{Status: abandoned})...) {
			for _, m := range w.graph.Dependents(n.Id) {
				rest[m.Id] = true
			}
		}
		for id, because := range w.graph.Stale() {
			n, _ := w.graph.Node(id)
			b, _ := w.graph.Node(because)
			if !rest[id] || n.Status != active || b.Status == active {
				t.Fatalf("%v is stale because of %v", n, b)
			}
		}
	})
}
