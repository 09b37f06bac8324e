package project_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// crowd logs n decisions about an execution, each with a long description.
func (y *yard) crowd(bead, execution string, n int) {
	for i := range n {
		y.must(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{Node: &loomv1.DecisionNode{
			Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: fmt.Sprint("decision ", i), Confidence: 50,
			Description: strings.Repeat("because ", 1000), Bead: bead, Execution: execution,
		}}}})
	}
}

func TestAGENT03_ABriefHasABoundedPartOfTheGraph(t *testing.T) {
	y := newYard(t, "researcher")
	y.file("fan", normal)
	y.crowd("shop-1", "shop-1-x1", 5000)
	b, err := y.take(agentOf("researcher", 1))
	if err != nil {
		t.Fatal(err)
	}
	if size := proto.Size(b); size > 32<<10 {
		t.Errorf("with 5,000 decisions a brief has %d bytes", size)
	}
	if b.Context.Tokens > 1024 || b.Context.Tokens < 900 || b.Context.LeftOut == 0 {
		t.Errorf("the context takes %d tokens and leaves out %d", b.Context.Tokens, b.Context.LeftOut)
	}
	if n := len(b.Decisions); n != 50 || b.Decisions[n-1].Title != "decision 4999" {
		t.Errorf("%d decisions, the last is %v", n, b.Decisions[n-1])
	}
	if b.Goal != "d1" {
		t.Errorf("the goal is %q, want d1", b.Goal)
	}
}

func TestGRAPH04_ABriefTellsTheMostTellingFirst(t *testing.T) {
	y := newYard(t, "researcher")
	y.file("fan", normal)             // d1 is its goal
	other := y.file("fan", normal)    // d2
	y.crowd("shop-1", "shop-1-x1", 1) // d3
	y.crowd(other, other+"-x1", 2)    // d4, d5
	y.must(link("d3", "d4"))
	b, err := y.take(agentOf("researcher", 1))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.Context.Text) {
		id, _, _ := strings.Cut(line, " ")
		got = append(got, id)
	}
	// Of the work, about it, a step away from that; another goal, another decision.
	if want := []string{"d1", "d3", "d4", "d2", "d5"}; !slices.Equal(got, want) {
		t.Errorf("the brief tells %q, want %q:\n%s", got, want, b.Context.Text)
	}
	if len(b.Context.Items) != 0 || b.Context.Tokens == 0 {
		t.Errorf("the brief carries more than its text: %v", b.Context)
	}
}

func link(from, to string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{Edge: &loomv1.DecisionEdge{
		From: from, To: to, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO,
	}}}}
}
