package intent_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// marker stands in everything that a model says in these tests, and in nothing
// that anybody else says.
const marker = "qzxv"

var everybody = []*loomv1.Identity{ann, owner, model, host, guest, nil}

// modelText is what a model may try to say.
var modelText = rapid.Custom(func(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"Who hears %s first?", "What is %s for?", "How about %s?", "I propose %s.", "So you want %s?", "Is it %s?", "%s", "What is it: %s or more?", "Isn't this really about %s?", "Who reads it?\n- %s?", "Qui lit %s ?",
	}).Draw(t, "form")
})

// anyCommand draws a command that makes sense now and then.
func anyCommand(t *rapid.T, w *world) *loomv1.IntentCommand {
	step := uint32(rapid.IntRange(0, 4).Draw(t, "step"))
	run := uint32(rapid.IntRange(0, 4).Draw(t, "run"))
	digest := rapid.SampledFrom([]string{"", strings.Repeat("0", 64), w.Shown().GetDigest()}).Draw(t, "digest")
	about := rapid.SampledFrom(append([]loomv1.IntentField{0}, intent.Fields...)).Draw(t, "about")
	words := rapid.SampledFrom([]string{"A name for the bakery.", "No pun.", "At most 8 letters.", "At least 9 letters.", "Neighbours on the street.", "", "I don't know"}).Draw(t, "words")
	flag := rapid.Bool().Draw(t, "flag")
	return rapid.SampledFrom([]*loomv1.IntentCommand{
		open(naming()),
		ask(strings.ReplaceAll(modelText.Draw(t, "text"), "%s", marker), about),
		{Body: &loomv1.IntentCommand_OfferText{OfferText: &loomv1.OfferText{Text: "My plan: " + marker}}},
		answer(w.Pending().GetNumber(), words), answer(step, words), tell(about, words),
		draft(&loomv1.DraftIntent{}),
		draft(&loomv1.DraftIntent{Goal: []*loomv1.Quotation{{Answer: step, Text: rapid.SampledFrom([]string{marker, "name", "pun"}).Draw(t, "quote")}}}),
		ready(digest), revise(), strike(step, flag), pass(w.Pending().GetNumber()),
		validate("researcher", "analyst", "lead"), validate(), activate("a", "b", "c"), prepare(brief), prepare(),
		write(step, rapid.SampledFrom([]loomv1.SessionLayer{0, active, durable, files}).Draw(t, "layer"), rapid.SampledFrom([]string{"names.md", "choice.md", "note"}).Draw(t, "name")),
		end(step, run, rapid.SampledFrom([]loomv1.StepStatus{0, done, failed, 3, 4}).Draw(t, "status")),
		proceed(step), steer(words, flag), tempo(loomv1.Tempo(step)), abort("why", flag), resume(flag),
		judge(met()...), judge(), choose(loomv1.CompletionChoice(step), run), deliver("names.md", "choice.md"), remember("answer/1"), reintegrate("b-1"), failDelivery(),
		{},
	}).Draw(t, "command")
}

// forward is the command that brings a session on, and who gives it.
func forward(w *world) (*loomv1.Identity, *loomv1.IntentCommand) {
	switch {
	case w.ID() == "":
		return ann, open(naming())
	case w.Aborted() != nil:
		return ann, resume(true)
	case w.Pending() != nil:
		return ann, answer(w.Pending().Number, "A name for the bakery, number "+fmt.Sprint(w.Pending().Number))
	case w.Running() != nil:
		r := w.Running()
		for _, name := range w.Pattern().Steps[r.Step-1].Deliverables {
			if !slices.ContainsFunc(w.ofRun(), func(f *loomv1.IntentFact) bool { return f.GetWritten().GetName() == name }) {
				return model, write(r.Step, files, name)
			}
		}
		return host, end(r.Step, r.Run, done)
	}
	switch w.Phase() {
	case intent.Primacy:
		for _, f := range intent.Fields {
			if !slices.ContainsFunc(w.round(), func(a *loomv1.IntentAnswer) bool { return a.About == f }) {
				return ann, tell(f, "A bakery on the street.")
			}
		}
		return model, draft(&loomv1.DraftIntent{})
	case intent.Capture:
		return ann, ready(w.Shown().GetDigest())
	case intent.Meta:
		if w.Judged() {
			return ann, revise()
		}
		return host, validate("researcher", "analyst", "lead")
	case intent.Activation:
		return host, activate("a", "b", "c")
	case intent.Inputs:
		return host, prepare(brief)
	case intent.Steering:
		if run := w.ofRun(); run[len(run)-1].GetStepEnded().GetStatus() != done {
			return ann, proceed(run[0].GetStepStarted().Step)
		}
		return ann, proceed(0)
	case intent.Completion:
		if len(w.Unmet()) > 0 {
			return ann, choose(loomv1.CompletionChoice_COMPLETION_CHOICE_GAP, 0)
		}
		e, _, _ := w.Sealed()
		var list []*loomv1.CompletionVerdict
		for _, item := range intent.Items(e, w.Pattern()) {
			list = append(list, &loomv1.CompletionVerdict{Item: item, Met: true, Evidence: "seen"})
		}
		return host, judge(list...)
	case intent.Delivery:
		return host, deliver("names.md", "choice.md")
	case intent.Memory:
		return host, remember("answer/1")
	}
	return host, reintegrate("b-1", "b-2", "b-3")
}

// ofRun are the facts about steps from the beginning of the last run of one.
func (w *world) ofRun() (list []*loomv1.IntentFact) {
	for _, f := range w.facts {
		switch {
		case f.GetStepStarted() != nil:
			list = []*loomv1.IntentFact{f}
		case f.GetWritten() != nil || f.GetStepEnded() != nil:
			list = append(list, f)
		}
	}
	return list
}

// round are the answers since the last revision that hold: an envelope is made of
// them where they say anything about a field.
func (w *world) round() (list []*loomv1.IntentAnswer) {
	for _, f := range w.facts {
		switch {
		case f.GetRevised() != nil:
			list = nil
		case f.GetAnswered() != nil:
			list = append(list, f.GetAnswered())
		}
	}
	holds := w.Answers()
	return slices.DeleteFunc(list, func(a *loomv1.IntentAnswer) bool {
		return !slices.ContainsFunc(holds, func(h *loomv1.IntentAnswer) bool { return h.Number == a.Number })
	})
}

// finish brings a session to its end from wherever it is; one that was aborted before
// its seal is there.
func (w *world) finish(t rapid.TB) {
	for range 100 {
		if _, _, sealed := w.Sealed(); w.Ended() || w.Aborted() != nil && !sealed {
			return
		}
		by, c := forward(w)
		if err := w.try(by, c); err != nil {
			t.Fatalf("in %s, %v by %v: %v", intent.PhaseName(w.Phase()), c, by, err)
		}
	}
	t.Fatalf("it does not come to its end, and is in %s", intent.PhaseName(w.Phase()))
}

// watch is what has to hold after any commands.
func watch(t rapid.TB, facts []*loomv1.IntentFact) {
	var last loomv1.LifecyclePhase
	highest := loomv1.LifecyclePhase(0)
	sealed, validated, running, everSealed, ended := "", false, false, false, false
	shown, said, accepted := "", []string{open(naming()).GetOpen().Request}, []string(nil)
	entered := map[loomv1.LifecyclePhase]bool{}
	for i, f := range facts {
		if ended {
			t.Fatalf("fact %d after the end: %v", i, f)
		}
		if q := f.GetAsked(); q != nil && intent.NewGovernor(said, naming()).Judge(q.Text).Rule == "" {
			accepted = append(accepted, q.Text)
		}
		if a := f.GetAnswered(); a != nil {
			said = append(said, a.Text)
		}
		if !everSealed {
			raw, err := proto.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range accepted {
				raw = bytes.ReplaceAll(raw, []byte(q), nil)
			}
			if bytes.Contains(raw, []byte(marker)) {
				t.Fatalf("before the seal a model's words are in %v", f)
			}
		}
		if q := f.GetAsked(); q != nil && (sealed != "" || len(q.Text) > intent.MaxQuestion || !strings.HasSuffix(q.Text, "?")) {
			t.Fatalf("asked, sealed %q: %v", sealed, q)
		}
		if e := f.GetEntered(); e != nil {
			if e.Phase > highest+1 {
				t.Fatalf("%v is entered before the phase before it", e.Phase)
			}
			highest = max(highest, e.Phase)
			last, entered[e.Phase] = e.Phase, true
		}
		switch {
		case f.GetDrafted() != nil:
			shown = f.GetDrafted().Digest
			if e := f.GetDrafted().Envelope; intent.Digest(e) != shown || intent.CheckQuotations(e) != nil {
				t.Fatalf("the envelope is not what its digest says, or quotes nobody: %v", e)
			}
		case f.GetSealed() != nil:
			by := f.GetSealed().By.GetKind()
			if sealed != "" || f.GetSealed().Digest != shown || last != intent.Capture || by != ann.Kind && by != owner.Kind {
				t.Fatalf("sealed %q, shown %q, in %v: %v", sealed, shown, last, f)
			}
			sealed, everSealed, validated = shown, true, false
		case f.GetRevised() != nil, f.GetResumed().GetRerun():
			sealed, validated = "", false
		case f.GetResumed() != nil:
			validated = false
		case f.GetValidated() != nil:
			validated = sealed != "" && f.GetValidated().Passed
		case f.GetStepStarted() != nil:
			if sealed == "" || !validated || running || last != intent.Execution {
				t.Fatalf("a step begins: sealed %q, validated %t, running %t, in %v", sealed, validated, running, last)
			}
			running = true
		case f.GetStepEnded() != nil:
			running = false
		case f.GetWritten() != nil:
			if !running || !slices.Contains(naming().Steps[f.GetWritten().Step-1].Writes, f.GetWritten().Layer) {
				t.Fatalf("written: %v", f)
			}
		case f.GetAborted() != nil:
			if running || f.GetAborted().Record.Type != "pattern-abort" || i+1 >= len(facts) || facts[i+1].GetFlushed() == nil {
				t.Fatalf("aborted while a step runs (%t), or active memory is not flushed: %v", running, f)
			}
		case f.GetEnded() != nil:
			ended = true
			if len(entered) != 11 {
				t.Fatalf("it ended after %d phases", len(entered))
			}
		}
	}
}

// No order of commands, from whomever they come, skips primacy, lets a model's
// words out before the seal, changes what is sealed, or leaves the order of the
// lifecycle. From wherever they leave a session it can be brought to its end, so it is
// tried in all phases. Two copies that fold the same facts, over the wire, are the same.
func TestPAT02_PAT01_AnyOrderOfCommands(t *testing.T) {
	straight := newWorld(t)
	straight.finish(t)
	if watch(t, straight.facts); !straight.Ended() {
		t.Fatal("no session comes to its end: the property is not tried")
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		var before *loomv1.IntentEnvelope
		pace := rapid.IntRange(0, 9).Draw(rt, "pace")
		for range rapid.IntRange(1, 60).Draw(rt, "commands") {
			by := rapid.SampledFrom(everybody).Draw(rt, "by")
			c := anyCommand(rt, w)
			if rapid.IntRange(0, 9).Draw(rt, "sense") < pace {
				by, c = forward(w)
			}
			err := w.try(by, proto.CloneOf(c))
			if err != nil && !strings.HasPrefix(fault.Code(err), "intent/") {
				rt.Fatalf("%v: %v", c, err)
			}
			if strings.Contains(fmt.Sprint(err), marker) && by != model {
				rt.Fatalf("a person is told of a model's words: %v", err)
			}
			if due, waits := w.Next(); waits && rapid.IntRange(0, 9).Draw(rt, "late") == 0 {
				facts, err := w.Tick(due)
				if err != nil {
					rt.Fatal(err)
				}
				w.now = due
				w.take(facts)
			}
			if e, seal, sealed := w.Sealed(); sealed {
				if intent.Digest(e) != seal.Digest {
					rt.Fatal("the sealed envelope is another")
				}
				before = e
				before.Goal = nil // the caller's own copy
			}
		}
		w.finish(rt)
		watch(rt, w.facts)
		again := &intent.Session{}
		for _, f := range w.facts {
			raw, err := proto.Marshal(f)
			if err != nil {
				rt.Fatal(err)
			}
			read := &loomv1.IntentFact{}
			if err := proto.Unmarshal(raw, read); err != nil {
				rt.Fatal(err)
			}
			if err := again.Apply(read); err != nil {
				rt.Fatalf("folded again: %v", err)
			}
		}
		if diff := cmp.Diff(w.Session, again, cmp.AllowUnexported(intent.Session{}), protocmp.Transform()); diff != "" {
			rt.Fatalf("two copies differ:\n%s", diff)
		}
	})
}
