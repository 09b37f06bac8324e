package intent_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func quote(texts ...string) (list []*loomv1.Quotation) {
	for _, t := range texts {
		list = append(list, &loomv1.Quotation{Answer: 1, Text: t})
	}
	return list
}

// Each rule of META validation at its edge: what it finds, and whether that
// blocks.
func TestPAT01_MetaValidation(t *testing.T) {
	sound := func() *loomv1.IntentEnvelope {
		return &loomv1.IntentEnvelope{
			Goal: quote("A guide for new nurses."), Constraints: quote("At most 20 pages."), Audience: quote("Nurses in their first week."),
			Scope: quote("Only the night shift."), Success: quote("A nurse finds the emergency numbers in 10 seconds."),
		}
	}
	all := &loomv1.IntentMeans{Roles: []string{"researcher", "analyst", "lead"}, Tools: []string{"web_search"}, BudgetMicroUsd: 1, Limited: true}
	for _, tt := range []struct {
		name   string
		change func(*loomv1.IntentEnvelope, *loomv1.IntentMeans)
		want   []string
		blocks bool
	}{
		{"sound", func(*loomv1.IntentEnvelope, *loomv1.IntentMeans) {}, nil, false},
		{"no goal", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) { e.Goal = nil }, []string{"complete/goal"}, true},
		{"no audience", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) { e.Audience = nil }, []string{"complete/audience"}, false},
		{"unknown success", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) { e.Success = quote("I don't know yet.") }, []string{"complete/success"}, true},
		{"unbekannt", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) { e.Scope = quote("Keine Ahnung!") }, []string{"complete/scope"}, false},
		{"bounds", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("At most 20 pages.", "It has at least 30 pages.")
		}, []string{"consistent/contradiction"}, true},
		{"bounds that touch", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("At most 20 pages.", "At least 20 pages.")
		}, nil, false},
		{"bounds of different things", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("At most 20 pages.", "At least 300 words a page.")
		}, nil, false},
		{"no more than is a bound from above", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("No more than 20 pages.", "At least 10 pages.")
		}, nil, false},
		{"Grenzen", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("Höchstens 500 Wörter.", "Mindestens 800 Wörter.")
		}, []string{"consistent/contradiction"}, true},
		{"bounds in words", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("At most ten names.", "At least twenty short names.")
		}, []string{"consistent/contradiction"}, true},
		{"Grenzen in Worten", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("Höchstens fünf Einsichten.", "Mindestens sieben Einsichten.")
		}, []string{"consistent/contradiction"}, true},
		{"a bound of what the question is about", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Answers = []*loomv1.IntentAnswer{{Number: 2, Question: "How many options are enough?", Text: "At least 20"}}
			e.Success = []*loomv1.Quotation{{Answer: 2, Text: "At least 20"}}
			e.Constraints = quote("Fewer than ten options.")
		}, []string{"consistent/contradiction"}, true},
		{"a bound of nobody knows what", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("Fewer than ten options.", "At least 20.")
		}, nil, false},
		{"bound against success", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Success = quote("Readers say that at least 40 pages are useful to them.")
		}, []string{"consistent/contradiction"}, true},
		{"bound against scope", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints, e.Scope = quote("It has at least twelve beats."), quote("At most nine beats.")
		}, []string{"consistent/contradiction"}, true},
		{"forbidden and demanded", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("No photographs.", "It must include photographs of the ward.")
		}, []string{"consistent/contradiction"}, true},
		{"verboten und verlangt", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Constraints = quote("Keine Fotos.")
			e.Success = quote("Eine Anleitung mit Fotos, die in 10 Sekunden gefunden wird.")
		}, []string{"consistent/contradiction"}, true},
		{"scope without the goal", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) { e.Scope = quote("Everything but no nurses.") }, []string{"consistent/scope"}, true},
		{"scope without something else", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) { e.Scope = quote("Without the day shift.") }, nil, false},
		{"vague", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) { e.Success = quote("It should be good.") }, []string{"consistent/criterion"}, true},
		{"vague beside another", func(e *loomv1.IntentEnvelope, _ *loomv1.IntentMeans) {
			e.Success = quote("It should be nice.", "The ward sister signs it.")
		}, []string{"consistent/criterion"}, false},
		{"no role", func(_ *loomv1.IntentEnvelope, m *loomv1.IntentMeans) { m.Roles = []string{"lead"} }, []string{"possible/role", "possible/role"}, true},
		{"no tool", func(_ *loomv1.IntentEnvelope, m *loomv1.IntentMeans) { m.Tools = nil }, []string{"possible/tool"}, true},
		{"no budget", func(_ *loomv1.IntentEnvelope, m *loomv1.IntentMeans) { m.BudgetMicroUsd = 0 }, []string{"possible/budget"}, true},
		{"no limit", func(_ *loomv1.IntentEnvelope, m *loomv1.IntentMeans) { m.BudgetMicroUsd, m.Limited = 0, false }, nil, false},
	} {
		e, m := sound(), &loomv1.IntentMeans{Roles: all.Roles, Tools: all.Tools, BudgetMicroUsd: all.BudgetMicroUsd, Limited: all.Limited}
		tt.change(e, m)
		p := naming()
		p.RequiredTools = []string{"web_search"}
		found := intent.Validate(e, p, m)
		var rules []string
		for _, f := range found {
			rules = append(rules, f.Rule)
		}
		if diff := cmp.Diff(tt.want, rules); diff != "" || intent.Blocks(found) != tt.blocks {
			t.Errorf("%s: %v, blocks %t, want %t", tt.name, found, intent.Blocks(found), tt.blocks)
		}
	}
}

// What does not pass begins nothing: it is revised, or aborted.
func TestPAT01_MetaThatFailsBlocks(t *testing.T) {
	w := newWorld(t)
	w.sealed(naming())
	w.do(host, validate("researcher", "lead"))
	if len(w.Findings()) != 1 || !slices.Equal(w.phases(), []string{"primacy", "intention-capture", "meta-validation"}) {
		t.Fatalf("%v in %v", w.Findings(), w.phases())
	}
	w.refused("intent/phase", host, activate("a", "b", "c"))
	w.refused("intent/meta", host, validate("researcher", "analyst", "lead"))
	w.refused("intent/phase", ann, proceed(1))
	w.do(ann, revise())
	w.do(ann, tell(intent.Scope, "No logo."))
	w.do(ann, draft(&loomv1.DraftIntent{}))
	w.do(ann, ready(w.Shown().Digest))
	w.begin()
}
