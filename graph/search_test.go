package graph_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestGRAPH02_SearchFindsEveryWordInAnyCase(t *testing.T) {
	g := story(t).graph
	for _, c := range []struct {
		text string
		f    graph.Filter
		want string
	}{
		{"round", graph.Filter{}, "[d5 d4 d3]"},
		{"ROUND end", graph.Filter{}, "[d4]"},
		{"roun", graph.Filter{}, "[d5 d4 d3]"},
		{"total", graph.Filter{}, "[d6 d1]"},
		{"total", graph.Filter{Limit: 1}, "[d6]"},
		{"round", graph.Filter{Type: option}, "[d5 d4]"},
		{"round", graph.Filter{Status: superseded}, "[d3]"},
		{"round nothing", graph.Filter{}, "[]"},
		{"10.01", graph.Filter{}, "[d2]"},
		{"  ,. ", graph.Filter{}, "[]"},
		{"", graph.Filter{}, "[]"},
	} {
		if got := ids(g.Search(c.text, c.f)); got != c.want {
			t.Errorf("Search(%q, %+v) = %s, want %s", c.text, c.f, got, c.want)
		}
	}
}

// A search agrees with reading every node, whether its index was made before
// or after the nodes.
func TestGRAPH02_SearchAgreesWithReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		word := rapid.SampledFrom([]string{"cat", "car", "care", "Dog", "dot", "ÄRA", "x1"})
		if rapid.Bool().Draw(t, "early") {
			w.graph.Search("cat", graph.Filter{})
		}
		for range rapid.IntRange(0, 12).Draw(t, "nodes") {
			text := rapid.SliceOfN(word, 1, 4)
			w.take(w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{
				Type: goal, Title: strings.Join(text.Draw(t, "title"), " "), Description: strings.Join(text.Draw(t, "description"), "-"),
			}}))
		}
		asked := strings.ToLower(word.Draw(t, "asked"))
		found := map[string]bool{}
		for _, n := range w.graph.Search(asked, graph.Filter{}) {
			found[n.Id] = true
		}
		for _, n := range w.graph.List(graph.Filter{}) {
			has := false
			for _, word := range strings.FieldsFunc(strings.ToLower(n.Title+" "+n.Description), func(r rune) bool { return r == ' ' || r == '-' }) {
				has = has || strings.HasPrefix(word, asked)
			}
			if has != found[n.Id] {
				t.Fatalf("%s %q %q: found %t by %q", n.Id, n.Title, n.Description, found[n.Id], asked)
			}
		}
	})
}
