package workflow_test

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// judged is a phase p with a judge of a part, which sends work back to it twice.
func judged(part loomv1.PhasePart, weight loomv1.Criticality) *loomv1.Definition {
	const drawing = `
		s start
		p task
		j task max=3
		e end
		s -> p
		p -> j
		j -> e`
	return define(drawing, func(n map[string]*loomv1.NodeDefinition) {
		n["p"].Phase = &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_WORK}
		n["j"].Phase = &loomv1.Phase{Part: part, Of: "p"}
		n["j"].Criticality = weight
		n["j"].OnFailure = &loomv1.FailurePolicy{Max: 2, Rework: []*loomv1.ReworkRule{{To: "p"}}}
	})
}

// wrong is a verdict: a rule is broken.
func wrong() *loomv1.Outcome {
	out := bad(nil)
	out.Code, out.Broken = "verify/rule", []*loomv1.BrokenRule{{Phase: "p", Rule: "acceptance", Tier: 2, Severity: loomv1.Severity_SEVERITY_ERROR, Count: 1}}
	return out
}

// TestPROC05_AJudgeThatFailsIsNoVerdict asks a judge three times that gives none, and
// never sends work back for that.
func TestPROC05_AJudgeThatFailsIsNoVerdict(t *testing.T) {
	late := func(w *world, t *testing.T) { w.take(t); w.pass(t, 31*time.Minute) }
	silent := func(w *world, t *testing.T) { w.answer(t, "j", bad(nil)) }
	warned := func(w *world, t *testing.T) {
		out := wrong()
		out.Broken[0].Severity = loomv1.Severity_SEVERITY_WARNING
		w.answer(t, "j", out)
	}
	for _, tt := range []struct {
		name   string
		weight loomv1.Criticality
		fail   func(*world, *testing.T)
		last   string
	}{
		{"no answer", loomv1.Criticality_CRITICALITY_OPTIONAL, silent, "failed"},
		{"no answer about a critical phase", loomv1.Criticality_CRITICALITY_CRITICAL, silent, "waiting"},
		{"too slow", loomv1.Criticality_CRITICALITY_OPTIONAL, late, "failed"},
		{"too slow about a critical phase", loomv1.Criticality_CRITICALITY_CRITICAL, late, "waiting"},
		{"warnings and no answer", loomv1.Criticality_CRITICALITY_OPTIONAL, warned, "failed"},
	} {
		for _, part := range []loomv1.PhasePart{loomv1.PhasePart_PHASE_PART_CHECK, loomv1.PhasePart_PHASE_PART_SECOND, loomv1.PhasePart_PHASE_PART_VOTE} {
			w := newWorld(t, judged(part, tt.weight), nil)
			w.answer(t, "p", good(nil))
			for i := range 3 {
				if i > 0 {
					w.due(t)
				}
				if w.attempt("j") == nil {
					t.Fatalf("%s, %s: no attempt %d\n%s", tt.name, part, i+1, w.story())
				}
				tt.fail(w, t)
			}
			if w.status("j") != tt.last || len(w.x.Nodes["p"].History) != 1 || w.x.Nodes["p"].Visit != 1 || len(w.x.Nodes["j"].History) != 3 {
				t.Errorf("%s, %s: the judge is %s, want %s, and p once\n%s", tt.name, part, w.status("j"), tt.last, w.story())
			}
			why := ""
			if tt.last == "waiting" {
				why = w.approval("j").Reason
			} else if len(w.x.Gaps) > 0 {
				why = w.x.Gaps[0].Reason
			}
			if !strings.HasPrefix(why, "verify/unverified: phase p is not verified: ") {
				t.Errorf("%s, %s: %q", tt.name, part, why)
			}
			if workflow.FoundWrong(w.x.Nodes["j"]) {
				t.Errorf("%s, %s: the work was found wrong", tt.name, part)
			}
		}
	}
}

// TestPROC05_AVerdictSendsWorkBackAtOnce has no second judgment of the same work.
func TestPROC05_AVerdictSendsWorkBackAtOnce(t *testing.T) {
	w := newWorld(t, judged(loomv1.PhasePart_PHASE_PART_CHECK, loomv1.Criticality_CRITICALITY_OPTIONAL), nil)
	w.answer(t, "p", good(nil))
	w.answer(t, "j", bad(nil)) // and then a verdict
	w.due(t)
	w.answer(t, "j", wrong())
	w.want(t, "p running", "j unspecified")
	for range 2 {
		w.answer(t, "p", good(nil))
		w.answer(t, "j", wrong())
	}
	w.want(t, "p succeeded", "j failed")
	if why := w.x.Gaps[0].Reason; !strings.HasPrefix(why, "attempt/exhausted: 1 attempt in visit 3") {
		t.Errorf("gap %q", why)
	}
	if !workflow.FoundWrong(w.x.Nodes["j"]) {
		t.Error("the work was not found wrong")
	}
}

// TestPROC05_WhatWasFoundWrongStaysWrong does not take a judge's silence, asked once
// more about the same work, for better news.
func TestPROC05_WhatWasFoundWrongStaysWrong(t *testing.T) {
	def := judged(loomv1.PhasePart_PHASE_PART_CHECK, loomv1.Criticality_CRITICALITY_CRITICAL)
	def.Nodes[2].OnFailure = nil
	w := newWorld(t, def, nil)
	w.answer(t, "p", good(nil))
	w.answer(t, "j", wrong())
	w.decide(t, "j", retry, "look again")
	w.answer(t, "j", bad(nil))
	if !workflow.FoundWrong(w.x.Nodes["j"]) {
		t.Error("the verdict is forgotten")
	}
	w.due(t)
	w.answer(t, "j", good(nil))
	if workflow.FoundWrong(w.x.Nodes["j"]) {
		t.Error("a judge that found it good has found it wrong")
	}
}

// TestPROC05_TooFewVotesAreNoVerdict asks nobody to count the same votes again, nor two
// judges who differ.
func TestPROC05_TooFewVotesAreNoVerdict(t *testing.T) {
	for _, part := range []loomv1.PhasePart{loomv1.PhasePart_PHASE_PART_SECOND, loomv1.PhasePart_PHASE_PART_VOTE} {
		w := newWorld(t, judged(part, loomv1.Criticality_CRITICALITY_OPTIONAL), nil)
		w.answer(t, "p", good(nil))
		out := bad(nil)
		out.Code = workflow.Unverified
		w.answer(t, "j", proto.CloneOf(out))
		w.want(t, "p succeeded", "j failed")
		if h := w.x.Nodes["j"].History; len(h) != 1 {
			t.Errorf("%s: %d counts, want one", part, len(h))
		}
	}
}

// TestPROC05_AJudgeWhoseRoleNobodyPlays is asked again before it is given up.
func TestPROC05_AJudgeWhoseRoleNobodyPlays(t *testing.T) {
	w := newWorld(t, judged(loomv1.PhasePart_PHASE_PART_CHECK, loomv1.Criticality_CRITICALITY_OPTIONAL), nil)
	w.answer(t, "p", good(nil))
	begun := w.now
	for range 20 {
		if w.status("j") == "failed" {
			break
		}
		w.now = w.now.Add(time.Minute)
		r := w.run()
		r.Grace, r.Absent = time.Minute, func(string) (time.Time, bool) { return begun, true }
		if err := r.Tick(); err != nil {
			t.Fatal(err)
		}
	}
	if h := w.x.Nodes["j"].History; len(h) != 3 || w.status("p") != "succeeded" || len(w.x.Gaps) != 1 {
		t.Errorf("%d attempts, p %s, gaps %v\n%s", len(h), w.status("p"), w.x.Gaps, w.story())
	}
}
