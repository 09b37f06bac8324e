package intent_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A session folds no fact that breaks a rule, whoever has written it into the journal, and
// is then as it was.
func TestPAT02_NoFactBreaksARule(t *testing.T) {
	sealedBy := func(by *loomv1.Identity, digest string) *loomv1.IntentFact {
		return &loomv1.IntentFact{Fact: &loomv1.IntentFact_Sealed{Sealed: &loomv1.IntentSealed{Digest: digest, By: by}}}
	}
	starts := func(step uint32) *loomv1.IntentFact {
		return &loomv1.IntentFact{Fact: &loomv1.IntentFact_StepStarted{StepStarted: &loomv1.StepStarted{Step: step, Run: 9}}}
	}
	for _, tt := range []struct {
		name string
		at   func(*world)
		fact func(*world) *loomv1.IntentFact
	}{
		{"a seal by an agent", func(w *world) { w.answered(naming()) }, func(w *world) *loomv1.IntentFact { return sealedBy(model, w.Shown().Digest) }},
		{"a seal on another envelope", func(w *world) { w.answered(naming()) }, func(*world) *loomv1.IntentFact { return sealedBy(ann, "00") }},
		{"a seal in primacy", func(w *world) { w.do(ann, open(naming())) }, func(*world) *loomv1.IntentFact { return sealedBy(ann, "00") }},
		{"a second seal", func(w *world) { w.sealed(naming()) }, func(w *world) *loomv1.IntentFact {
			_, seal, _ := w.Sealed()
			return sealedBy(ann, seal.Digest)
		}},
		{"a second seal in the same moment", func(w *world) {
			w.answered(naming())
			shown := w.Shown()
			w.take([]*loomv1.IntentFact{sealedBy(ann, shown.Digest), {Fact: &loomv1.IntentFact_Drafted{Drafted: shown}}})
		}, func(w *world) *loomv1.IntentFact { return sealedBy(ann, w.Shown().Digest) }},
		{"a step before the seal", func(w *world) { w.answered(naming()) }, func(*world) *loomv1.IntentFact { return starts(1) }},
		{"a step before validation", func(w *world) { w.sealed(naming()) }, func(*world) *loomv1.IntentFact { return starts(1) }},
		{"a step beside another", func(w *world) { w.prepared(naming()) }, func(*world) *loomv1.IntentFact { return starts(2) }},
		{"a step that there is not", func(w *world) { w.prepared(naming()); w.carryOut() }, func(*world) *loomv1.IntentFact { return starts(7) }},
		{"a write to a layer that is not declared", func(w *world) { w.prepared(naming()) }, func(*world) *loomv1.IntentFact {
			return &loomv1.IntentFact{Fact: &loomv1.IntentFact_Written{Written: write(1, durable, "x").GetWrite()}}
		}},
		{"a write of a step that does not run", func(w *world) { w.prepared(naming()) }, func(*world) *loomv1.IntentFact {
			return &loomv1.IntentFact{Fact: &loomv1.IntentFact_Written{Written: write(3, files, "x").GetWrite()}}
		}},
		{"an abort while a step runs", func(w *world) { w.prepared(naming()) }, func(*world) *loomv1.IntentFact {
			return &loomv1.IntentFact{Fact: &loomv1.IntentFact_Aborted{Aborted: &loomv1.PatternAborted{Record: &loomv1.PatternAbort{}}}}
		}},
		{"a phase before the one before it", func(w *world) { w.sealed(naming()) }, func(*world) *loomv1.IntentFact {
			return &loomv1.IntentFact{Fact: &loomv1.IntentFact_Entered{Entered: &loomv1.LifecycleEntered{Phase: intent.Inputs}}}
		}},
		{"a question after the seal", func(w *world) { w.sealed(naming()) }, func(*world) *loomv1.IntentFact {
			return &loomv1.IntentFact{Fact: &loomv1.IntentFact_Asked{Asked: &loomv1.QuestionAsked{Number: 9, Text: "Why?"}}}
		}},
		{"a delivery that fails before there is one", func(w *world) { w.prepared(naming()) }, func(*world) *loomv1.IntentFact {
			return &loomv1.IntentFact{Fact: &loomv1.IntentFact_DeliveryFailed{DeliveryFailed: &loomv1.FailDelivery{}}}
		}},
	} {
		w := newWorld(t)
		tt.at(w)
		phase, running := w.Phase(), proto.CloneOf(w.Running())
		if err := w.Apply(tt.fact(w)); fault.Code(err) != "intent/inconsistent" {
			t.Errorf("%s: %v, want intent/inconsistent", tt.name, err)
		}
		if w.Phase() != phase || !proto.Equal(w.Running(), running) {
			t.Errorf("%s has changed the session", tt.name)
		}
	}
}
