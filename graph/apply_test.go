package graph_test

import (
	"testing"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestGRAPH03_ApplyRefusesWhatCannotFollow(t *testing.T) {
	added := func(n *loomv1.DecisionNode) *loomv1.Event {
		return &loomv1.Event{Fact: &loomv1.Event_DecisionAdded{DecisionAdded: &loomv1.DecisionAdded{Node: n}}}
	}
	linked := func(e *loomv1.DecisionEdge) *loomv1.Event {
		return &loomv1.Event{Fact: &loomv1.Event_DecisionLinked{DecisionLinked: &loomv1.DecisionLinked{Edge: e}}}
	}
	took := func(old, new string, e *loomv1.DecisionEdge) *loomv1.Event {
		return &loomv1.Event{Fact: &loomv1.Event_DecisionSuperseded{DecisionSuperseded: &loomv1.DecisionSuperseded{Old: old, New: new, Edge: e}}}
	}
	numbered := func(id uint64, e *loomv1.DecisionEdge) *loomv1.DecisionEdge { e.Id = id; return e }
	for _, tt := range []struct {
		name  string
		e     *loomv1.Event
		sound bool
	}{
		{"the next node", added(&loomv1.DecisionNode{Id: "d9", Type: goal}), true},
		{"a node that was given up", added(&loomv1.DecisionNode{Id: "d9", Type: goal, Status: abandoned}), true},
		{"no node", added(nil), false},
		{"a node again", added(&loomv1.DecisionNode{Id: "d8", Type: goal}), false},
		{"a node too far", added(&loomv1.DecisionNode{Id: "d10", Type: goal}), false},
		{"a node without type", added(&loomv1.DecisionNode{Id: "d9"}), false},
		{"a node of no known status", added(&loomv1.DecisionNode{Id: "d9", Type: goal, Status: 4}), false},
		{"a node superseded by nothing", added(&loomv1.DecisionNode{Id: "d9", Type: goal, Status: superseded}), false},
		{"a node too sure", added(&loomv1.DecisionNode{Id: "d9", Type: goal, Confidence: 101}), false},
		{"the next edge", linked(numbered(11, edge("d1", leadsTo, "d8"))), true},
		{"no edge", linked(nil), false},
		{"an edge again", linked(numbered(10, edge("d1", leadsTo, "d8"))), false},
		{"an edge too far", linked(numbered(12, edge("d1", leadsTo, "d8"))), false},
		{"a second edge of its sort", linked(numbered(11, edge("d1", leadsTo, "d2"))), false},
		{"an edge into nothing", linked(numbered(11, edge("d1", leadsTo, "d9"))), false},
		{"an edge to itself", linked(numbered(11, edge("d1", chosen, "d1"))), false},
		{"a cycle", linked(numbered(11, edge("d8", leadsTo, "d1"))), false},
		{"an edge too heavy", linked(numbered(11, &loomv1.DecisionEdge{From: "d1", To: "d8", Type: leadsTo, Weight: 2})), false},
		{"superseding as a mere link", linked(numbered(11, edge("d8", supersedes, "d5"))), false},
		{"superseding", took("d5", "d4", numbered(11, edge("d4", supersedes, "d5"))), true},
		{"superseding without edge", took("d5", "d4", nil), false},
		{"superseding the other way round", took("d4", "d5", numbered(11, edge("d4", supersedes, "d5"))), false},
		{"superseding by another type", took("d5", "d4", numbered(11, edge("d4", leadsTo, "d5"))), false},
		{"superseding a second time", took("d3", "d4", numbered(11, edge("d4", supersedes, "d3"))), false},
		{"superseding the successor", took("d7", "d3", numbered(11, edge("d3", supersedes, "d7"))), false},
		{"a fact of another core", &loomv1.Event{Fact: &loomv1.Event_LockGranted{}}, true},
		{"no fact", &loomv1.Event{}, true},
		{"no event", nil, true},
	} {
		t.Run("GRAPH03 "+tt.name, func(t *testing.T) {
			w := story(t)
			before := w.graph.Snapshot()
			err := w.graph.Apply(tt.e)
			if tt.sound != (err == nil) || !tt.sound && fault.Code(err) != "graph/inconsistent" {
				t.Errorf("Apply = %v, want accepted: %t", err, tt.sound)
			}
			if diff := same(before, w.graph.Snapshot()); err != nil && diff != "" {
				t.Errorf("a refused event changed the graph: %s", diff)
			}
		})
	}
}

func TestGRAPH07_RestoreRefusesWhatNoLogLeadsTo(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(*loomv1.DecisionGraph)
		sound bool
	}{
		{"nothing", func(*loomv1.DecisionGraph) {}, true},
		{"nodes out of order", func(s *loomv1.DecisionGraph) { s.Nodes[0], s.Nodes[1] = s.Nodes[1], s.Nodes[0] }, false},
		{"a node missing", func(s *loomv1.DecisionGraph) { s.Nodes = s.Nodes[:7] }, false},
		{"no node", func(s *loomv1.DecisionGraph) { s.Nodes[2] = nil }, false},
		{"a node without status", func(s *loomv1.DecisionGraph) { s.Nodes[0].Status = 0 }, false},
		{"a node superseded by nothing", func(s *loomv1.DecisionGraph) { s.Nodes[0].Status = superseded }, false},
		{"a node superseded and active", func(s *loomv1.DecisionGraph) { s.Nodes[2].Status = active }, false},
		{"two successors", func(s *loomv1.DecisionGraph) { s.Edges = append(s.Edges, numbered(s, "d6", supersedes, "d3")) }, false},
		{"two successors and active", func(s *loomv1.DecisionGraph) {
			s.Nodes[2].Status = active
			s.Edges = append(s.Edges, numbered(s, "d6", supersedes, "d3"))
		}, false},
		{"edges out of order", func(s *loomv1.DecisionGraph) { s.Edges[0], s.Edges[1] = s.Edges[1], s.Edges[0] }, false},
		{"no edge", func(s *loomv1.DecisionGraph) { s.Edges[3] = nil }, false},
		{"an edge too many", func(s *loomv1.DecisionGraph) { s.Edges = append(s.Edges, numbered(s, "d1", leadsTo, "d2")) }, false},
		{"an edge to itself", func(s *loomv1.DecisionGraph) { s.Edges = append(s.Edges, numbered(s, "d1", chosen, "d1")) }, false},
		{"one more edge", func(s *loomv1.DecisionGraph) { s.Edges = append(s.Edges, numbered(s, "d1", leadsTo, "d8")) }, true},
		{"a cycle", func(s *loomv1.DecisionGraph) { s.Edges = append(s.Edges, numbered(s, "d8", leadsTo, "d1")) }, false},
		{"round by a type that may", func(s *loomv1.DecisionGraph) { s.Edges = append(s.Edges, numbered(s, "d4", chosen, "d3")) }, true},
	} {
		s := story(t).graph.Snapshot()
		tt.spoil(s)
		_, err := graph.Restore(s)
		if tt.sound != (err == nil) || !tt.sound && fault.Code(err) != "graph/inconsistent" {
			t.Errorf("GRAPH07 %s: Restore: %v, want accepted: %t", tt.name, err, tt.sound)
		}
	}
	if g := mustRestore(t, nil); len(g.Snapshot().Nodes) != 0 {
		t.Error("Restore(nil) is not empty")
	}
}

func numbered(s *loomv1.DecisionGraph, from string, t loomv1.DecisionEdgeType, to string) *loomv1.DecisionEdge {
	e := edge(from, t, to)
	e.Id = uint64(len(s.Edges) + 1)
	return e
}

func TestGRAPH01_AnUnsetWeightIsOne(t *testing.T) {
	w := story(t)
	e := numbered(w.graph.Snapshot(), "d1", leadsTo, "d8")
	w.take([]*loomv1.Event{{Fact: &loomv1.Event_DecisionLinked{DecisionLinked: &loomv1.DecisionLinked{Edge: e}}}}, nil)
	if got := w.graph.Edges("d1", "d8")[0].Weight; got != 1 {
		t.Errorf("an edge recorded without weight has %v", got)
	}
}
