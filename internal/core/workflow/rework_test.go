package workflow_test

import (
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// bug plays the auto-bug workflow up to a node.
func bug(t testing.TB, until string) *world {
	w := newWorld(t, autoBug(), nil)
	for _, step := range []struct {
		node string
		do   func()
	}{
		{"triage", func() { w.answer(t, "triage", triaged("high")) }},
		{"investigate", func() { w.answer(t, "investigate", changed("p1")) }},
		{"approve", func() { w.decide(t, "approve", approve, "") }},
		{"commit", func() { w.answer(t, "commit", committed("c1", "p1")) }},
		{"verify", func() { w.answer(t, "verify", verified("c1", allChecks...)) }},
		{"land", func() { w.answer(t, "land", landed("c1")) }},
	} {
		if step.node == until {
			return w
		}
		step.do()
	}
	return w
}

func fault1(what string) *loomv1.Outcome { return bad(map[string]any{"fault": what}) }

func TestWF05_FailedVerificationReturnsToCommit(t *testing.T) {
	w := bug(t, "verify")
	n := len(w.events)
	w.answer(t, "verify", fault1("commit"))
	w.answer(t, "commit", committed("c2", "p1"))
	w.answer(t, "verify", verified("c2", allChecks...))
	check(t, w.since(n), `
		verify answered failure tool/failed
		verify sends back to commit (1): commit verify
		commit dispatched to engineering-manager: 2.1
		commit answered success
		candidate c2
		commit-verify taken: success
		verify dispatched to qa-engineer: 2.1
		verify answered success
		verify-land taken: success
		land dispatched to engineering-manager: 1.1`)
	if w.x.Approved.GetPatchDigest() != "p1" {
		t.Errorf("approved = %v, want p1: the rework stayed behind the approval", w.x.Approved)
	}
	if h := w.x.Nodes["commit"].History; len(h) != 2 {
		t.Errorf("commit has %d attempts in its history, want both", len(h))
	}
}

func TestWF05_AChangeAtFaultReturnsThroughANewApproval(t *testing.T) {
	w := bug(t, "verify")
	n := len(w.events)
	w.answer(t, "verify", fault1("change"))
	check(t, w.since(n), `
		verify answered failure tool/failed
		approval lapsed: the work goes back to investigate
		verify sends back to investigate (1): investigate approve commit verify
		investigate dispatched to web-designer: 2.1`)
	if w.x.Approved != nil {
		t.Errorf("approved = %v, want none", w.x.Approved)
	}
	w.answer(t, "investigate", changed("p2"))
	w.want(t, "approve waiting", "commit unspecified")
	w.decide(t, "approve", approve, "")
	if w.x.Approved.GetPatchDigest() != "p2" {
		t.Errorf("approved = %v, want p2", w.x.Approved)
	}
}

func TestWF05_ReworkIsBoundedThenEscalatesOnce(t *testing.T) {
	w := bug(t, "verify")
	for range 3 {
		w.answer(t, "verify", fault1(""))
		w.answer(t, "commit", committed("c1", "p1"))
	}
	n := len(w.events)
	w.answer(t, "verify", fault1(""))
	check(t, w.since(n), `
		verify answered failure tool/failed
		verify asks: attempt/exhausted`)
	if want := `attempt/exhausted: 1 attempt in visit 4 of "verify" after 3 reworks; the last: it broke`; w.approval("verify").Reason != want {
		t.Errorf("reason = %q, want %q", w.approval("verify").Reason, want)
	}
	if h := w.approval("verify").History; len(h) != 4 {
		t.Errorf("the escalation shows %d attempts, want 4", len(h))
	}
}

func TestWF05_ReworkResetsWhatTheTargetLedTo(t *testing.T) {
	// While b fails, c runs, g waits for the CEO, and d is done; all came of a.
	const drawing = `
		s start
		a task
		b task max=1
		c task
		d task
		g approval
		o task
		e end
		s -> a
		s -> o
		a -> b
		a -> c
		a -> d
		d -> g
		b -> e
		c -> e
		g -> e
		o -> e`
	w := newWorld(t, define(drawing, func(n map[string]*loomv1.NodeDefinition) {
		n["b"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
	}), nil)
	w.answer(t, "a", changed("p1"))
	w.answer(t, "d", good(nil))
	stale := w.attempt("c")
	n := len(w.events)
	w.answer(t, "b", bad(nil))
	check(t, w.since(n), `
		b answered failure tool/failed
		c answered failure attempt/withdrawn
		approval lapsed: the work goes back to a
		b sends back to a (1): a b c d g
		a dispatched to researcher: 2.1`)
	w.want(t, "o running", "a running", "c unspecified", "d unspecified", "g unspecified")
	if st := w.x.Nodes["d"]; st.Visit != 2 || st.Attempts != 0 || len(st.History) != 1 || st.Outcome != nil {
		t.Errorf("d = %v, want visit 2, no attempt yet, one in its history", st)
	}
	wantCode(t, "answer of the withdrawn attempt", w.run().Answer(stale.Id, by(stale.Role), good(nil)), "attempt/stale")

	w.answer(t, "a", good(nil))
	for _, node := range []string{"b", "c", "d", "o"} {
		w.answer(t, node, good(nil))
	}
	w.decide(t, "g", approve, "")
	w.wantEnd(t, completed)
}

func TestWF05_SkippedNodesOfTheResetPartMayRunNextTime(t *testing.T) {
	const drawing = `
		s start
		a task
		b task
		c task max=1
		e end
		s -> a
		a -> b ? outcome.ok
		a -> c
		b -> c
		c -> e`
	w := newWorld(t, define(drawing, okField("a"), func(n map[string]*loomv1.NodeDefinition) {
		n["c"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
	}), nil)
	w.answer(t, "a", ok(false))
	w.want(t, "b skipped", "c running")
	w.answer(t, "c", bad(nil))
	w.answer(t, "a", ok(true))
	w.want(t, "b running", "c unspecified")
}

func TestWF05_FirstRuleThatHoldsIsTaken(t *testing.T) {
	const drawing = "s start\na task\nb task\nc task max=1\ne end\ns -> a\na -> b\nb -> c\nc -> e"
	for _, tt := range []struct {
		name  string
		rules []*loomv1.ReworkRule
		want  string // the node that runs next; empty for an escalation
	}{
		{"unconditional", []*loomv1.ReworkRule{{To: "b"}, {To: "a"}}, "b"},
		{"second holds", []*loomv1.ReworkRule{{To: "b", When: "outcome.ok"}, {To: "a", When: "!outcome.ok"}}, "a"},
		{"one without a value does not hold", []*loomv1.ReworkRule{{To: "b", When: "context.missing"}, {To: "a"}}, "a"},
		{"none holds", []*loomv1.ReworkRule{{To: "b", When: "false"}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define(drawing, okField("c"), func(n map[string]*loomv1.NodeDefinition) {
				n["c"].OnFailure = &loomv1.FailurePolicy{Max: 2, Rework: tt.rules}
			}), nil)
			w.answer(t, "a", good(nil))
			w.answer(t, "b", good(nil))
			w.answer(t, "c", bad(nil))
			if tt.want == "" {
				w.want(t, "c waiting")
				return
			}
			w.want(t, tt.want+" running", "c unspecified")
		})
	}
}

func TestWF05_AttemptsComeBeforeRework(t *testing.T) {
	const drawing = "s start\na task\nb task max=2\ne end\ns -> a\na -> b\nb -> e"
	w := newWorld(t, define(drawing, func(n map[string]*loomv1.NodeDefinition) {
		n["b"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
	}), nil)
	w.answer(t, "a", good(nil))
	w.answer(t, "b", bad(nil))
	w.want(t, "b backoff")
	w.due(t)
	w.answer(t, "b", bad(nil))
	w.want(t, "b unspecified", "a running")
}

func TestWF06_ContinueIsAnotherCycleAtOnce(t *testing.T) {
	w := newWorld(t, define("s start\na task max=3 multi\ne end\ns -> a\na -> e"), map[string]any{"last_run_at": "long ago"})
	key := func(k string) any { return w.x.Context.AsMap()[k] }
	if key("redispatch_requested") != nil || key("last_run_at") != "2026-01-02T12:00:00Z" {
		t.Errorf("context = %v, want only a new last_run_at", w.x.Context)
	}
	n := len(w.events)
	w.now = w.now.Add(1e9)
	w.answer(t, "a", more())
	ended := w.events[n+1].GetAttemptEnded()
	if ended.GetOutcome().GetStatus() != goesOn {
		t.Fatalf("event is %v, want the end of the attempt", w.events[n+1])
	}
	if key("redispatch_requested") != false || key("last_run_at") != "2026-01-02T12:00:01Z" {
		t.Errorf("context = %v, want the request cleared by the dispatch", w.x.Context)
	}
	if a := w.attempt("a"); a.Number != 2 || w.x.Transitions != 2 {
		t.Errorf("attempt %d and %d transitions, want 2 and 2", a.Number, w.x.Transitions)
	}
	w.answer(t, "a", more())
	w.answer(t, "a", more())
	w.want(t, "a waiting")
	if key("redispatch_requested") != true {
		t.Errorf("context = %v, want the request to stand", w.x.Context)
	}
	if want := `attempt/exhausted: 3 attempts in visit 1 of "a"; the last: it asked for more cycles than it has`; w.approval("a").Reason != want {
		t.Errorf("reason = %q, want %q", w.approval("a").Reason, want)
	}
	w.decide(t, "a", retry, "go on")
	if a := w.attempt("a"); a.GetNumber() != 4 || key("redispatch_requested") != false {
		t.Errorf("attempt %v, context %v; want the fourth and the request cleared", a, w.x.Context)
	}
}

func TestWF06_ContinueAndFailureShareTheAttempts(t *testing.T) {
	w := newWorld(t, define("s start\na task max=3 multi\ne end\ns -> a\na -> e"), nil)
	w.answer(t, "a", more())
	w.answer(t, "a", bad(nil))
	w.due(t)
	w.answer(t, "a", more())
	w.want(t, "a waiting")
}

func TestWF06_ContinueIsRefusedWhereItIsNotDeclared(t *testing.T) {
	w := newWorld(t, define("s start\na task\ne end\ns -> a\na -> e"), nil)
	n := len(w.events)
	err := w.run().Answer(w.attempt("a").Id, by("researcher"), more())
	wantCode(t, "continue", err, "outcome/invalid")
	if len(w.events) != n {
		t.Errorf("a refusal emitted %s", w.since(n))
	}
}

// moved is the outcome of a landing that came too late.
func moved() *loomv1.Outcome {
	return &loomv1.Outcome{Status: failure, Code: "git/target-moved", Summary: "the target has moved", Fields: fields(map[string]any{"fault": ""})}
}

// onBase is a candidate that sits on a commit.
func onBase(commit, base string) *loomv1.Outcome {
	out := committed(commit, "p1")
	out.Candidate.Base = base
	return out
}

// movedAround answers commit, verify and land of one candidate that comes too late.
func (w *world) movedAround(t testing.TB, commit, base string) {
	t.Helper()
	w.answer(t, "commit", onBase(commit, base))
	w.answer(t, "verify", verified(commit, allChecks...))
	w.answer(t, "land", moved())
}

func TestREAL08_ATargetThatMovedCostsNothing(t *testing.T) {
	w := bug(t, "commit")
	for _, at := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		w.movedAround(t, "c"+at, "b"+at)
	}
	n := len(w.events)
	w.movedAround(t, "c9", "b9")
	check(t, w.since(n), `
		commit answered success
		candidate c9
		commit-verify taken: success
		verify dispatched to qa-engineer: 9.1
		verify answered success
		verify-land taken: success
		land dispatched to engineering-manager: 9.1
		land answered failure git/target-moved
		land sends back to commit (0): commit verify land
		commit dispatched to engineering-manager: 10.1`)
	if w.x.Approved.GetPatchDigest() != "p1" {
		t.Errorf("approved = %v, want p1: the patch is the same", w.x.Approved)
	}
	w.answer(t, "commit", onBase("c10", "b10"))
	w.answer(t, "verify", verified("c10", allChecks...))
	w.answer(t, "land", landed("c10"))
	w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED)
}

func TestREAL08_WithoutProgressItCountsAndEndsWithTheCEO(t *testing.T) {
	w := bug(t, "commit")
	for range 4 { // the first is free, then the definition's three
		w.movedAround(t, "c1", "b1")
	}
	w.want(t, "commit running")
	w.movedAround(t, "c1", "b1")
	if want := `attempt/exhausted: 1 attempt in visit 5 of "land" after 3 reworks; the last: the target has moved`; w.approval("land").GetReason() != want {
		t.Errorf("reason = %q, want %q", w.approval("land").GetReason(), want)
	}
}

func TestREAL08_NoFailureEdgeIsTakenForATargetThatMoved(t *testing.T) {
	def := autoBug()
	def.Edges = append(def.Edges, &loomv1.EdgeDefinition{Id: "given-up", From: "land", To: "end", Outcome: loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE})
	for _, n := range def.Nodes {
		if n.Id == "land" {
			n.OnFailure, n.MaxAttempts = nil, 3
		}
	}
	w := newWorld(t, def, nil)
	w.answer(t, "triage", triaged("high"))
	w.answer(t, "investigate", changed("p1"))
	w.decide(t, "approve", approve, "")
	w.movedAround(t, "c1", "b1")
	w.want(t, "commit running", "end unspecified")
}

func TestREAL08_AnAnswerAtALandingBringsAFreshCandidate(t *testing.T) {
	for _, d := range []loomv1.ApprovalDecision{retry, approve} {
		t.Run(d.String(), func(t *testing.T) {
			w := bug(t, "commit")
			for range 5 {
				w.movedAround(t, "c1", "b1")
			}
			n := len(w.events)
			w.decide(t, "land", d, "")
			check(t, w.since(n), `
				land decided: `+map[loomv1.ApprovalDecision]string{retry: "retry", approve: "approve"}[d]+`
				land sends back to commit (3): commit verify land
				commit dispatched to engineering-manager: 6.1`)
			w.movedAround(t, "c2", "b2") // that it moves now is progress again
			w.answer(t, "commit", onBase("c3", "b3"))
			w.answer(t, "verify", verified("c3", allChecks...))
			w.answer(t, "land", landed("c3"))
			w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED)
		})
	}
}
