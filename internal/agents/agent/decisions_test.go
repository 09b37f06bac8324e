package agent_test

import (
	"testing"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// voters is a policy that opens a vote, votes, and asks what it should know.
func voters() scripted.Policy {
	return script(
		says(call("decision_ballot", map[string]any{"decision": "d5", "options": []string{"d3", "d4"}, "voters": []string{"architect"}})),
		says(call("decision_vote", map[string]any{"decision": "d5", "option": "d3", "confidence": 80, "why": "smaller"})),
		says(call("decision_query", map[string]any{"show": "context", "text": "rounding"})),
		finish("success"),
	)
}

func TestGRAPH05_AnAgentVotesForItsRole(t *testing.T) {
	b := newBench(t, voters())
	b.must(brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if len(b.seat.opened) != 1 || b.seat.opened[0].Decision != "d5" {
		t.Errorf("opened %v", b.seat.opened)
	}
	if len(b.seat.votes) != 1 || b.seat.votes[0].Role != "researcher" || b.seat.votes[0].Option != "d3" || b.seat.votes[0].Confidence != 80 {
		t.Errorf("votes %v", b.seat.votes)
	}
	if q := b.seat.asked[0]; q.Bead == "" || q.Execution == "" || q.Text != "rounding" {
		t.Errorf("a context is asked for as %v", q)
	}
}

func TestGRAPH05_WhoIsAskedForAVoteOpensNone(t *testing.T) {
	b := newBench(t, voters())
	br := brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Bead.Ballot = "d9"
	b.must(br)
	if len(b.seat.opened) != 0 || len(b.seat.votes) != 1 {
		t.Errorf("opened %v, votes %v", b.seat.opened, b.seat.votes)
	}
}
