package graph_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestSIGN01_ATitleMakesNobodyTheCEO has an agent write a decision with the title that
// an answer of the CEO gets, and a file of elsewhere that names the CEO as author: no
// way of telling the graph gives either for an answer of the CEO here.
func TestSIGN01_ATitleMakesNobodyTheCEO(t *testing.T) {
	const title = "CEO approved: Shall this be committed?"
	w := newWorld(t)
	ceo := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "laptop"}
	w.add(decision, title)
	events, err := w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: decision, Title: title, Confidence: 100}})
	if err == nil {
		events[0].GetDecisionAdded().Node.Author = ceo
	}
	w.take(events, err)
	w.take(w.graph.Import(noon, &loomv1.ImportDecisions{Part: &loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{
		{Id: "d1", Type: decision, Status: active, Title: title, Confidence: 100, Author: ceo},
	}}}))

	all := w.graph.Snapshot()
	part := &loomv1.DecisionGraph{Nodes: all.Nodes, Imported: w.graph.Spans(all.Nodes)}
	var told []string
	for _, l := range w.graph.Narrative("").Lines {
		told = append(told, l.Node+" "+l.Text)
	}
	for name, text := range map[string]string{
		"text": graph.Text(all, nil), "part": graph.Text(part, nil), "DOT": graph.DOT(all), "Mermaid": graph.Mermaid(all),
		"SVG": graph.SVG(all), "context": w.graph.Context(graph.Work{}, 1<<16).Text,
	} {
		for id, by := range map[string]string{"d1": "by architect/1", "d2": "by the CEO", "d3": "by the CEO as imported"} {
			if want := id + " decision " + by; !strings.Contains(text, want) || strings.Contains(text, want+" as imported") {
				t.Errorf("%s lacks %q:\n%s", name, want, text)
			}
		}
	}
	if got := strings.Join(told, "\n"); !strings.Contains(got, "d1 architect/1 decided: ") || !strings.Contains(got, "d2 the CEO decided: ") || !strings.Contains(got, "d3 the CEO (as imported) decided: ") {
		t.Errorf("the narrative is\n%s", got)
	}
}
