package graph_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What is in pages can be found, followed, replaced and told as what is not.
func TestGRAPH01_PagesAreTheGraph(t *testing.T) {
	paged, plain := newWorld(t), &world{t: t, graph: graph.New()}
	for _, w := range []*world{paged, plain} {
		w.add(goal, "keep the service up")
		for i := range 40 {
			w.add(decision, fmt.Sprintf("step %d of the way", i), from(fmt.Sprintf("d%d", 1+i/2), leadsTo))
		}
		w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: "d3", New: "d30", Rationale: "x"})) // in its first pages
		w.take(w.graph.Abandon(giveUp("d7", "not worth it")))
	}
	if n := len(paged.graph.Pages().Nodes); n < 15 {
		t.Fatalf("%d pages", n)
	}
	if diff := same(paged.graph.Snapshot(), plain.graph.Snapshot()); diff != "" {
		t.Errorf("another graph: %s", diff)
	}
	for what, of := range map[string]func(*graph.Graph) string{
		"search":  func(g *graph.Graph) string { return ids(g.Search("step way", graph.Filter{Limit: 9})) },
		"list":    func(g *graph.Graph) string { return ids(g.List(graph.Filter{Bead: "demo-1", Status: superseded})) },
		"first":   func(g *graph.Graph) string { n, _ := g.First(graph.Filter{Type: decision}); return n.GetTitle() },
		"edges":   func(g *graph.Graph) string { return arrows(g.Edges("d2", "")) },
		"closure": func(g *graph.Graph) string { return ids(g.Descendants("d1")) },
		"stale":   func(g *graph.Graph) string { return fmt.Sprint(g.Stale()) },
		"recent":  func(g *graph.Graph) string { return ids(g.Recent(5)) },
		"context": func(g *graph.Graph) string { return g.Context(graph.Work{Bead: "demo-1", Text: "step"}, 900).Text },
		"pulse":   func(g *graph.Graph) string { return fmt.Sprint(len(g.Pulse(noon, 0).Findings)) },
	} {
		if a, b := of(paged.graph), of(plain.graph); a != b || a == "" {
			t.Errorf("%s: %q from pages, %q without", what, a, b)
		}
	}
}

// An import that is refused half way leaves the pages as they were.
func TestGRAPH01_APageIsTakenBackWithItsImport(t *testing.T) {
	w := story(t)
	before := w.graph.Snapshot()
	part := &loomv1.DecisionGraph{}
	for range 9 {
		part.Nodes = append(part.Nodes, &loomv1.DecisionNode{Type: decision, Title: "foreign", Status: active})
	}
	if _, err := w.graph.Import(noon, &loomv1.ImportDecisions{Part: part}); err != nil {
		t.Fatal(err)
	}
	if diff := same(before, w.graph.Snapshot()); diff != "" {
		t.Errorf("deciding changed the graph: %s", diff)
	}
	w.add(decision, "goes on", from("d8", leadsTo))
}

// Bytes that are no page are refused, and nothing panics.
func TestGRAPH01_WhatIsNoPageIsRefused(t *testing.T) {
	p := story(t).graph.Pages()
	whole := p.Nodes[0]
	for n := range whole {
		bad := append(graph.Page{}, whole...)
		bad[n] ^= 0x5a
		p.Nodes[0] = bad
		if g, err := graph.RestorePaged(p, pageSize); err != nil && fault.Code(err) != "graph/inconsistent" && fault.Code(err) != "graph/unknown-type" {
			t.Errorf("byte %d: %v", n, err)
		} else if err == nil {
			g.Snapshot()
		}
		p.Nodes[0] = whole[:n]
		if _, err := graph.RestorePaged(p, pageSize); err == nil {
			t.Errorf("%d bytes of a page were taken for one", n)
		}
	}
}

// What an ended execution leaves in the graph takes little memory.
func BenchmarkKept(b *testing.B) {
	w := newWorld(b)
	w.graph = graph.New()
	last := w.add(goal, "payments add up")
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range 50_000 {
			w.log = w.log[:0]
			last = w.add(decision, "round once, at the end of the invoice", from(last, leadsTo))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/50_000, "B/node")
}
