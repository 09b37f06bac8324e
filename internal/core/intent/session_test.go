package intent_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A session from opening to end enters the eleven phases in order, as its facts
// tell.
func TestPAT01_ElevenPhasesInOrder(t *testing.T) {
	w := newWorld(t)
	w.prepared(naming())
	w.carryOut()
	w.carryOut()
	w.do(ann, proceed(0))
	w.carryOut()
	if w.Stopped() {
		t.Error("it waits for the operator after the last step")
	}
	w.do(host, judge(met()...))
	w.do(host, deliver("names.md", "choice.md"))
	w.do(host, remember("answer/1", "step/3", "choice.md"))
	w.do(host, reintegrate())
	want := []string{
		"primacy", "intention-capture", "meta-validation", "activation", "input-preparation", "step-execution", "steering-hooks",
		"step-execution", "steering-hooks", "step-execution", "steering-hooks", "completion-check", "output-delivery", "memory-update", "reintegration",
	}
	if diff := cmp.Diff(want, w.phases()); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	if !w.Ended() || w.Active() != 0 {
		t.Errorf("ended %t, %d entries of active memory", w.Ended(), w.Active())
	}
	w.refused("intent/ended", ann, abort("late", false))
}

// Nothing that begins work is done before the seal, whoever asks, and each
// refusal changes nothing.
func TestPAT02_PrimacyCannotBeSkipped(t *testing.T) {
	steps := []*loomv1.IntentCommand{
		activate("a", "b", "c"), prepare(brief), write(1, files, "names.md"), end(1, 1, done), proceed(1), proceed(0), judge(met()...), deliver("names.md"),
		remember("step/1"), reintegrate(), choose(loomv1.CompletionChoice_COMPLETION_CHOICE_GAP, 0), steer("faster", true),
	}
	for _, at := range []struct {
		name  string
		reach func(*world)
	}{
		{"primacy", func(w *world) { w.do(ann, open(naming())) }},
		{"capture", func(w *world) { w.answered(naming()) }},
	} {
		t.Run(at.name, func(t *testing.T) {
			w := newWorld(t)
			at.reach(w)
			for _, c := range steps {
				code := "intent/identity"
				for _, by := range []*loomv1.Identity{host, model, owner} {
					if err := w.try(by, c); fault.Code(err) != "intent/identity" {
						code = fault.Code(err)
					}
				}
				if code != "intent/unsealed" {
					t.Errorf("%v: %q, want intent/unsealed", c, code)
				}
			}
			w.refused("intent/phase", host, validate())
			w.refused("intent/phase", ann, revise())
		})
	}
	w := newWorld(t)
	w.refused("intent/unsealed", host, validate())
	w.refused("intent/identity", model, open(naming()))
	w.refused("intent/identity", guest, open(naming()))
	w.answered(naming())
	w.refused("intent/identity", model, ready(w.Shown().Digest))
	w.refused("intent/identity", host, ready(w.Shown().Digest))
	w.refused("intent/digest", owner, ready(strings.Repeat("0", 64)))
	w.refused("intent/digest", owner, ready(""))
	w.do(owner, ready(w.Shown().Digest))
	w.refused("intent/phase", ann, ready(""))
	if _, seal, _ := w.Sealed(); seal.By.Name != "owner" {
		t.Errorf("sealed by %v", seal.By)
	}
}

// A fact that would begin a step without a seal is not folded, wherever it comes
// from.
func TestPAT02_FactsThatSkipPrimacyAreNotFolded(t *testing.T) {
	started := &loomv1.IntentFact{Fact: &loomv1.IntentFact_StepStarted{StepStarted: &loomv1.StepStarted{Step: 1, Run: 1}}}
	for name, reach := range map[string]func(*world){
		"nothing": func(*world) {}, "primacy": func(w *world) { w.do(ann, open(naming())) }, "capture": func(w *world) { w.answered(naming()) },
		"unvalidated": func(w *world) { w.sealed(naming()) },
	} {
		w := newWorld(t)
		reach(w)
		for _, f := range []*loomv1.IntentFact{
			started,
			{Fact: &loomv1.IntentFact_Entered{Entered: &loomv1.LifecycleEntered{Phase: intent.Execution}}},
			{Fact: &loomv1.IntentFact_Sealed{Sealed: &loomv1.IntentSealed{Digest: "x", By: ann}}},
			{Fact: &loomv1.IntentFact_Resumed{Resumed: &loomv1.PatternResumed{Step: 1}}},
		} {
			if err := w.Apply(f); fault.Code(err) != "intent/inconsistent" {
				t.Errorf("%s: %v was folded: %v", name, f, err)
			}
		}
	}
}

// After three refusals the pattern's own questions are asked as they stand, and
// no model's; after the last answer the envelope is shown.
func TestPAT02_ThreeRefusalsBringThePatternsQuestions(t *testing.T) {
	w := newWorld(t)
	p := naming()
	w.do(ann, open(p))
	for i, text := range []string{"How about Golden Crust?", "So you want a name?", "I propose a pun."} {
		w.do(model, ask(text, intent.Goal))
		last := w.facts[len(w.facts)-1]
		if i < 2 && (w.PatternAsks() || last.GetRefused().GetCount() != uint32(i+1)) {
			t.Fatalf("after %d refusals: %v", i+1, last)
		}
	}
	if !w.PatternAsks() || intent.Refusal(w.facts[len(w.facts)-3:]) == nil {
		t.Fatal("the pattern does not ask")
	}
	w.refused("intent/phase", model, ask("Who hears it?", intent.Audience))
	w.refused("intent/phase", model, draft(&loomv1.DraftIntent{}))
	for i, q := range p.Questions {
		if w.Pending().GetText() != q.Text || !w.Pending().OfPattern {
			t.Fatalf("question %d is %v, want %q", i+1, w.Pending(), q.Text)
		}
		w.do(ann, answer(w.Pending().Number, "Answer to "+q.Text))
	}
	e := w.Shown().GetEnvelope()
	for i, f := range intent.Fields {
		if q := intent.Quotations(e, f); len(q) != 1 || q[0].Text != "Answer to "+p.Questions[i].Text {
			t.Errorf("%s is %v", intent.FieldName(f), q)
		}
	}
}

// A second judge refuses what the governor lets through, and lets through
// nothing that the governor refuses.
func TestPAT02_ASecondJudgeMayOnlyRefuseMore(t *testing.T) {
	w := newWorld(t)
	w.do(ann, open(naming()))
	for _, tt := range []struct {
		text   string
		says   loomv1.SecondVerdict
		rule   string
		second loomv1.SecondVerdict
	}{
		{"Who hears the name first?", intent.Unfair, intent.RuleJudge, intent.Unfair},
		{"How about Golden Crust?", intent.Fair, intent.RuleProposal, 0},
		{"Who hears the name first?", intent.NoVerdict, "", intent.NoVerdict},
		{"Who says it to others?", intent.Fair, "", intent.Fair},
	} {
		if q := w.Pending(); q != nil {
			w.do(ann, answer(q.Number, "My neighbours."))
		}
		c := ask(tt.text, intent.Audience)
		c.GetProposeQuestion().Second = tt.says
		w.do(model, c)
		last := w.facts[len(w.facts)-1]
		if got := last.GetRefused().GetRule(); got != tt.rule {
			t.Errorf("%q, of which the judge says %s: refused by %q, want %q", tt.text, tt.says, got, tt.rule)
		}
		if got := last.GetRefused().GetSecond() + last.GetAsked().GetSecond(); got != tt.second {
			t.Errorf("%q: the fact has the verdict %s, want %s", tt.text, got, tt.second)
		}
	}
}

// Without a model the pattern asks from the beginning.
func TestPAT02_WithoutAModelThePatternAsks(t *testing.T) {
	w := newWorld(t)
	c := open(naming())
	c.GetOpen().WithoutModel = true
	w.do(ann, c)
	if w.Pending().GetText() != naming().Questions[0].Text {
		t.Errorf("asked is %v", w.Pending())
	}
}

// A field of the envelope has the person's words and no others.
func TestPAT02_FieldsQuoteTheAnswers(t *testing.T) {
	w := newWorld(t)
	w.do(ann, open(naming()))
	w.do(model, ask("What is the bakery known for?", intent.Goal))
	w.refused("intent/phase", model, draft(&loomv1.DraftIntent{}))
	w.do(ann, answer(1, "Rye bread, since 1931."))
	w.refused("intent/incomplete", model, draft(&loomv1.DraftIntent{}))
	w.do(ann, tell(intent.Constraints, "No pun."))
	w.do(ann, tell(intent.Audience, "Neighbours."))
	w.do(ann, tell(intent.Scope, "The name."))
	w.do(ann, tell(intent.Success, "My mother likes it."))
	for _, q := range []*loomv1.Quotation{
		{Answer: 1, Text: "Rye bread since 1931"}, {Answer: 1, Text: "a rocket"}, {Answer: 2, Text: "Rye bread"}, {Answer: 9, Text: "Rye"}, {Answer: 1, Text: " "}, {Answer: 1, Text: "rye bread"},
	} {
		w.refused("intent/quotation", model, draft(&loomv1.DraftIntent{Goal: []*loomv1.Quotation{q}}))
	}
	w.do(model, draft(&loomv1.DraftIntent{Goal: []*loomv1.Quotation{{Answer: 1, Text: "Rye bread"}}}))
	if got := w.Shown().Envelope.Goal; len(got) != 1 || got[0].Text != "Rye bread" {
		t.Errorf("goal is %v", got)
	}
	// What the person adds while it is shown is in it, and the digest is another.
	before := w.Shown().Digest
	w.do(ann, tell(intent.Success, "It fits on the sign."))
	if got := w.Shown().Envelope.Success; len(got) != 2 || w.Shown().Digest == before {
		t.Errorf("success is %v, digest %s", got, w.Shown().Digest)
	}
	w.refused("intent/digest", ann, ready(before))
	w.refused("intent/phase", model, draft(&loomv1.DraftIntent{}))
}

// A seal is for good; a change is a new envelope that names the old one and goes
// through primacy.
func TestPAT02_ARevisionGoesThroughPrimacy(t *testing.T) {
	w := newWorld(t)
	w.prepared(naming())
	w.do(model, write(1, active, "note"))
	w.refused("intent/phase", ann, revise()) // a step runs
	w.carryOut()
	w.carryOut() // step 2 stops
	first, _, _ := w.Sealed()
	w.do(ann, revise())
	if _, _, sealed := w.Sealed(); sealed || w.Phase() != intent.Primacy || w.Active() != 0 {
		t.Errorf("sealed %t, in %v, %d entries", sealed, w.Phase(), w.Active())
	}
	w.refused("intent/unsealed", ann, proceed(0))
	w.refused("intent/unsealed", host, prepare(brief))
	w.do(ann, tell(intent.Goal, "A name for the bakery and its van."))
	w.do(model, draft(&loomv1.DraftIntent{}))
	e := w.Shown().Envelope
	if e.Supersedes != intent.Digest(first) || e.Id != "s1/2" || len(e.Goal) != 2 || e.Goal[1].Text != "A name for the bakery and its van." || len(e.Audience) != 1 {
		t.Errorf("the revision is %v", e)
	}
	w.do(ann, ready(w.Shown().Digest))
	w.begin()
	if w.Running().GetStep() != 1 {
		t.Errorf("it goes on with %v", w.Running())
	}
}

// What was asked is told with what was answered, in one order: a question that the person
// passed over by drafting is not told, and one that is asked again is told again.
func TestPAT02_WhatWasAskedIsToldInTheOrderOfTheAnswers(t *testing.T) {
	w := newWorld(t)
	w.do(ann, open(naming()))
	told := func(want ...uint32) {
		t.Helper()
		var got []uint32
		for _, q := range w.Asked() {
			got = append(got, q.Number)
		}
		if !slices.Equal(got, want) {
			t.Errorf("told of questions %v, want %v", got, want)
		}
	}
	const who = "Who hears the name first?"
	w.do(model, ask(who, intent.Audience))
	told(1)
	w.do(ann, answer(1, "People on the street."))
	w.do(model, ask(who, intent.Audience))
	told(1, 2)
	for _, f := range intent.Fields {
		w.do(ann, tell(f, "Five people can spell it after one hearing."))
	}
	w.do(ann, draft(&loomv1.DraftIntent{})) // nobody has answered question 2
	told(1)
	w.do(ann, ready(w.Shown().Digest))
	w.begin()
	w.carryOut()
	w.carryOut() // step 2 stops
	w.do(ann, revise())
	w.do(model, ask(who, intent.Audience))
	told(1, 3)
	w.do(ann, answer(3, "Its neighbours.")) // in the place of answer 1
	told(3)
}

// What a pattern that is part of another works for is the sealed intent of that
// one; without a seal it is refused.
func TestPAT02_AChildHasItsParentsIntent(t *testing.T) {
	parent := newWorld(t)
	parent.answered(naming())
	unsealed := parent.Shown().Envelope
	parent.do(ann, ready(parent.Shown().Digest))
	e, seal, _ := parent.Sealed()
	child := func(p *loomv1.InheritedIntent) *loomv1.IntentCommand {
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Open{Open: &loomv1.OpenSession{Id: "s2", Pattern: naming(), Child: true, Parent: p}}}
	}
	w := newWorld(t)
	w.refused("intent/parent", host, child(nil))
	w.refused("intent/parent", host, child(&loomv1.InheritedIntent{Envelope: unsealed}))
	w.refused("intent/parent", host, child(&loomv1.InheritedIntent{Envelope: e, Seal: &loomv1.IntentSealed{Digest: seal.Digest, By: model}}))
	other := proto.CloneOf(e)
	other.Goal[0].Text = "a rocket"
	w.refused("intent/parent", host, child(&loomv1.InheritedIntent{Envelope: other, Seal: seal}))
	w.refused("intent/identity", model, child(&loomv1.InheritedIntent{Envelope: e, Seal: seal}))
	w.do(host, child(&loomv1.InheritedIntent{Envelope: e, Seal: seal}))
	if got, _, sealed := w.Sealed(); !sealed || intent.Digest(got) != seal.Digest || w.Phase() != intent.Meta || w.Pending() != nil {
		t.Errorf("sealed %t, in %v", sealed, w.Phase())
	}
	w.begin()
}

// The canonical form is JSON that any reader takes, and has everything in it.
func TestPAT02_CanonicalForm(t *testing.T) {
	w := newWorld(t)
	w.answered(naming())
	e := w.Shown().Envelope
	e.Answers[0].Text = "Ürye \"bread\" \\ \n\t\x01 \u2028 <&> end"
	e.Goal[0].Text = "bread"
	got := intent.Canonical(e)
	var v any
	if err := json.Unmarshal(got, &v); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	var again bytes.Buffer // the library sorts members as RFC 8785 does for these names
	enc := json.NewEncoder(&again)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("\\u2028", "\u2028").Replace(strings.TrimSuffix(again.String(), "\n"))
	if string(got) != want {
		t.Errorf("canonical form\n%s\nwant\n%s", got, want)
	}
	digest := intent.Digest(e)
	for _, change := range []func(*loomv1.IntentEnvelope){
		func(e *loomv1.IntentEnvelope) { e.Id = "x" }, func(e *loomv1.IntentEnvelope) { e.Pattern = "x" }, func(e *loomv1.IntentEnvelope) { e.PatternDigest = "x" },
		func(e *loomv1.IntentEnvelope) { e.Supersedes = "x" }, func(e *loomv1.IntentEnvelope) { e.Goal[0].Answer++ }, func(e *loomv1.IntentEnvelope) { e.Constraints = nil },
		func(e *loomv1.IntentEnvelope) { e.Audience[0].Text = "x" }, func(e *loomv1.IntentEnvelope) { e.Scope[0].Text += " " }, func(e *loomv1.IntentEnvelope) { e.Success = append(e.Success, e.Success[0]) },
		func(e *loomv1.IntentEnvelope) { e.Answers[1].Question = "x" }, func(e *loomv1.IntentEnvelope) { e.Answers[1].About++ }, func(e *loomv1.IntentEnvelope) { e.Answers[1].By = owner },
		func(e *loomv1.IntentEnvelope) { e.Answers[1].Time.Nanos++ },
	} {
		c := proto.CloneOf(e)
		change(c)
		if intent.Digest(c) == digest {
			t.Errorf("%v has the digest of what it was changed from", c)
		}
	}
}

// Completion is judged item by item with evidence; what is not met is a choice.
func TestPAT01_CompletionIsJudgedWithEvidence(t *testing.T) {
	reach := func() *world {
		w := newWorld(t)
		w.prepared(naming())
		w.do(ann, tempo(intent.Allegro))
		w.carryOut()
		w.carryOut()
		w.carryOut()
		return w
	}
	w := reach()
	w.refused("intent/completion", host, judge(met()[1:]...))
	w.refused("intent/completion", host, judge(append(met(), met()[0])...))
	w.refused("intent/completion", host, judge(append(met()[1:], &loomv1.CompletionVerdict{Item: "success/1", Met: true})...))
	w.refused("intent/completion", host, judge(append(met()[1:], &loomv1.CompletionVerdict{Item: "success/2", Met: true, Evidence: "x"})...))
	w.refused("intent/identity", ann, judge(met()...))
	open := met()
	open[0].Met = false
	w.do(host, judge(open...))
	if diff := cmp.Diff([]string{"success/1"}, w.Unmet()); diff != "" {
		t.Fatal(diff)
	}
	w.refused("intent/phase", host, judge(met()...))
	w.refused("intent/phase", host, deliver("names.md", "choice.md"))
	again := newWorld(t)
	again.take(w.facts)
	again.do(ann, choose(loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, 3))
	again.carryOut()
	again.do(host, judge(met()...))
	if again.Phase() != intent.Delivery {
		t.Errorf("in %v", again.Phase())
	}
	w.do(ann, choose(loomv1.CompletionChoice_COMPLETION_CHOICE_GAP, 0))
	w.refused("intent/delivery", host, deliver("names.md"))
	w.do(host, deliver("names.md", "choice.md"))
	w.refused("intent/delivery", host, remember())
	w.refused("intent/delivery", host, remember("answer/99"))
	w.refused("intent/delivery", host, remember("gossip"))
	w.do(host, remember("answer/5"))
	w.refused("intent/delivery", host, reintegrate()) // the gap has no bead
	w.do(host, reintegrate("b-7"))
	if !w.Ended() || !slices.Equal(w.facts[len(w.facts)-1].GetEnded().Gaps, []string{"success/1"}) {
		t.Errorf("ended %t: %v", w.Ended(), w.facts[len(w.facts)-1])
	}
}

// An input that is required is not empty, and one that is a number is no prose.
func TestPAT01_InputsHaveWhatTheyAreFor(t *testing.T) {
	for text, codes := range map[string][3]string{ // of a required text, an optional list, a number
		"":                         {"intent/input", "", ""},
		" \n":                      {"intent/input", "", ""},
		"7":                        {"", "", ""},
		"2,5\n":                    {"", "", ""},
		"The one after the sixth.": {"", "", "intent/input"},
		"NaN":                      {"", "", "intent/input"},
	} {
		for i, in := range []*loomv1.PatternInput{{Name: "brief", Type: "text", Required: true}, {Name: "taken", Type: "list"}, {Name: "part", Type: "number"}} {
			if err := intent.CheckInput(in, text); fault.Code(err) != codes[i] {
				t.Errorf("%q for %s: %v, want %q", text, in.Type, err, codes[i])
			}
		}
	}
}

// Inputs are those of the pattern, typed and hashed.
func TestPAT01_InputsAreTypedAndHashed(t *testing.T) {
	w := newWorld(t)
	w.sealed(naming())
	w.do(host, validate("researcher", "analyst", "lead"))
	w.refused("intent/invalid", host, activate("one"))
	w.do(host, activate("a", "b", "c"))
	w.refused("intent/input", host, prepare())
	w.refused("intent/input", host, prepare(brief, brief))
	w.refused("intent/input", host, prepare(brief, &loomv1.PreparedInput{Name: "taken", Type: "text", Content: blob("x")}))
	w.refused("intent/input", host, prepare(brief, &loomv1.PreparedInput{Name: "token", Type: "text", Content: blob("x")}))
	w.refused("intent/input", host, prepare(&loomv1.PreparedInput{Name: "brief", Type: "text", Content: &loomv1.BlobRef{Sha256: "AB"}}))
	w.refused("intent/identity", model, prepare(brief))
	w.do(host, prepare(brief, &loomv1.PreparedInput{Name: "taken", Type: "list", Content: blob("x")}))
}
