package workflow_test

import (
	"testing"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestPROC05_AnEndWithGapsHasItsOwnStatus names what the work went on without.
func TestPROC05_AnEndWithGapsHasItsOwnStatus(t *testing.T) {
	w := newWorld(t, define("s start\na task max=1 optional\nb task max=1\ne end\ns -> a\ns -> b\na -> e\nb -> e"), nil)
	w.answer(t, "a", bad(nil))
	w.answer(t, "b", good(nil))
	w.wantEnd(t, withGaps)
	if w.x.Reason != "without a" || !workflow.Delivered(w.x.Status) {
		t.Errorf("reason %q, delivered %t", w.x.Reason, workflow.Delivered(w.x.Status))
	}
}

// TestPROC05_WhatBeginsAnewHasNoGap forgets the gap of work that is done after all.
func TestPROC05_WhatBeginsAnewHasNoGap(t *testing.T) {
	w := newWorld(t, define("s start\na task max=1 optional\nb task max=1\ne end\ns -> a\na -> b\nb -> e", func(n map[string]*loomv1.NodeDefinition) {
		n["b"].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
	}), nil)
	w.answer(t, "a", bad(nil))
	if len(w.x.Gaps) != 1 {
		t.Fatalf("gaps %v", w.x.Gaps)
	}
	w.answer(t, "b", bad(nil)) // sends work back to a
	w.answer(t, "a", good(nil))
	w.answer(t, "b", good(nil))
	w.wantEnd(t, completed)
}

// TestPROC05_NothingDeliveredHasFailed asks nobody and tries nothing again.
func TestPROC05_NothingDeliveredHasFailed(t *testing.T) {
	def := define("s start\na task max=1 optional\ng task max=3\ne end\ns -> a\na -> g\ng -> e", func(n map[string]*loomv1.NodeDefinition) {
		n["g"].Phase = &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_GATHER}
	})
	w := newWorld(t, def, nil)
	w.answer(t, "a", bad(nil))
	out := bad(nil)
	out.Code, out.Summary = workflow.NothingDelivered, "no phase delivered anything"
	w.answer(t, "g", out)
	w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED)
	if w.x.Reason != "verify/nothing: no phase delivered anything" {
		t.Errorf("reason %q", w.x.Reason)
	}
}

// TestPROC05_GapsOfAProcessAreItsNodes takes over what a child went on without.
func TestPROC05_GapsOfAProcessAreItsNodes(t *testing.T) {
	w := newWorld(t, define(parent), nil)
	a := w.attempt("p")
	w.child(t, a.Id, "p-2-x1")
	done := &loomv1.Outcome{Status: success, Gaps: []string{"research: nobody answered"}}
	for range 2 {
		if err := w.run().ChildEnded(a.Id, done); err != nil {
			t.Fatal(err)
		}
	}
	w.wantEnd(t, withGaps)
	if g := w.x.Gaps; len(g) != 1 || g[0].Node != "p" || g[0].Reason != "process other, research: nobody answered" {
		t.Errorf("gaps %v", g)
	}
}
