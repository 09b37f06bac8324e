package intent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (d *decision) steer(st *loomv1.Steer) error {
	if err := d.allowed(person, "steering", Activation, Inputs, Execution, Steering, Completion); err != nil {
		return err
	}
	switch {
	case strings.TrimSpace(st.GetText()) == "" || len(st.Text) > maxText || !utf8.ValidString(st.Text):
		return fault.New("intent/invalid", "what is said has 1 to %d bytes", maxText).At("text")
	case d.steers >= maxSteering:
		return fault.New("intent/limit", "the session was steered %d times", d.steers)
	}
	if st.Redirect {
		if why := d.outside(st.Text); why != "" {
			return fault.New("intent/outside", "it goes against the sealed intent: %s", why).At("text").Want("revise the intent; that goes through primacy")
		}
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Steered{Steered: &loomv1.Steered{Text: st.Text, Redirect: st.Redirect, FromRun: d.runs + 1, Number: d.steers + 1}}})
	return nil
}

// takeBack takes back what was said for steps: those that begin after it are not told.
func (d *decision) takeBack(t *loomv1.TakeBack) error {
	if err := d.allowed(person, "taking back what was said", Activation, Inputs, Execution, Steering, Completion); err != nil {
		return err
	}
	if !slices.ContainsFunc(d.steering, func(st *loomv1.Steered) bool { return st.Number == t.GetNumber() }) {
		return fault.New("intent/step", "nothing that was said for steps has number %d, or it was taken back", t.GetNumber()).At("number")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_TakenBack{TakenBack: t}})
	return nil
}

// outside says why a constraint lies outside the sealed intent, or "".
func (d *decision) outside(constraint string) string {
	e := proto.CloneOf(d.envelope)
	for _, st := range d.steering {
		if st.Redirect {
			e.Constraints = append(e.Constraints, &loomv1.Quotation{Text: st.Text})
		}
	}
	known := (&meta{envelope: e, loosely: true}).all()
	e.Constraints = append(e.Constraints, &loomv1.Quotation{Text: constraint})
	for _, f := range (&meta{envelope: e, loosely: true}).all() {
		if !slices.ContainsFunc(known, func(k *loomv1.IntentFinding) bool { return k.Text == f.Text }) {
			return f.Text
		}
	}
	for _, g := range e.Goal {
		if words := shared(banned(constraint), content(g.Text)); words != "" && shared(banned(g.Text), banned(constraint)) == "" {
			return fmt.Sprintf("it forbids what the goal %q is about", cut(g.Text))
		}
	}
	for _, s := range e.Scope {
		if words := shared(named(forbids, s.Text), named(demands, constraint)); words != "" && shared(named(forbids, s.Text), banned(constraint)) == "" {
			return fmt.Sprintf("it demands what the scope %q leaves out", cut(s.Text))
		}
		in := content(s.Text)
		for _, what := range bans(constraint) {
			if len(what) > 0 && contains(in, what) && shared(banned(s.Text), what) == "" {
				return fmt.Sprintf("it leaves out what the scope %q is about", cut(s.Text))
			}
		}
	}
	return ""
}

// bans are what a text forbids or drops, each thing by the words that name it.
func bans(text string) (list []vocabulary) {
	for _, re := range []*lazy.Regexp{forbids, drops, notLast} {
		for _, found := range re.FindAllStringSubmatch(text, -1) {
			list = append(list, content(found[1]))
		}
	}
	return list
}

func banned(text string) vocabulary {
	all := vocabulary{}
	for _, what := range bans(text) {
		maps.Copy(all, what)
	}
	return all
}

// contains says whether a text has all words that name a thing.
func contains(in, what vocabulary) bool {
	for w := range what {
		if !in[w] {
			return false
		}
	}
	return true
}

// all are the contradictions of an envelope.
func (m *meta) all() []*loomv1.IntentFinding {
	m.contradictions()
	return m.found
}

func (d *decision) setTempo(t *loomv1.SetTempo) error {
	if err := d.allowed(person, "the tempo"); err != nil {
		return err
	}
	if _, known := settings[t.GetTempo()]; !known && t.GetTempo() != loomv1.Tempo_TEMPO_UNSPECIFIED {
		return fault.New("intent/invalid", "unknown tempo").At("tempo").Got(t.Tempo.String()).Want("allegro, andante or adagio")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_TempoSet{TempoSet: t}})
	return nil
}

func (d *decision) abortAsked(a *loomv1.AbortPattern) error {
	if err := d.allowed(person, "an abort"); err != nil {
		return err
	}
	if len(a.GetReason()) > maxText {
		return fault.New("intent/invalid", "a reason has at most %d bytes", maxText).At("reason")
	}
	if d.abort != nil && d.running { // asked a second time
		d.endStep(&loomv1.StepEnded{Status: loomv1.StepStatus_STEP_STATUS_CANCELLED, Summary: "cancelled by a second abort"})
		return nil
	}
	if d.abort == nil {
		d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_AbortAsked{AbortAsked: a}})
	}
	if !d.running {
		d.abortNow(d.step.GetStep())
	}
	return nil
}

// abortNow ends the session at a boundary: record, draft, and the session's own
// memory is emptied.
func (d *decision) abortNow(step uint32) {
	record := &loomv1.PatternAbort{Type: "pattern-abort", PatternId: d.pattern.Name, AbortedAtStep: step, Reason: d.abort.Reason, PartialOutputSaved: d.abort.SaveDraft}
	aborted := &loomv1.PatternAborted{Record: record}
	if record.PartialOutputSaved {
		for _, step := range d.pattern.Steps {
			for _, name := range step.Deliverables {
				if o, ok := d.outputs[name]; ok && !slices.Contains(aborted.Draft, o) {
					aborted.Draft = append(aborted.Draft, o)
				}
			}
		}
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Aborted{Aborted: aborted}})
	d.flush()
}

// flush empties the session's own memory.
func (d *decision) flush() {
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Flushed{Flushed: &loomv1.ActiveFlushed{Entries: uint32(len(d.active))}}}) //nolint:gosec // at most maxActive
}

func (d *decision) resume(r *loomv1.ResumePattern) error {
	switch {
	case !d.is(person):
		return fault.New("intent/identity", "an aborted session is taken up by %s", person)
	case d.aborted == nil:
		return fault.New("intent/phase", "session %q was not aborted", d.id)
	case d.seal == nil:
		return fault.New("intent/unsealed", "session %q was aborted before its intent was sealed", d.id).Want("open a new session")
	case !r.GetRerun() && !d.aborted.Record.PartialOutputSaved && len(d.outputsBefore()) > 0:
		return fault.New("intent/phase", "no draft of session %q was saved", d.id).Want("rerun it")
	}
	envelope := d.envelope
	step := uint32(1)
	if !r.Rerun {
		step = d.takenUpAt()
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Resumed{Resumed: &loomv1.PatternResumed{Step: step, Rerun: r.Rerun}}})
	if !r.Rerun {
		d.enter(Meta, 0)
		return nil
	}
	d.enter(Capture, 0)
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Drafted{Drafted: &loomv1.IntentDrafted{Envelope: envelope, Digest: d.seal.Digest}}})
	return nil
}

// outputsBefore are what the steps before the abort had to leave.
func (d *decision) outputsBefore() (names []string) {
	at := d.takenUpAt()
	for _, step := range d.pattern.Steps {
		if at == 0 || step.Order < at {
			names = append(names, step.Deliverables...)
		}
	}
	return names
}

// takenUpAt is the first step whose work the abort has cut off, 0 for none: all were done,
// and what is left is the completion check.
func (d *decision) takenUpAt() uint32 {
	switch {
	case d.step == nil:
		return d.first
	case d.failed:
		return d.step.Step
	}
	return d.after(d.step.Step)
}
