package board

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/cli/console"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestCLI01_AgentsTellWhatTheyDo has the board of a leaf host hear of an attempt: it is a
// row while it lasts, with what its models cost, and a line when it ends.
func TestCLI01_AgentsTellWhatTheyDo(t *testing.T) {
	var out bytes.Buffer
	a := New(&console.Console{Err: &out}, Plain).Agents("w1", []string{"shop"})
	brief := &loomv1.Brief{Bead: &loomv1.Bead{Id: "shop-1", Goal: "free shipping"}}
	hear := func(e *loomv1.Event) {
		e.Bead, e.Node, e.Attempt = "shop-1", "triage", "shop-1-x1-a1"
		a.Hear(brief, e)
	}
	status := func() string { return statusOf(a.now(), 200) }
	if got := status(); got != "no agent works · $0.00 spent · shop · host w1, agents only" {
		t.Error(got)
	}
	hear(&loomv1.Event{Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{Claimant: &loomv1.Claimant{Agent: "qa-engineer/1", Host: "w1"}}}})
	hear(&loomv1.Event{Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{Answer: &loomv1.ModelAnswer{Usage: &loomv1.Usage{CostMicroUsd: 20_000, CostKnown: true}}}}})
	if rows := a.now().Rows; len(rows) != 1 || rows[0].Where != "triage by qa-engineer/1" || rows[0].Goal != "free shipping" || rows[0].MicroUSD != 20_000 || rows[0].Unpriced {
		t.Errorf("the rows are %+v", rows)
	}
	if got := status(); got != "1 running · $0.02 spent · shop · host w1, agents only" {
		t.Error(got)
	}
	hear(&loomv1.Event{Fact: &loomv1.Event_AttemptEnded{AttemptEnded: &loomv1.AttemptEnded{Outcome: &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "seen"}}}})
	if rows := a.now().Rows; len(rows) != 0 {
		t.Errorf("rows are left: %+v", rows)
	}
	a.Begin(context.Background())
	a.End()
	text := out.String()
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, "shop-1: triage taken by qa-engineer/1\n") || !strings.Contains(text, "shop-1: attempt at triage succeeded: seen\n") {
		t.Errorf("said is\n%s", text)
	}
}

// Nothing is kept for a board that shows nothing.
func TestCLI01_NobodyHearsOfAgentsWithoutABoard(t *testing.T) {
	a := New(&console.Console{Err: &bytes.Buffer{}}, Off).Agents("w1", nil)
	a.Hear(&loomv1.Brief{}, &loomv1.Event{Attempt: "a", Fact: &loomv1.Event_AttemptClaimed{AttemptClaimed: &loomv1.AttemptClaimed{}}})
	if len(a.news)+len(a.rows) > 0 {
		t.Errorf("kept are %v and %v", a.news, a.rows)
	}
}
