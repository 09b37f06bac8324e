package workflow_test

import (
	"slices"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const inTurn = `
	s start
	a task
	b task
	e end
	s -> a
	a -> b
	b -> e`

// What a gate does that does not hold, as a story from the answer of the task
// before it.
func TestWF15_GateActions(t *testing.T) {
	for _, tt := range []struct {
		name   string
		gate   func(map[string]*loomv1.NodeDefinition)
		answer *loomv1.Outcome
		story  string
	}{
		{
			"a gate that holds is nothing", gated("b", "outcome.a.ok", blocks, "", 0), ok(true),
			`a answered success
			a-b taken: success
			b dispatched to researcher: 1.1`,
		},
		{
			"block asks the CEO", gated("b", "outcome.a.ok", blocks, "", 0), ok(false),
			`a answered success
			a-b taken: success
			gate of b: block
			b asks: gate/blocked`,
		},
		{
			"to say nothing is to block", gated("b", "outcome.a.ok", 0, "", 0), ok(false),
			`a answered success
			a-b taken: success
			gate of b: block
			b asks: gate/blocked`,
		},
		{
			"skip goes on without the node", gated("b", "outcome.a.ok", skips, "", 0), ok(false),
			`a answered success
			a-b taken: success
			gate of b: skip
			gap: b
			b skipped
			b-e taken: gap
			completed_with_gaps`,
		},
		{
			"fail ends the execution", gated("b", "outcome.a.ok", fails, "", 0), ok(false),
			`a answered success
			a-b taken: success
			gate of b: fail
			failed`,
		},
		{
			"replan sends work back", gated("b", "outcome.a.ok", replans, "a", 2), ok(false),
			`a answered success
			a-b taken: success
			gate of b: replan
			b sends back to a (0): a
			a dispatched to researcher: 2.1`,
		},
		{
			"one that cannot be read blocks, whatever it says", gated("b", "context.missing", skips, "", 0), ok(true),
			`a answered success
			a-b taken: success
			gate of b: block
			b asks: gate/blocked`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define(inTurn, okField("a"), tt.gate), nil)
			n := len(w.events)
			w.answer(t, "a", tt.answer)
			check(t, w.since(n), tt.story)
		})
	}
}

func TestWF15_AReplanIsBoundedThenBlocks(t *testing.T) {
	w := newWorld(t, define(inTurn, okField("a"), gated("b", "outcome.a.ok", replans, "a", 2)), nil)
	for range 2 {
		w.answer(t, "a", ok(false))
		w.want(t, "a running")
	}
	w.answer(t, "a", ok(false))
	w.want(t, "a succeeded", "b waiting")
	if want := `gate/blocked: the gate of "b" does not hold: outcome.a.ok, after it sent work back 2 times`; w.approval("b").Reason != want {
		t.Errorf("reason = %q, want %q", w.approval("b").Reason, want)
	}
	if h := w.x.Nodes["a"].History; len(h) != 3 {
		t.Errorf("a has %d attempts in its history, want 3", len(h))
	}
}

// A gate with no work before it comes to its bound in one command.
func TestWF15_AReplanOverNoWorkEnds(t *testing.T) {
	w := newWorld(t, define("s start\nd decision\nb task\ne end\ns -> d\nd -> b\nb -> e", gated("b", "false", replans, "d", 3)), nil)
	w.want(t, "b waiting")
	if st := w.x.Nodes["d"]; st.Visit != 4 {
		t.Errorf("d is in visit %d, want 4", st.Visit)
	}
}

func TestWF15_AnswersToABlockedGate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer loomv1.ApprovalDecision
		story  string
	}{
		{"approve lets it start", approve, "b decided: approve\nb dispatched to researcher: 1.1"},
		{"retry reads it again", retry, "b decided: retry\ngate of b: block\nb asks: gate/blocked"},
		{"skip passes it over", skip, "b decided: skip\ngap: b\nb skipped\nb-e taken: override\ncompleted_with_gaps"},
		{"reject closes", reject, "b decided: reject\nrejected"},
		{
			"request changes goes back", requestChanges,
			"b decided: request_changes\nb sends back to a (0): a\na dispatched to researcher: 2.1",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, define(inTurn, okField("a"), gated("b", "outcome.a.ok", blocks, "", 0)), nil)
			w.answer(t, "a", ok(false))
			a := w.approval("b")
			wantOptions(t, a, approve, requestChanges, retry, skip, reject)
			if !a.Gate || len(a.NextSteps) != len(a.Options) || !strings.Contains(strings.Join(a.NextSteps, "\n"), "although its gate does not hold") {
				t.Errorf("approval = %v, want one about a gate with a step for each answer", a)
			}
			n := len(w.events)
			w.decide(t, "b", tt.answer, "")
			check(t, w.since(n), tt.story)
		})
	}
}

// What the CEO waived is waived for that visit alone.
func TestWF15_AWaiverEndsWithItsVisit(t *testing.T) {
	w := newWorld(t, define(inTurn, okField("a"), gated("b", "outcome.a.ok", blocks, "", 0), func(n map[string]*loomv1.NodeDefinition) {
		n["b"].MaxAttempts, n["b"].OnFailure = 1, &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
	}), nil)
	w.answer(t, "a", ok(false))
	w.decide(t, "b", approve, "")
	w.answer(t, "b", bad(nil))
	w.answer(t, "a", ok(false))
	w.want(t, "b waiting")
	if a := w.approval("b"); !a.Gate {
		t.Errorf("approval = %v, want one about the gate", a)
	}
}

// A duty may be blocked or sent back, and waived, but not skipped.
func TestWF15_AGatedDutyIsNeverSkipped(t *testing.T) {
	def := autoBug()
	for _, n := range def.Nodes {
		if n.Id == "commit" {
			n.Gate = &loomv1.Gate{Condition: "false"}
		}
	}
	w := newWorld(t, def, nil)
	w.answer(t, "triage", triaged("high"))
	w.answer(t, "investigate", changed("p1"))
	w.decide(t, "approve", approve, "")
	wantOptions(t, w.approval("commit"), approve, requestChanges, retry, reject)
	w.decide(t, "commit", approve, "")
	w.want(t, "commit running")
}

const branches = `
	s start
	a task max=1 %
	b task
	c task
	j merge
	y task
	e end
	s -> a
	s -> b
	b -> c
	a -> j
	c -> j
	j -> y
	y -> e`

func drawn1(flag string) string { return strings.Replace(branches, "%", flag, 1) }

// WF15: after a critical node has escalated, what runs goes on and nothing else
// starts, until there is an answer.
func TestWF15_ACriticalNodeHaltsTheOthers(t *testing.T) {
	w := newWorld(t, define(drawn1("critical")), nil)
	w.answer(t, "a", bad(nil))
	if a := w.approval("a"); !a.Halts || w.x.HaltedBy != "a" {
		t.Fatalf("halted by %q, approval %v; want a to halt", w.x.HaltedBy, a)
	}
	w.answer(t, "b", good(nil))
	w.want(t, "b succeeded", "c unspecified")
	w.pass(t, 1)
	w.want(t, "c unspecified")
	w.decide(t, "a", approve, "")
	w.want(t, "c running")
	if w.x.HaltedBy != "" {
		t.Errorf("halted by %q after the answer", w.x.HaltedBy)
	}
}

// WF15: another that waits for its next attempt gets it once it may.
func TestWF15_AHaltKeepsBackNextAttempts(t *testing.T) {
	const drawing = `
		s start
		a task max=1 critical
		b task max=3 multi
		c task max=2 role=tester
		d task max=1 critical
		e end
		s -> a
		s -> b
		s -> c
		s -> d
		a -> e
		b -> e
		c -> e
		d -> e`
	w := newWorld(t, define(drawing), nil)
	w.answer(t, "d", bad(nil))
	w.answer(t, "a", bad(nil))
	if w.x.HaltedBy != "a" {
		t.Errorf("halted by %q, want a, the first by name", w.x.HaltedBy)
	}
	n := len(w.events)
	w.answer(t, "b", more())
	w.answer(t, "c", bad(nil))
	w.pass(t, 1e10)
	check(t, w.since(n), "b answered continue\nb backs off\nc answered failure tool/failed\nc backs off")
	w.decide(t, "a", retry, "")
	if w.x.HaltedBy != "d" {
		t.Errorf("halted by %q, want d still", w.x.HaltedBy)
	}
	w.want(t, "a backoff")
	w.decide(t, "d", skip, "")
	n = len(w.events)
	w.pass(t, 0)
	check(t, w.since(n), "a dispatched to researcher: 1.2 retry\nb dispatched to researcher: 1.2 continue\nc dispatched to tester: 1.2 retry")
	if st := w.x.Nodes["a"]; st.ExtraAttempts != 1 {
		t.Errorf("a has %d extra attempts, want the one that was granted", st.ExtraAttempts)
	}
}

func TestWF15_AnOptionalNodeIsPassedOver(t *testing.T) {
	t.Run("when its attempts are used", func(t *testing.T) {
		w := newWorld(t, define(drawn1("optional")), nil)
		n := len(w.events)
		w.answer(t, "a", bad(nil))
		check(t, w.since(n), "a answered failure tool/failed\ngap: a\na-j taken: gap")
		w.want(t, "a failed", "b running")
		if g := w.x.Gaps; len(g) != 1 || g[0].Node != "a" || g[0].Reason != `attempt/exhausted: 1 attempt in visit 1 of "a"; the last: it broke` {
			t.Errorf("gaps = %v, want one that says why", g)
		}
		w.answer(t, "b", good(nil))
		w.answer(t, "c", good(nil))
		w.answer(t, "y", good(nil))
		w.wantEnd(t, withGaps)
	})
	t.Run("when it timed out", func(t *testing.T) {
		w := newWorld(t, define("s start\na task optional\ne end\ns -> a\na -> e"), nil)
		w.take(t)
		w.due(t)
		w.wantEnd(t, withGaps)
		if g := w.x.Gaps; len(g) != 1 || !strings.HasPrefix(g[0].Reason, "attempt/timeout") {
			t.Errorf("gaps = %v, want the timeout", g)
		}
	})
	t.Run("after its rework", func(t *testing.T) {
		w := newWorld(t, define(inTurn, func(n map[string]*loomv1.NodeDefinition) {
			n["b"].MaxAttempts, n["b"].Criticality = 1, loomv1.Criticality_CRITICALITY_OPTIONAL
			n["b"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
		}), nil)
		w.answer(t, "a", good(nil))
		w.answer(t, "b", bad(nil))
		w.want(t, "a running")
		w.answer(t, "a", good(nil))
		w.answer(t, "b", bad(nil))
		w.wantEnd(t, withGaps)
	})
	t.Run("but not before its failure edge", func(t *testing.T) {
		w := newWorld(t, define("s start\na task optional\nb task\ne end\ns -> a\na -> e\na -> b !\nb -> e"), nil)
		w.answer(t, "a", bad(nil))
		w.want(t, "b running")
		if len(w.x.Gaps) != 0 {
			t.Errorf("gaps = %v, want none", w.x.Gaps)
		}
	})
}

// Where an optional node's success edges do not hold for want of its outcome,
// they are taken all the same: what follows is to know of the gap.
func TestWF15_AGapTakesTheSuccessEdges(t *testing.T) {
	w := newWorld(t, define("s start\na task max=1 optional\nb task\nc task\ne end\ns -> a\na -> b ? outcome.ok\na -> c !\n b -> e\nc -> e", okField("a"),
		func(n map[string]*loomv1.NodeDefinition) { n["a"].FailureEdgeAfterAttempts = true }), nil)
	w.take(t)
	w.due(t)
	w.want(t, "c running") // a failure edge comes first, at a timeout too
	w = newWorld(t, define("s start\na task max=1 optional\nb task\ne end\ns -> a\na -> b ? outcome.ok\nb -> e", okField("a")), nil)
	w.answer(t, "a", bad(nil))
	w.want(t, "a failed", "b running")
}

func TestWF07_WhatTheCEOSkipsIsAGap(t *testing.T) {
	w := newWorld(t, define("s start\na task max=1\ne end\ns -> a\na -> e"), nil)
	w.answer(t, "a", bad(nil))
	w.decide(t, "a", skip, "we can do without")
	w.wantEnd(t, withGaps)
	if g := w.x.Gaps; len(g) != 1 || g[0].Reason != "the CEO skipped it: we can do without" {
		t.Errorf("gaps = %v, want the CEO's words", g)
	}
}

func TestWF15_CompileChecksGatesAndCriticality(t *testing.T) {
	duty := func(f func(*loomv1.NodeDefinition)) func(map[string]*loomv1.NodeDefinition) {
		return func(n map[string]*loomv1.NodeDefinition) { f(n["c"]) }
	}
	const drawing = "s start\na task\nb task\nc task kind=commit\np task process=other\ne end\ns -> a\na -> b\nb -> c\nc -> p\np -> e"
	for _, tt := range []struct {
		name  string
		edit  func(map[string]*loomv1.NodeDefinition)
		where string // empty: it compiles
	}{
		{"a sound gate", gated("b", `execution.dispatches < 9`, replans, "a", 1), ""},
		{"a gate without a condition", gated("b", "", blocks, "", 0), "nodes.b.gate.condition"},
		{"a gate that does not compile", gated("b", "outcome.b.ok", blocks, "", 0), "nodes.b.gate.condition"},
		{"a gate of another type", gated("b", `"x"`, blocks, "", 0), "nodes.b.gate.condition"},
		{"a gate on the start", gated("s", "true", blocks, "", 0), "nodes.s.gate"},
		{"a gate on an end", gated("e", "true", blocks, "", 0), "nodes.e.gate"},
		{"an unknown action", gated("b", "true", 99, "", 0), "nodes.b.gate.on_failure"},
		{"a replan to nowhere", gated("b", "true", replans, "x", 1), "nodes.b.gate.to"},
		{"a replan forward", gated("b", "true", replans, "c", 1), "nodes.b.gate.to"},
		{"a replan to itself", gated("b", "true", replans, "b", 1), "nodes.b.gate.to"},
		{"a replan without bound", gated("b", "true", replans, "a", 0), "nodes.b.gate.max"},
		{"a replan without end", gated("b", "true", replans, "a", 101), "nodes.b.gate.max"},
		{"a replan to its bound", gated("b", "true", replans, "a", 100), ""},
		{"a duty that is skipped", gated("c", "true", skips, "", 0), "nodes.c.gate.on_failure"},
		{"a duty that blocks", gated("c", "true", blocks, "", 0), ""},
		{"an optional duty", duty(func(n *loomv1.NodeDefinition) { n.Criticality = loomv1.Criticality_CRITICALITY_OPTIONAL }), "nodes.c.criticality"},
		{"a critical duty", duty(func(n *loomv1.NodeDefinition) { n.Criticality = loomv1.Criticality_CRITICALITY_CRITICAL }), ""},
		{"an unknown criticality", duty(func(n *loomv1.NodeDefinition) { n.Criticality = 9 }), "nodes.c.criticality"},
		{"a process with a role", func(n map[string]*loomv1.NodeDefinition) { n["p"].Role = "researcher" }, "nodes.p.role"},
		{"a process of a kind", duty(func(n *loomv1.NodeDefinition) { n.Process, n.Role = "other", "" }), "nodes.c.kind"},
		{"a process in cycles", func(n map[string]*loomv1.NodeDefinition) { n["p"].MultiDispatch = true }, "nodes.p.multi_dispatch"},
		{"a process with fields", func(n map[string]*loomv1.NodeDefinition) { n["p"].Outcome = map[string]string{"x": "int"} }, "nodes.p.outcome"},
		{"a backoff", func(n map[string]*loomv1.NodeDefinition) { n["a"].Backoff = backoff(2e9, 9e9) }, ""},
		{"a backoff beyond its limit", func(n map[string]*loomv1.NodeDefinition) { n["a"].Backoff = backoff(9e9, 2e9) }, "nodes.a.backoff"},
		{"a negative backoff", func(n map[string]*loomv1.NodeDefinition) { n["a"].Backoff = backoff(-1, 2e9) }, "nodes.a.backoff"},
		{"no backoff at all", func(n map[string]*loomv1.NodeDefinition) { n["a"].Backoff = backoff(0, 2e9) }, "nodes.a.backoff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := compiles(define(drawing, tt.edit))
			if places := placesOf(err); tt.where != "" && !slices.Contains(places, tt.where) || tt.where == "" && err != nil {
				t.Errorf("Compile: %v at %q, want %q", err, places, tt.where)
			}
		})
	}
}

// TestPROC04_AGateThatPassesSendsWorkBackSoOften has a gate that never holds send work back
// twice and then let it through, and asks nobody.
func TestPROC04_AGateThatPassesSendsWorkBackSoOften(t *testing.T) {
	def := define(`
		s start
		a task
		m merge
		e end
		s -> a
		a -> m
		m -> e`, func(n map[string]*loomv1.NodeDefinition) {
		n["m"].Gate = &loomv1.Gate{Condition: "false", OnFailure: loomv1.GateAction_GATE_ACTION_REPLAN, To: "a", Max: 2, Passes: true}
	})
	w := newWorld(t, def, nil)
	for range 3 {
		w.answer(t, "a", good(nil))
	}
	w.want(t, "a succeeded", "m succeeded")
	if st := w.x.Nodes["m"]; st.Replans != 2 || w.x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED || len(w.x.Gaps) > 0 {
		t.Errorf("%v, %v\n%s", w.x.Status, st, w.story())
	}
}
