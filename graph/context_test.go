package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func ExampleGraph_Context() {
	w := story(example{})
	c := w.graph.Context(graph.Work{Nodes: []string{"d6"}, Text: "decimal"}, 100)
	for _, i := range c.Items {
		fmt.Printf("%s, rank %d, %.2f: %s\n", i.Node.Id, i.Rank, i.Score, i.Why)
	}
	fmt.Print(c.Text)
	// Output:
	// d1, rank 1, 0.15: goal that led to d6
	// d6, rank 2, 0.78: about the work
	// d8, rank 3, 0.90: 1 step away from d6
	// d7, rank 3, 0.42: 2 steps away from d6
	// d2, rank 3, 0.26: 2 steps away from d6
	// d1 goal by architect/1 (80%): payments fail with odd totals
	// d6 action by architect/1 (80%): change total.go
	// d8 outcome by architect/1 (80%): commit 3f2a landed on main
	// d7 decision by architect/1 (80%): use a decimal type
	// d2 observation by architect/1 (80%): TestTotal fails: 10.01 is not 10.00
}

// Every item says why it was chosen, and the order is the stated one.
func TestGRAPH04_ContextSaysWhy(t *testing.T) {
	w := story(t)
	other := w.graph
	for range 3 {
		w.take(other.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: goal, Title: "an unrelated goal", Confidence: 100, Bead: "demo-9"}}))
	}
	c := other.Context(graph.Work{Bead: "demo-1"}, 1<<20)
	rank, score := uint32(0), 2.0
	for _, i := range c.Items {
		if i.Why == "" {
			t.Errorf("%s has no reason", i.Node.Id)
		}
		if i.Rank < rank || i.Rank == rank && i.Score > score {
			t.Errorf("%s (rank %d, %.3f) comes after rank %d, %.3f", i.Node.Id, i.Rank, i.Score, rank, score)
		}
		rank, score = i.Rank, i.Score
	}
	if got := c.Items[0]; got.Node.Id != "d1" || got.Why != "goal of the work" {
		t.Errorf("first is %s: %s, want the goal of the work", got.Node.Id, got.Why)
	}
	if last := c.Items[len(c.Items)-1]; last.Why != "an active goal" {
		t.Errorf("last is %s: %s, want another goal", last.Node.Id, last.Why)
	}
}

func TestGRAPH04_ContextLeavesOutWhatNoLongerCounts(t *testing.T) {
	c := story(t).graph.Context(graph.Work{Bead: "demo-1"}, 1<<20)
	for _, i := range c.Items {
		if i.Node.Status != active {
			t.Errorf("%s is %s", i.Node.Id, i.Node.Status)
		}
	}
	if strings.Contains(c.Text, "round once") {
		t.Errorf("a superseded decision is told:\n%s", c.Text)
	}
}

// Goals of other work that are reached, and a plain yes of the CEO to other work,
// are told to nobody else; to the work itself they are.
func TestGRAPH04_ContextTellsWhatBindsOthers(t *testing.T) {
	w := newWorld(t)
	add := func(n *loomv1.DecisionNode) {
		by := n.Author
		n.Confidence = 100
		events, err := w.graph.Add(&loomv1.AddDecision{Node: n})
		if err == nil {
			events[0].GetDecisionAdded().Node.Author = by // as of a CEO's command; nil for an agent's
		}
		w.take(events, err)
	}
	ceo := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "ceo"}
	add(&loomv1.DecisionNode{Type: goal, Title: "reached", Bead: "demo-1"})
	add(&loomv1.DecisionNode{Type: decision, Title: "CEO approved: shall it", Bead: "demo-1", Author: ceo})
	add(&loomv1.DecisionNode{Type: decision, Title: "CEO approved: with a word", Description: "but no new flags", Bead: "demo-1", Author: ceo})
	add(&loomv1.DecisionNode{Type: decision, Title: "use decimals", Bead: "demo-1"})
	add(&loomv1.DecisionNode{Type: outcome, Title: "commit landed", Bead: "demo-1"})
	add(&loomv1.DecisionNode{Type: goal, Title: "under way", Bead: "demo-2"})
	for bead, want := range map[string]string{
		"demo-3": "under way|use decimals|with a word", "demo-1": "commit landed|reached|shall it|under way|use decimals|with a word",
	} {
		text := w.graph.Context(graph.Work{Bead: bead}, 1<<20).Text
		var got []string
		for _, title := range []string{"commit landed", "reached", "shall it", "under way", "use decimals", "with a word"} {
			if strings.Contains(text, title) {
				got = append(got, title)
			}
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s is told %q, want %s:\n%s", bead, got, want, text)
		}
	}
}

func TestGRAPH04_ContextTellsOptionsWithTheirDecision(t *testing.T) {
	w := newWorld(t)
	w.add(decision, "how to round")
	w.take(w.graph.Add(&loomv1.AddDecision{
		Node:  &loomv1.DecisionNode{Type: option, Title: "at the end"},
		Links: []*loomv1.DecisionEdge{{From: "d1", Type: chosen, Rationale: "fewer errors"}},
	}))
	c := w.graph.Context(graph.Work{Bead: "demo-1"}, 1000)
	if len(c.Items) != 1 || !strings.Contains(c.Text, "chosen d2 at the end because fewer errors") {
		t.Errorf("%d items:\n%s", len(c.Items), c.Text)
	}
}

// Whatever the budget, it holds, what fits is in, and what was left out is
// counted.
func TestGRAPH04_ContextKeepsItsBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		types := rapid.SampledFrom([]loomv1.DecisionType{goal, decision, option, action, outcome, observation})
		for i := range rapid.IntRange(0, 40).Draw(t, "nodes") {
			var l []*loomv1.DecisionEdge
			if i > 0 && rapid.Bool().Draw(t, "linked") {
				l = append(l, from(fmt.Sprintf("d%d", rapid.IntRange(1, i).Draw(t, "from")), leadsTo))
			}
			w.add(types.Draw(t, "type"), rapid.StringN(1, 40, 300).Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(t, "title"), l...)
		}
		tokens := rapid.IntRange(0, 400).Draw(t, "tokens")
		c, all := w.graph.Context(graph.Work{Bead: "demo-1"}, tokens), w.graph.Context(graph.Work{Bead: "demo-1"}, 1<<30)
		if int(c.Tokens) > tokens || (len(c.Text)+3)/4 > int(c.Tokens) && c.Text != "" {
			t.Fatalf("%d tokens for %d bytes, the budget is %d", c.Tokens, len(c.Text), tokens)
		}
		if all.LeftOut != 0 || len(c.Items)+int(c.LeftOut) != len(all.Items) {
			t.Fatalf("%d in, %d out of %d", len(c.Items), c.LeftOut, len(all.Items))
		}
		left := tokens - int(c.Tokens)
		for _, i := range all.Items {
			if int(i.Tokens) <= left && !strings.Contains(ids(nodesOf(c)), i.Node.Id) {
				t.Fatalf("%s takes %d tokens, %d are left, and it is not in", i.Node.Id, i.Tokens, left)
			}
		}
	})
}

func nodesOf(c *loomv1.DecisionContext) []*loomv1.DecisionNode {
	var nodes []*loomv1.DecisionNode
	for _, i := range c.Items {
		nodes = append(nodes, i.Node)
	}
	return nodes
}

func BenchmarkContext100k(b *testing.B) {
	g := on(b)
	g.Search("warm", graph.Filter{}) // the index is there from then on
	b.ResetTimer()
	for b.Loop() {
		if c := g.Context(graph.Work{Bead: "demo-400", Text: "step of the way"}, 1024); len(c.Items) < 10 {
			b.Fatal(len(c.Items))
		}
	}
}

func BenchmarkSearch100k(b *testing.B) {
	g := on(b)
	for b.Loop() {
		if n := len(g.Search("service up", graph.Filter{})); n != 1 {
			b.Fatal(n)
		}
	}
}
