package intent

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (d *decision) draft(draft *loomv1.DraftIntent) error {
	if err := d.allowed(anybody, "a draft of the envelope", Primacy, Capture); err != nil {
		return err
	}
	switch {
	case d.confirm:
		return fault.New("intent/phase", "the sealed intent is shown again, and stays as it is").Want("revise it")
	case d.is(agent) && (d.phase != Primacy || d.pending != nil || d.patternAsks):
		return fault.New("intent/phase", "an agent drafts the envelope while it asks, after an answer")
	}
	if missing := d.missing(); d.is(agent) && missing != "" {
		return fault.New("intent/incomplete", "nothing was said about %s", missing).Want("ask")
	}
	if d.is(agent) && d.round > 0 && len(d.answers) == d.round {
		return fault.New("intent/incomplete", "nothing was said since the intent is revised").Want("ask")
	}
	if err := CheckQuotations(d.compose(draft)); err != nil {
		return err
	}
	d.show(draft)
	return nil
}

// missing returns the first field that no answer is about, or "".
func (d *decision) missing() string {
	for _, f := range Fields {
		if len(d.about(f)) == 0 {
			return FieldName(f)
		}
	}
	return ""
}

// about returns all that was answered about a field and holds, from before a revision too.
func (d *decision) about(f loomv1.IntentField) (list []*loomv1.Quotation) {
	for _, a := range d.Answers() {
		if a.About == f {
			list = append(list, &loomv1.Quotation{Answer: a.Number, Text: a.Text})
		}
	}
	return list[:min(len(list), maxQuotations)]
}

// strike takes an answer out of what holds, or back into it; an envelope that is shown is
// made anew.
func (d *decision) strike(st *loomv1.StrikeAnswer) error {
	if err := d.allowed(person, "striking an answer", Primacy, Capture); err != nil {
		return err
	}
	a := answerOf(d.answers, st.GetNumber())
	switch {
	case d.confirm:
		return fault.New("intent/phase", "the sealed intent is shown again, and stays as it is").Want("revise it")
	case a == nil:
		return fault.New("intent/invalid", "there is no answer %d", st.GetNumber()).At("number")
	case d.struck[a.Number] != st.Restore:
		return fault.New("intent/phase", "answer %d %s", a.Number, map[bool]string{true: "is not struck", false: "is struck already"}[st.Restore]).At("number")
	}
	before := d.shown.GetEnvelope()
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Struck{Struck: st}})
	switch {
	case d.phase != Capture:
	case st.Restore:
		d.show(withAnswer(before, a))
	default:
		d.show(withoutAnswer(before, a.Number))
	}
	return nil
}

// withoutAnswer are the quotations of an envelope but those of an answer.
func withoutAnswer(e *loomv1.IntentEnvelope, number uint32) *loomv1.DraftIntent {
	of := func(list []*loomv1.Quotation) []*loomv1.Quotation {
		return slices.DeleteFunc(slices.Clone(list), func(q *loomv1.Quotation) bool { return q.Answer == number })
	}
	return &loomv1.DraftIntent{Goal: of(e.Goal), Constraints: of(e.Constraints), Audience: of(e.Audience), Scope: of(e.Scope), Success: of(e.Success)}
}

// compose makes the envelope of a draft.
func (d *decision) compose(draft *loomv1.DraftIntent) *loomv1.IntentEnvelope {
	of := func(given []*loomv1.Quotation, f loomv1.IntentField) []*loomv1.Quotation {
		if len(given) > 0 {
			return given
		}
		return d.about(f)
	}
	return proto.CloneOf(&loomv1.IntentEnvelope{
		Id: fmt.Sprintf("%s/%d", d.id, d.envelopes+1), Pattern: d.pattern.Name, PatternDigest: PatternDigest(d.pattern), Answers: d.Answers(), Supersedes: d.replaces,
		Goal: of(draft.Goal, Goal), Constraints: of(draft.Constraints, Constraints), Audience: of(draft.Audience, Audience), Scope: of(draft.Scope, Scope), Success: of(draft.Success, Success),
	})
}

// show enters intention capture with an envelope to be sealed.
func (d *decision) show(draft *loomv1.DraftIntent) {
	e := d.compose(draft)
	if d.phase == Primacy {
		d.enter(Capture, 0)
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Drafted{Drafted: &loomv1.IntentDrafted{Envelope: e, Digest: Digest(e)}}})
}

func (d *decision) ready(seal *loomv1.SealIntent) error {
	if err := d.allowed(person, "the seal", Capture); err != nil {
		return err
	}
	if d.shown == nil || seal.GetDigest() != d.shown.Digest {
		return fault.New("intent/digest", "another envelope was shown last").At("digest").Got(seal.GetDigest()).Want("%s", d.shown.GetDigest())
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Sealed{Sealed: &loomv1.IntentSealed{Digest: d.shown.Digest, By: d.by, Time: d.at}}})
	d.enter(Meta, 0)
	return nil
}

func (d *decision) revise(r *loomv1.ReviseIntent) error {
	if err := d.allowed(person, "a revision", Meta, Activation, Inputs, Steering, Completion); err != nil {
		return err
	}
	if d.seal == nil {
		return fault.New("intent/phase", "a revision is under way, or nothing is sealed")
	}
	if len(r.GetReason()) > maxText {
		return fault.New("intent/invalid", "a reason has at most %d bytes", maxText).At("reason")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Revised{Revised: r}})
	d.flush()
	d.enter(Primacy, 0)
	if d.noModel {
		d.askOwn("there is no model to ask")
	}
	return nil
}
