package intent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Each tempo holds a step to what the table says.
func TestPAT03_TempoInNumbers(t *testing.T) {
	plain, stopping := &loomv1.PatternStep{}, &loomv1.PatternStep{Stop: true}
	for _, tt := range []struct {
		tempo                                  loomv1.Tempo
		verbosity, granularity, depth, drive   string
		answer, iterations, tier, think, asked uint32
		stopsPlain, stopsWhereDeclared         bool
	}{
		{intent.Allegro, "minimal", "coarse", "shallow", "high", 2048, 12, 1, 0, 0, false, false},
		{intent.Andante, "balanced", "normal", "moderate", "moderate", 8192, 30, 2, 4096, 2, false, true},
		{intent.Adagio, "detailed", "fine", "deep", "low", 24576, 60, 3, 16384, 8, true, true},
	} {
		s, l := intent.SettingOf(tt.tempo), intent.LimitsOf(tt.tempo, plain)
		if s.Verbosity != tt.verbosity || s.Granularity != tt.granularity || s.Depth != tt.depth || s.Initiative != tt.drive {
			t.Errorf("%v means %+v", tt.tempo, s)
		}
		if l.AnswerBytes != tt.answer || l.Iterations != tt.iterations || l.ModelTier != tt.tier || l.ThinkingTokens != tt.think || l.Questions != tt.asked {
			t.Errorf("%v limits to %v", tt.tempo, l)
		}
		if l.Stops != tt.stopsPlain || intent.LimitsOf(tt.tempo, stopping).Stops != tt.stopsWhereDeclared {
			t.Errorf("%v stops %t, and %t where the pattern says", tt.tempo, l.Stops, intent.LimitsOf(tt.tempo, stopping).Stops)
		}
	}
}

// The operator's word goes before the step's, that before the pattern's; it acts
// at the next stop, also when it comes while a step runs.
func TestPAT03_LiveOverStepOverPattern(t *testing.T) {
	p := naming()
	for _, tt := range []struct {
		live loomv1.Tempo
		step uint32
		want loomv1.Tempo
	}{{0, 1, intent.Andante}, {0, 3, intent.Allegro}, {intent.Adagio, 3, intent.Adagio}, {intent.Adagio, 1, intent.Adagio}} {
		if got := intent.TempoOf(tt.live, p.Steps[tt.step-1], p); got != tt.want {
			t.Errorf("TempoOf(%v, step %d) = %v, want %v", tt.live, tt.step, got, tt.want)
		}
	}
	if got := intent.TempoOf(0, nil, nil); got != intent.Andante {
		t.Errorf("where nothing is said it is %v", got)
	}
	stops := func(live loomv1.Tempo) (n int) {
		w := newWorld(t)
		w.prepared(p)
		w.do(ann, tempo(live))
		for w.Phase() != intent.Completion {
			if w.Stopped() {
				n++
				w.do(ann, proceed(0))
				continue
			}
			w.carryOut()
		}
		return n
	}
	for live, want := range map[loomv1.Tempo]int{intent.Allegro: 0, 0: 1, intent.Andante: 1, intent.Adagio: 3} {
		if got := stops(live); got != want {
			t.Errorf("at %v it stops %d times, want %d", live, got, want)
		}
	}
	w := newWorld(t)
	w.prepared(p)
	w.refused("intent/identity", model, tempo(intent.Adagio))
	w.refused("intent/invalid", ann, tempo(9))
}

// Comments and constraints are for the steps to come; what goes against the
// sealed intent takes a new one.
func TestPAT04_SteeringStaysWithinTheIntent(t *testing.T) {
	w := newWorld(t)
	w.prepared(naming())
	w.do(ann, steer("The second one sounds like a bank.", false))
	w.do(owner, steer("At most 8 letters.", true))
	w.refused("intent/identity", model, steer("At most 9 letters.", true))
	w.refused("intent/outside", ann, steer("At least 12 letters.", true))
	w.refused("intent/outside", ann, steer("No bakery.", true))
	w.refused("intent/outside", ann, steer("It must have a pun.", true))
	w.refused("intent/invalid", ann, steer("  ", true))
	if got := w.Steered(1); len(got) != 0 {
		t.Errorf("step 1, which runs, is told %v", got)
	}
	if got := w.Steered(2); len(got) != 2 || got[1].Text != "At most 8 letters." || !got[1].Redirect {
		t.Errorf("step 2 is told %v", got)
	}
}

// What the operator says reaches a step that is done again, whichever it is, and not the run
// that has begun before it was said.
func TestPAT04_SteeringReachesAStepThatIsDoneAgain(t *testing.T) {
	told := func(w *world) (texts []string) {
		for _, st := range w.Steered(w.Running().GetRun()) {
			texts = append(texts, st.Text)
		}
		return texts
	}
	w := newWorld(t)
	w.prepared(naming())
	w.carryOut()
	w.carryOut() // it stops after step 2
	w.do(ann, steer("The bread is of rye.", false))
	w.do(ann, proceed(1))
	if got := told(w); !slices.Equal(got, []string{"The bread is of rye."}) {
		t.Errorf("step 1, done again, is told %v", got)
	}
	w.carryOut()
	w.carryOut()
	w.do(ann, proceed(0))
	w.do(ann, steer("One word less.", false)) // while the last step runs
	if got := told(w); len(got) != 1 {
		t.Errorf("step 3 is told %v", got)
	}
	w.carryOut()
	unmet := met()
	unmet[0].Met = false
	w.do(host, judge(unmet...))
	w.do(ann, steer("Mend what was found.", false))
	w.do(ann, choose(loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, 3))
	if got := told(w); !slices.Equal(got, []string{"The bread is of rye.", "One word less.", "Mend what was found."}) {
		t.Errorf("step 3, chosen again, is told %v", got)
	}
	if again := w.Again(); len(again) != 1 || !strings.Contains(again[0], ": not met: ") {
		t.Errorf("it is done again because of %q", again)
	}
	w.carryOut()
	w.do(host, judge(met()...))
	if w.Again() != nil {
		t.Errorf("all is met, and something is done again because of %q", w.Again())
	}
	w.do(host, failDelivery())
	w.do(ann, choose(loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, 3))
	if again := w.Again(); len(again) != 1 || !strings.HasSuffix(again[0], ": it did not land") {
		t.Errorf("after a failed delivery it is done again because of %q", again)
	}
}

// A redirect is held against the sealed intent however its numbers are written, and where it
// drops what the scope or the goal is about; words of its own it may add.
func TestPAT04_ARedirectAgainstTheIntentInOtherWords(t *testing.T) {
	for _, tt := range []struct {
		scope, success, redirect string
		ok                       bool
	}{
		{"The docs alone", "At least twenty names", "At most ten names", false},
		{"The docs alone", "At least 20 names", "fewer than ten short names", false},
		{"The docs alone", "At least 20 names", "At most two sentences each", true},
		{"The docs alone", "Mindestens sieben Einsichten", "Höchstens fünf", false},
		{"The docs alone", "A child says it", "Nothing in the docs", false},
		{"In: MaxDecodeExponent", "A child says it", "Leave out MaxDecodeExponent", false},
		{"The docs alone", "A child says it", "Forget the bakery; write about rye", false},
		{"The docs alone", "A child says it", "No docs of last year", true},
		{"Without the docs", "A child says it", "Nothing in the docs", true},
		{"Die globalen Variablen", "Ein Kind sagt es", "Behandle die globalen Variablen nicht", false},
		{"The docs alone", "A child says it", "Leave out adjectives", true},
		{"At most nine beats", "A child says it", "At least twelve beats", false},
		{"Höchstens neun Takte", "Ein Kind sagt es", "Mindestens zwölf Takte", false},
		{"At most nine beats", "A child says it", "At least three beats", true},
		{"Only the name, without a logo", "A child says it", "It must have a logo", false},
	} {
		w := newWorld(t)
		w.do(ann, open(naming()))
		for f, said := range map[loomv1.IntentField]string{intent.Goal: "A name for the bakery.", intent.Constraints: "It is short.", intent.Audience: "Neighbours.", intent.Scope: tt.scope, intent.Success: tt.success} {
			w.do(ann, tell(f, said))
		}
		w.do(ann, draft(&loomv1.DraftIntent{}))
		w.do(ann, ready(w.Shown().Digest))
		w.begin()
		if tt.ok {
			w.do(ann, steer(tt.redirect, true))
		} else {
			w.refused("intent/outside", ann, steer(tt.redirect, true))
		}
	}
	w := newWorld(t)
	w.prepared(naming())
	w.do(ann, steer("Höchstens fünf", true))
	w.refused("intent/outside", ann, steer("Mindestens sieben Einsichten", true))
}

// An abort while a step runs waits for its end; a second one ends it. Record and
// draft of the finished steps are the same.
func TestPAT04_AbortAtTheBoundary(t *testing.T) {
	reach := func(t *testing.T) *world {
		w := newWorld(t)
		w.prepared(naming())
		w.do(model, write(1, active, "note"))
		w.carryOut()
		w.do(ann, abort("no time", true)) // step 2 runs
		if w.Aborted() != nil || w.Running() == nil {
			t.Fatal("it does not wait for the boundary")
		}
		return w
	}
	check := func(t *testing.T, w *world) {
		t.Helper()
		got := w.Aborted()
		want := &loomv1.PatternAbort{Type: "pattern-abort", PatternId: "naming", AbortedAtStep: 2, Reason: "no time", PartialOutputSaved: true}
		if !proto.Equal(got.GetRecord(), want) || len(got.Draft) != 1 || got.Draft[0].Name != "names.md" {
			t.Errorf("aborted is %v", got)
		}
		if w.Active() != 0 || w.Running() != nil {
			t.Errorf("%d entries of active memory, running %v", w.Active(), w.Running())
		}
		w.refused("intent/ended", ann, abort("again", true))
		w.refused("intent/ended", host, end(2, 2, done))
	}
	t.Run("boundary", func(t *testing.T) {
		w := reach(t)
		w.do(model, write(2, active, "other"))
		w.do(host, end(2, 2, done))
		check(t, w)
		w.do(ann, resume(false))
		w.begin()
		if w.Running().GetStep() != 3 {
			t.Errorf("it goes on with %v", w.Running())
		}
	})
	t.Run("second", func(t *testing.T) {
		w := reach(t)
		w.do(owner, abort("now", false))
		if !slices.ContainsFunc(w.facts, func(f *loomv1.IntentFact) bool {
			return f.GetStepEnded().GetStatus() == loomv1.StepStatus_STEP_STATUS_CANCELLED
		}) {
			t.Error("the step did not end as cancelled")
		}
		check(t, w)
		w.do(ann, resume(false))
		w.begin()
		if w.Running().GetStep() != 2 {
			t.Errorf("it goes on with %v", w.Running())
		}
	})
	t.Run("timeout", func(t *testing.T) {
		w := reach(t)
		due, waits := w.Next()
		if !waits || due.Sub(w.now) > 5*time.Minute {
			t.Fatalf("due %v, %t", due, waits)
		}
		if facts, err := w.Tick(due.Add(-1)); facts != nil || err != nil {
			t.Fatalf("before it is due: %v, %v", facts, err)
		}
		facts, err := w.Tick(due)
		if err != nil {
			t.Fatal(err)
		}
		w.take(facts)
		check(t, w)
	})
}

// Abort at every point, with and without a draft: one record; what was saved
// comes back with resume, and rerun shows the same envelope again.
func TestPAT04_AbortResumeRerunAtEveryPoint(t *testing.T) {
	points := []func(*world){
		func(w *world) { w.sealed(naming()) },
		func(w *world) { w.prepared(naming()) },
		func(w *world) { w.prepared(naming()); w.carryOut() },
		func(w *world) { w.prepared(naming()); w.carryOut(); w.carryOut() },
		func(w *world) { w.prepared(naming()); w.carryOut(); w.carryOut(); w.do(ann, proceed(0)) },
		func(w *world) { w.prepared(naming()); w.carryOut(); w.carryOut(); w.do(ann, proceed(0)); w.carryOut() },
	}
	for i, reach := range points {
		for _, save := range []bool{true, false} {
			w := newWorld(t)
			reach(w)
			e, seal, _ := w.Sealed()
			w.do(ann, abort("stop", save))
			if w.Running() != nil {
				w.do(ann, abort("stop", save))
			}
			records := 0
			for _, f := range w.facts {
				if f.GetAborted() != nil {
					records++
				}
			}
			if records != 1 || w.Aborted().Record.PartialOutputSaved != save || !save && len(w.Aborted().Draft) > 0 {
				t.Errorf("point %d: %d records, %v", i, records, w.Aborted())
			}
			// Rerun: the envelope is shown again and needs its seal, and nothing is added to it.
			again := newWorld(t)
			again.take(w.facts)
			again.now = w.now
			again.do(ann, resume(true))
			if again.Shown().GetDigest() != seal.Digest {
				t.Fatalf("point %d: shown is %v", i, again.Shown())
			}
			again.refused("intent/phase", ann, tell(intent.Goal, "A rocket."))
			again.refused("intent/phase", ann, draft(&loomv1.DraftIntent{}))
			again.refused("intent/phase", host, validate("researcher", "analyst", "lead"))
			again.do(ann, ready(seal.Digest))
			again.begin()
			if got, _, _ := again.Sealed(); again.Running().GetStep() != 1 || intent.Digest(got) != intent.Digest(e) {
				t.Errorf("point %d: rerun runs %v", i, again.Running())
			}
			// Resume: with the draft, at the step that was cut off.
			if !save && i >= 2 {
				w.refused("intent/phase", ann, resume(false))
				continue
			}
			w.refused("intent/identity", model, resume(false))
			w.do(ann, resume(false))
			w.begin()
			if _, kept := w.Output("names.md"); i >= 2 && !kept {
				t.Errorf("point %d: the draft is gone", i)
			}
		}
	}
	w := newWorld(t)
	w.answered(naming())
	w.do(ann, abort("stop", true))
	w.refused("intent/unsealed", ann, resume(false))
	w.refused("intent/unsealed", ann, resume(true))
}

// A step that fails or takes too long stops at any tempo, and goes on where the
// operator says.
func TestPAT04_AStepThatFailsStops(t *testing.T) {
	w := newWorld(t)
	w.prepared(naming())
	w.do(ann, tempo(intent.Allegro))
	w.do(host, end(1, 1, failed))
	if !w.Stopped() {
		t.Fatal("it goes on")
	}
	w.refused("intent/step", ann, proceed(0))
	w.refused("intent/step", ann, proceed(2))
	w.refused("intent/identity", model, proceed(1))
	w.do(ann, proceed(1))
	w.refused("intent/step", host, end(1, 1, done)) // the run before
	w.refused("intent/step", host, end(1, 2, done)) // it has left nothing
	w.carryOut()
	if w.Running().GetStep() != 2 {
		t.Errorf("running is %v", w.Running())
	}
}

// A step writes to the layers that it declares.
func TestPAT05_AWriteElsewhereIsRefused(t *testing.T) {
	w := newWorld(t)
	w.prepared(naming())
	w.do(model, write(1, active, "note"))
	w.do(model, write(1, files, "other.md"))
	w.refused("intent/layer", model, write(1, durable, "m"))
	w.refused("intent/layer", host, write(1, loomv1.SessionLayer_SESSION_LAYER_DECISIONS, "d"))
	w.refused("intent/layer", model, write(1, 0, "d"))
	w.refused("intent/step", model, write(2, active, "note"))
	w.refused("intent/identity", ann, write(1, active, "note"))
	w.refused("intent/invalid", model, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Write{Write: &loomv1.WriteLayer{Step: 1, Layer: files, Name: "x", Content: &loomv1.BlobRef{Sha256: "no"}}}})
}

// What was said is taken back for the steps that begin after it, and has its number for good.
func TestPAT04_SteeringIsTakenBack(t *testing.T) {
	back := func(n uint32) *loomv1.IntentCommand {
		return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_TakeBack{TakeBack: &loomv1.TakeBack{Number: n}}}
	}
	w := newWorld(t)
	w.prepared(naming())
	w.refused("intent/step", ann, back(1))
	w.do(ann, steer("Shorter names.", false)) // for step 2: step 1 runs
	w.do(ann, steer("At most two words.", true))
	w.refused("intent/identity", model, back(1))
	w.refused("intent/step", ann, back(3))
	w.do(ann, back(2))
	w.refused("intent/step", ann, back(2))
	w.carryOut()
	if told := w.Steered(2); len(told) != 1 || told[0].Number != 1 || w.Running().GetStep() != 2 {
		t.Fatalf("step %d is told %v", w.Running().GetStep(), told)
	}
	w.do(ann, back(1)) // step 2 was told it, and step 3 is not
	w.do(ann, steer("No umlauts.", false))
	if told := w.Steered(3); len(told) != 1 || told[0].Number != 3 {
		t.Errorf("the third is %v", told)
	}
	// What is taken back binds no later redirection.
	w.do(ann, steer("At least 5 names.", true))
	w.refused("intent/outside", ann, steer("At most 3 names.", true))
	w.do(ann, back(4))
	w.do(ann, steer("At most 3 names.", true))
}

// What is taken back is no reason any more to do a step again, and nobody who does it reads it.
func TestPAT04_WhatIsTakenBackIsNoReason(t *testing.T) {
	at := func() *world {
		w := newWorld(t)
		w.prepared(naming())
		w.do(ann, steer("Name the rye", true))
		w.carryOut()
		w.carryOut()
		w.do(ann, proceed(0))
		w.carryOut()
		unmet := met()
		unmet[0].Met, unmet[0].Evidence = false, "nobody was asked\nthe operator said: name the rye"
		w.do(host, judge(append(unmet, &loomv1.CompletionVerdict{Item: intent.Added, Evidence: "no name has a grain in it"})...))
		return w
	}
	takeBack := &loomv1.IntentCommand{Body: &loomv1.IntentCommand_TakeBack{TakeBack: &loomv1.TakeBack{Number: 1}}}
	want := []string{"success/1, Five people can spell it after one hearing.: not met: nobody was asked"}
	w := at()
	w.do(ann, takeBack)
	w.do(ann, choose(loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, 3))
	if got := w.Again(); !slices.Equal(got, want) {
		t.Errorf("taken back before the choice, it is done again because of %q", got)
	}
	w = at()
	w.do(ann, choose(loomv1.CompletionChoice_COMPLETION_CHOICE_STEP, 1))
	if got := w.Again(); len(got) != 2 {
		t.Errorf("before it is taken back, it is done again because of %q", got)
	}
	w.carryOut()
	w.carryOut()
	w.do(ann, takeBack)
	if got := w.Again(); !slices.Equal(got, want) {
		t.Errorf("taken back after the choice, it is done again because of %q", got)
	}
}
