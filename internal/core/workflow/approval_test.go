package workflow_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const rejected = loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED

func TestWF07_ApprovalNode(t *testing.T) {
	t.Run("asks with the change and binds it", func(t *testing.T) {
		w := bug(t, "approve")
		a := w.approval("approve")
		if a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL || a.Change.GetPatchDigest() != "p1" || a.Bead != "p-1" {
			t.Errorf("approval = %v, want one of p-1 about p1", a)
		}
		if a.Digest != workflow.Digest(a) || len(a.Digest) != 64 {
			t.Errorf("digest = %q, want the approval's own", a.Digest)
		}
		wantOptions(t, a, approve, requestChanges, reject)
		w.decide(t, "approve", approve, "")
		if got := w.x.Approved; got.GetApproval() != a.Id || got.PatchDigest != "p1" || got.Decision != "d1" || !got.At.AsTime().Equal(noon) {
			t.Errorf("approved = %v, want p1 by %s", got, a.Id)
		}
	})
	t.Run("request changes goes back to the last working node", func(t *testing.T) {
		w := bug(t, "approve")
		n := len(w.events)
		w.decide(t, "approve", requestChanges, "smaller, please")
		check(t, w.since(n), `
			approve decided: request_changes
			approve sends back to investigate (0): investigate approve
			investigate dispatched to web-designer: 2.1`)
		if r := w.events[n+1].GetReworkStarted().GetReason(); r != "smaller, please" {
			t.Errorf("reason = %q, want the comment", r)
		}
	})
	t.Run("reject closes everything", func(t *testing.T) {
		w := bug(t, "approve")
		w.decide(t, "approve", reject, "no")
		w.wantEnd(t, rejected)
		if w.x.Reason != "no" {
			t.Errorf("reason = %q, want the comment", w.x.Reason)
		}
	})
	t.Run("without work before it there is nothing to change", func(t *testing.T) {
		w := newWorld(t, define("s start\ng approval\ne end\ns -> g\ng -> e"), nil)
		wantOptions(t, w.approval("g"), approve, reject)
		w.decide(t, "g", approve, "")
		w.wantEnd(t, completed)
		if w.x.Approved != nil {
			t.Errorf("approved = %v, want nothing: there was no change", w.x.Approved)
		}
	})
}

func TestWF07_RejectWithdrawsWhatIsOpen(t *testing.T) {
	w := newWorld(t, define("s start\ng approval\nh approval\na task\ne end\ns -> g\ns -> h\ns -> a\ng -> e\nh -> e\na -> e"), nil)
	n := len(w.events)
	w.decide(t, "g", reject, "no")
	check(t, w.since(n), `
		g decided: reject
		approval lapsed: the execution ended
		a answered failure attempt/withdrawn
		rejected`)
	if _, ok := workflow.Next(w.x, nil, 0); ok || len(workflow.Queued(w.x)) > 0 {
		t.Error("an ended execution still wants something")
	}
}

func TestWF07_AnswersToAnEscalation(t *testing.T) {
	const line = `
		s start
		a task
		b task max=2
		c task
		e end
		s -> a
		a -> b
		b -> c ? outcome.ok
		b -> e ? !outcome.ok
		c -> e`
	for _, tt := range []struct {
		decision loomv1.ApprovalDecision
		story    string
	}{
		{approve, "b decided: approve\nb-c dead\nb-e taken: override\nc skipped\nc-e dead\ncompleted"},
		{skip, "b decided: skip\ngap: b\nb-c dead\nb-e taken: override\nc skipped\nc-e dead\ncompleted_with_gaps"},
		{retry, "b decided: retry\nb dispatched to researcher: 1.3 retry"},
		{requestChanges, "b decided: request_changes\nb sends back to a (0): a b\na dispatched to researcher: 2.1"},
		{reject, "b decided: reject\nrejected"},
	} {
		t.Run(tt.decision.String(), func(t *testing.T) {
			w := newWorld(t, define(line, okField("b")), nil)
			w.answer(t, "a", good(nil))
			w.answer(t, "b", bad(nil))
			w.due(t)
			w.answer(t, "b", bad(nil))
			a := w.approval("b")
			wantOptions(t, a, approve, requestChanges, retry, skip, reject)
			if len(a.History) != 2 || len(a.NextSteps) != len(a.Options) || a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
				t.Errorf("escalation = %v, want its two attempts and a step for each option", a)
			}
			n := len(w.events)
			w.decide(t, "b", tt.decision, "")
			check(t, w.since(n), tt.story)
		})
	}
}

func TestWF07_RetryGrantsAsManyAttemptsAgain(t *testing.T) {
	w := newWorld(t, define("s start\na task max=2\ne end\ns -> a\na -> e"), nil)
	for round := range 3 {
		for try := range 2 {
			if want := uint32(2*round + try + 1); w.attempt("a").GetNumber() != want {
				t.Fatalf("attempt %d is outstanding, want %d", w.attempt("a").GetNumber(), want)
			}
			if w.answer(t, "a", bad(nil)); try == 0 {
				w.due(t)
			}
		}
		w.want(t, "a waiting")
		w.decide(t, "a", retry, "")
	}
	if st := w.x.Nodes["a"]; st.ExtraAttempts != 6 {
		t.Errorf("extra attempts = %d, want 6", st.ExtraAttempts)
	}
}

// Who was to make the change and made none is not passed over: behind it there is
// nothing to commit.
func TestWF07_WithoutAChangeNothingGoesOn(t *testing.T) {
	w := bug(t, "investigate")
	for w.answer(t, "investigate", bad(nil)); w.x.Nodes["investigate"].Approval == ""; w.answer(t, "investigate", bad(nil)) {
		w.due(t)
	}
	a := w.approval("investigate")
	wantOptions(t, a, approve, requestChanges, retry, reject)
	if !strings.Contains(a.NextSteps[0], "no change to go on with") {
		t.Errorf("next step = %q, want it to say so", a.NextSteps[0])
	}
	n := len(w.events)
	w.decide(t, "investigate", approve, "")
	if got := w.attempt("investigate"); got == nil {
		t.Errorf("approved, it is not tried again: %v", w.events[n:])
	}
}

// A commit, verify or land node is never skipped: approve means more attempts.
func TestWF07_DutiesAreNeverSkipped(t *testing.T) {
	for _, node := range []string{"commit", "verify", "land"} {
		t.Run(node, func(t *testing.T) {
			w := bug(t, node)
			w.take(t)
			w.due(t) // the deadline
			a := w.approval(node)
			wantOptions(t, a, approve, requestChanges, retry, reject)
			if !strings.Contains(a.NextSteps[0], "never skipped") {
				t.Errorf("next step = %q, want it to say so", a.NextSteps[0])
			}
			w.decide(t, node, approve, "")
			if node == "land" { // with a fresh candidate
				w.answer(t, "commit", committed("c2", "p1"))
				w.answer(t, "verify", verified("c2", allChecks...))
			}
			w.want(t, node+" running")
		})
	}
}

// The CEO has the last word where no success edge holds.
func TestWF07_OverrideTakesAllEdgesWhenNoneHolds(t *testing.T) {
	w := newWorld(t, define("s start\na task max=1\nb task\nc task\ne end\ns -> a\na -> b ? context.x\na -> c ? false\nb -> e\nc -> e"), nil)
	w.answer(t, "a", bad(nil))
	w.decide(t, "a", skip, "")
	w.want(t, "a failed", "b running", "c running")
}

func TestWF07_OverrideOfANodeWithFailureEdgesAlone(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e !"), nil)
	w.answer(t, "a", good(nil))
	w.want(t, "a waiting")
	w.decide(t, "a", approve, "")
	w.want(t, "e succeeded")
	w.wantEnd(t, completed)
}

// Skipping an approval that was given but could not go on keeps it.
func TestWF07_ApprovedButStuckEscalatesTheApprovalNode(t *testing.T) {
	w := newWorld(t, define("s start\na task\ng approval\ne end\ns -> a\na -> g\ng -> e ? context.missing"), nil)
	w.answer(t, "a", changed("p1"))
	w.decide(t, "g", approve, "")
	if a := w.approval("g"); !strings.HasPrefix(a.GetReason(), "condition/evaluation: edge \"g-e\":") {
		t.Errorf("approval = %v, want an escalation of the condition", a)
	}
	w.decide(t, "g", skip, "")
	w.wantEnd(t, completed)
	if w.x.Approved.GetPatchDigest() != "p1" {
		t.Errorf("approved = %v, want p1", w.x.Approved)
	}
}

// An answer to an escalation approves no change: only an approval node does.
func TestP09_AnEscalationApprovesNoChange(t *testing.T) {
	w := newWorld(t, define("s start\na task\nb task max=1\ng approval\nc task kind=commit\ne end\ns -> a\na -> b\nb -> g\ng -> c\nc -> e"), nil)
	w.answer(t, "a", changed("p1"))
	w.answer(t, "b", bad(nil))
	w.decide(t, "b", approve, "")
	w.want(t, "g waiting")
	if w.x.Approved != nil {
		t.Errorf("approved = %v, want nothing", w.x.Approved)
	}
}

// An approval carries the newest attempts, with their notes cut.
func TestWF07_EscalationsCarryABoundedHistory(t *testing.T) {
	w := newWorld(t, define("s start\na task max=9 multi\ne end\ns -> a\na -> e"), nil)
	for range 3 {
		for w.attempt("a") != nil {
			out := more()
			out.Notes = strings.Repeat("n", 5000)
			w.answer(t, "a", out)
		}
		h, n := w.approval("a").History, w.x.Nodes["a"].Attempts
		if len(h) != min(20, int(n)) || h[len(h)-1].Number != n {
			t.Errorf("history of %d attempts ends with number %d, want the newest 20 of %d", len(h), h[len(h)-1].Number, n)
		}
		for _, a := range w.approval("a").History {
			if len(a.Outcome.Notes) != 1024 {
				t.Fatalf("notes of %d bytes, want 1024", len(a.Outcome.Notes))
			}
		}
		w.decide(t, "a", retry, "")
	}
	if h := w.x.Nodes["a"].History; len(h) != 27 || len(h[0].Outcome.Notes) != 5000 {
		t.Errorf("the execution keeps %d attempts, notes of %d bytes; want 27 and 5000", len(h), len(h[0].Outcome.Notes))
	}
}

// A duty that has been done can be passed: only its edge could not be read.
func TestWF07_ADutyThatIsDoneMayBePassed(t *testing.T) {
	w := newWorld(t, define("s start\nc task kind=commit\ne end\ns -> c\nc -> e ? context.missing"), nil)
	w.x.Change = &loomv1.Change{PatchDigest: "p1"}
	w.answer(t, "c", committed("c1", "p1"))
	wantOptions(t, w.approval("c"), approve, retry, skip, reject)
	w.decide(t, "c", approve, "")
	w.wantEnd(t, completed)
}

// The last working node is one that ran this time: b did in the first visit,
// and was skipped in the second.
func TestWF07_RequestChangesGoesToWorkOfThisVisit(t *testing.T) {
	w := newWorld(t, define(`
		s start
		a task
		b task
		c task max=1
		g approval
		e end
		s -> a
		a -> b ? outcome.ok
		a -> g
		b -> g
		a -> c
		c -> e
		g -> e`, okField("a"), func(n map[string]*loomv1.NodeDefinition) {
		n["c"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
	}), nil)
	w.answer(t, "a", ok(true))
	w.answer(t, "b", good(nil))
	w.answer(t, "c", bad(nil))
	w.answer(t, "a", ok(false))
	w.want(t, "b skipped", "g waiting")
	n := len(w.events)
	w.decide(t, "g", requestChanges, "")
	check(t, w.since(n), `
		g decided: request_changes
		c answered failure attempt/withdrawn
		g sends back to a (0): a b c g
		a dispatched to researcher: 3.1`)
}

// TestWF07_AnApprovalThatIsAskedAgainSaysWhy has a change refused after it was approved:
// the next question says by whom and why, shows that attempt, and says whether it is
// the same change.
func TestWF07_AnApprovalThatIsAskedAgainSaysWhy(t *testing.T) {
	for _, tt := range []struct{ next, want string }{
		{"p1", "v sent back what was approved: it breaks the tests; this is the same change again"},
		{"p2", "v sent back what was approved: it breaks the tests"},
	} {
		w := newWorld(t, define("s start\na task\ng approval\nv task max=1\ne end\ns -> a\na -> g\ng -> v\nv -> e", func(n map[string]*loomv1.NodeDefinition) {
			n["v"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
		}), nil)
		w.answer(t, "a", changed("p1"))
		if a := w.approval("g"); a.Reason != "" || len(a.Work) != 1 {
			t.Errorf("asked first because %q, with %d attempts", a.Reason, len(a.Work))
		}
		w.decide(t, "g", approve, "")
		refused := bad(nil)
		refused.Summary = "it breaks the tests"
		w.answer(t, "v", refused)
		w.answer(t, "a", changed(tt.next))
		a := w.approval("g")
		if a.Reason != tt.want {
			t.Errorf("asked again because %q, want %q", a.Reason, tt.want)
		}
		if len(a.Work) != 2 || a.Work[0].Node != "v" || a.Work[0].Outcome.GetSummary() != "it breaks the tests" {
			t.Errorf("asked again with %v", a.Work)
		}
	}
}

func TestWF07_DecideRefuses(t *testing.T) {
	decideOn := func(w *world, a *loomv1.Approval, d loomv1.ApprovalDecision) error {
		return w.run().Decide(a, &loomv1.DecideApproval{Approval: a.Id, Decision: d})
	}
	open := bug(t, "approve")
	foreign := proto.CloneOf(open.approval("approve"))
	foreign.Execution = "p-9-x1"
	gone := bug(t, "approve")
	old := gone.approval("approve")
	gone.decide(t, "approve", approve, "")
	again := bug(t, "approve")
	first := again.approval("approve")
	again.decide(t, "approve", requestChanges, "")
	again.answer(t, "investigate", changed("p2"))
	second := again.approval("approve").Id
	if err := again.emit(&loomv1.Event{Node: "approve", Fact: &loomv1.Event_ApprovalDecided{
		ApprovalDecided: &loomv1.ApprovalDecided{Approval: second, Decision: approve},
	}}); err != nil {
		t.Fatal(err)
	}
	over := bug(t, "approve")
	last := over.approval("approve")
	over.decide(t, "approve", reject, "")
	gate := newWorld(t, define(inTurn, okField("a"), gated("b", "outcome.a.ok", blocks, "", 0)), nil)
	gate.answer(t, "a", ok(false))
	waived := gate.approval("b")
	gate.decide(t, "b", approve, "")
	for _, tt := range []struct {
		name string
		err  error
		code string
	}{
		{"a gate that was waived before", decideOn(gate, waived, approve), "approval/lapsed"},
		{"not decided yet", decideOn(open, open.approval("approve"), approve), "approval/lapsed"},
		{"not an option", decideOn(open, open.approval("approve"), skip), "approval/option"},
		{"no decision", decideOn(open, open.approval("approve"), 0), "approval/option"},
		{"another execution", decideOn(open, foreign, approve), "approval/unknown"},
		{"carried out before", decideOn(gone, old, approve), "approval/lapsed"},
		{"of an earlier visit", decideOn(again, first, approve), "approval/lapsed"},
		{"execution ended", decideOn(over, last, approve), "approval/lapsed"},
	} {
		wantCode(t, tt.name, tt.err, tt.code)
	}
	if err := open.tryDecide("approve", approve, ""); err != nil {
		t.Errorf("after the refusals: %v, want the approval to be open still", err)
	}
}

func wantOptions(t testing.TB, a *loomv1.Approval, want ...loomv1.ApprovalDecision) {
	t.Helper()
	if !slices.Equal(a.GetOptions(), want) {
		t.Errorf("options = %v, want %v", a.GetOptions(), want)
	}
}
