package agent_test

import (
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// An agent is told what came of nodes before its own and of those that sent work
// back to it, and nothing of a branch beside it.
func TestAGENT03_WhatHappenedBeforeIsOfItsOwnBranch(t *testing.T) {
	b := newBench(t, script(finish("success")))
	br := brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	edge := func(from, to string) *loomv1.EdgeDefinition {
		return &loomv1.EdgeDefinition{Id: from + "-" + to, From: from, To: to}
	}
	br.Definition = &loomv1.Definition{Edges: []*loomv1.EdgeDefinition{
		edge("frame", "work"), edge("frame", "beside"), edge("work", "vote"), edge("beside", "end"), edge("vote", "end"),
	}}
	for id, node := range map[string]string{"a4": "vote", "a3": "beside", "a1": "frame"} {
		br.Execution.Nodes[node] = &loomv1.NodeState{History: []*loomv1.Attempt{{
			Id: "shop-1-x1-" + id, Node: node, Visit: 1, Number: 1, Outcome: &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "said by " + node},
		}}}
	}
	br.Attempt.Visit = 2
	b.must(br)
	text := b.text(b.seat.turn.Prompt)
	first, second := strings.Index(text, "said by frame"), strings.Index(text, "said by vote")
	if first < 0 || second < first || strings.Contains(text, "said by beside") {
		t.Errorf("the prompt tells\n%s\nwant frame, then vote, and nothing of beside", text)
	}
}
