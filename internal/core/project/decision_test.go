package project_test

import (
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestSUB04_ALoggedDecisionIsAboutItsBead(t *testing.T) {
	d := newDesk(t)
	filed := d.report()
	before := len(d.events)
	d.ok(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node: &loomv1.DecisionNode{
			Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: "it fails", Confidence: 90,
			Bead: filed.Bead, Execution: filed.Execution,
		},
		Links:   []*loomv1.DecisionEdge{{From: "d1", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO}},
		Request: "a1/c1",
	}}})
	events := d.events[before:]
	if len(events) != 2 {
		t.Fatalf("a decision and its link gave %d events", len(events))
	}
	for _, e := range events {
		if e.Bead != filed.Bead || e.Execution != filed.Execution {
			t.Errorf("%T is about bead %q and execution %q, want %q and %q", e.Fact, e.Bead, e.Execution, filed.Bead, filed.Execution)
		}
	}
}
