package project_test

import (
	"fmt"
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

func TestGRAPH04_ABriefSaysWhyADecisionIsInIt(t *testing.T) {
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
	var got strings.Builder
	for _, i := range b.Context.Items {
		fmt.Fprintf(&got, "%s: %s\n", i.Node.Id, i.Why)
	}
	const want = `d1: goal of the work
d3: about the work
d4: 1 step away from d3
d2: an active goal
d5: a recent decision
`
	if got.String() != want {
		t.Errorf("the brief has\n%swant\n%s", got.String(), want)
	}
}

func link(from, to string) *loomv1.Command {
	return &loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{Edge: &loomv1.DecisionEdge{
		From: from, To: to, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO,
	}}}}
}
