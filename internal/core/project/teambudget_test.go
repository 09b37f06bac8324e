package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestBYD05_ATeamSpendsWhatItsBeadHas bounds what a team may use by what the lead has.
func TestBYD05_ATeamSpendsWhatItsBeadHas(t *testing.T) {
	d, bead := newTeam(t, &loomv1.Budget{Tokens: 100})
	b, who := d.claim("lead")
	if got := must(d.team(b, who, give(1, "researcher", "look", true))); standing(got) != "waits, researcher: open" {
		t.Fatal(standing(got))
	}
	r, researcher := d.takes("researcher", 1)
	d.ok(recordOf(r, researcher, turn.StartedFact(&loomv1.TurnStarted{Model: "m"})))
	d.ok(recordOf(r, researcher, turn.AnsweredFact(&loomv1.ModelAnswer{
		Model: "m", Request: "q", Usage: &loomv1.Usage{InputTokens: 101, CostKnown: true}, Problem: "again",
	})))
	if q := d.inbox(); q.Bead != bead || !strings.Contains(q.Reason, "budget/exhausted") {
		t.Errorf("asked %v, want about the budget of %s", q, bead)
	}
	if x := d.execution(r.Execution.Id); x.HeldSince == nil {
		t.Error("the task goes on though its lead has nothing left")
	}
}

// TestBYD05_ACallThatATaskCannotPayEndsIt has a task ask before a call that does
// not fit into what it was given: who gave it is told, and no person is asked.
func TestBYD05_ACallThatATaskCannotPayEndsIt(t *testing.T) {
	d, _ := newTeam(t, nil)
	b, who := d.claim("lead")
	call := give(1, "researcher", "look", true)
	call.GetGive().Budget = &loomv1.Budget{Tokens: 100}
	if got := must(d.team(b, who, call)); standing(got) != "waits, researcher: open" {
		t.Fatal(standing(got))
	}
	r, researcher := d.takes("researcher", 1)
	if v := d.reserve(r, researcher, "q", 101); v != stops {
		t.Errorf("the call: %s", v)
	}
	if x := d.execution(r.Execution.Id); x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_ABORTED || d.limits() != 0 {
		t.Errorf("the task is %s, and the CEO was asked %d times", x.Status, d.limits())
	}
	b, who = d.takes("lead", 1)
	if got := must(d.team(b, who, call)); len(got) != 1 || !strings.Contains(fmt.Sprint(got[0].Tasks), "budget/exhausted") {
		t.Errorf("the lead is told %v", got)
	}
}

// TestBYD05_AReopenedTaskIsAskedAbout has an operator reopen a task that works for
// nobody then: when it has used what it was given, a person decides.
func TestBYD05_AReopenedTaskIsAskedAbout(t *testing.T) {
	d, _ := newTeam(t, nil)
	b, who := d.claim("lead")
	call := give(1, "researcher", "look", false)
	call.GetGive().Budget = &loomv1.Budget{Tokens: 100}
	bead := must(d.team(b, who, call))[0].Tasks[0].Bead
	d.answers(b, who, outcome(success, nil))
	d.ok(reopenBead(bead, "k"))
	r, researcher := d.takes("researcher", 1)
	d.ok(recordOf(r, researcher, turn.StartedFact(&loomv1.TurnStarted{Model: "m"})))
	d.ok(recordOf(r, researcher, turn.AnsweredFact(&loomv1.ModelAnswer{
		Model: "m", Request: "q", Usage: &loomv1.Usage{InputTokens: 101, CostKnown: true}, Problem: "again",
	})))
	if q := d.inbox(); q.Bead != bead || !strings.Contains(q.Reason, "budget/exhausted") || d.status(bead) != "waiting" {
		t.Errorf("asked %v while the bead is %s, want about the budget of %s", q, d.status(bead), bead)
	}
}

// TestBYD05_ACallFitsIntoWhatThoseAboveHave has tasks without a budget of their own,
// one given by the lead and one by whom the lead gave work, ask before a call: what the
// lead may spend bounds both, together with what is held back for the other.
func TestBYD05_ACallFitsIntoWhatThoseAboveHave(t *testing.T) {
	d, bead := newTeam(t, &loomv1.Budget{Tokens: 100})
	b, lead := d.claim("lead")
	must(d.team(b, lead, give(1, "researcher", "look", true), give(2, "implementer", "build", true)))
	r, researcher := d.takes("researcher", 1)
	must(d.team(r, researcher, give(1, "qa-engineer", "count", true)))
	i, implementer := d.takes("implementer", 1)
	q, qa := d.takes("qa-engineer", 1)
	d.begin(i, implementer)
	d.begin(q, qa)
	for _, task := range []*loomv1.Brief{i, q} {
		if task.Bead.Budget != nil {
			t.Fatalf("task %s has the budget %v, want none", task.Bead.Id, task.Bead.Budget)
		}
	}
	if v := d.reserve(i, implementer, "q1", 60); v != goes {
		t.Fatalf("the first call: %s", v)
	}
	if v := d.reserve(q, qa, "q1", 41); v != parks {
		t.Errorf("a call that does not fit beside the first: %s", v)
	}
	d.answered(i, implementer, "q1", 60)
	q, qa = d.takes("qa-engineer", 1)
	if v := d.reserve(q, qa, "q1", 41); v != stops {
		t.Errorf("a call that will never fit: %s", v)
	}
	if a := d.inbox(); a.Bead != bead || !strings.Contains(a.Reason, "budget/exhausted: 60 tokens are used, of 100, and the next call can use 41") {
		t.Errorf("asked %v, want about the budget of %s", a, bead)
	}
}
