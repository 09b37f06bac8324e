package host_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestGRAPH06_AnExportIsAsOfOneEvent has somebody write between two pages: they
// are of one graph all the same.
func TestGRAPH06_AnExportIsAsOfOneEvent(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ops := connect(t, start(t, config(t, scripted.New("council", council))), "operator")
	add := func(title string) {
		t.Helper()
		node := &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_GOAL, Title: title, Confidence: 50}
		if _, err := ops.Decide(ctx, &loomv1.DecisionRequest{Project: "shop", Verb: &loomv1.DecisionRequest_Add{
			Add: &loomv1.AddDecision{Node: node, Request: title},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 5 {
		add(fmt.Sprint("goal ", i+1))
	}
	var titles []string
	q := &loomv1.GraphRequest{Project: "shop", Question: loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT, Limit: 2}
	for page := 0; page == 0 || q.After > 0; page++ {
		r, err := ops.Ask(ctx, q)
		if err != nil || page > 0 && r.Number != q.At {
			t.Fatalf("page %d is of event %d, want %d: %v", page, r.GetNumber(), q.At, err)
		}
		for _, n := range r.Graph.Nodes {
			titles = append(titles, n.Title)
		}
		if q.At, q.After = r.Number, r.Next; page == 1 { // the second was asked while nothing had been written
			add("later")
		}
	}
	if got := fmt.Sprint(titles); got != "[goal 1 goal 2 goal 3 goal 4 goal 5]" {
		t.Errorf("exported %s", got)
	}
}
