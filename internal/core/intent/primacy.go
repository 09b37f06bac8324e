package intent

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (d *decision) open(o *loomv1.OpenSession) error {
	switch {
	case d.id != "":
		return fault.New("intent/phase", "session %q is open already", d.id)
	case o.GetId() == "" || len(o.Id) > 128:
		return fault.New("intent/invalid", "a session has an id of 1 to 128 bytes").At("id").Got(o.GetId())
	case len(o.GetPattern().GetSteps()) == 0 || len(o.Pattern.GetQuestions()) == 0:
		return fault.New("intent/invalid", "a pattern has steps and questions").At("pattern").Got(o.GetPattern().GetName())
	case len(o.Request) > maxText:
		return fault.New("intent/invalid", "a request has at most %d bytes", maxText).At("request")
	case d.by == nil || o.GetChild() && !d.is(host) || !o.GetChild() && !d.is(person):
		return fault.New("intent/identity", "a session is opened by a person, and one that is part of another by the runtime")
	}
	if o.Child {
		return d.openChild(o)
	}
	if o.Parent != nil {
		return fault.New("intent/parent", "a session of its own has no parent").At("parent")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Opened{Opened: o}})
	d.enter(Primacy, 0)
	if o.WithoutModel {
		d.askOwn("there is no model to ask")
	}
	return nil
}

// openChild begins a session whose intent is that of the session around it.
func (d *decision) openChild(o *loomv1.OpenSession) error {
	p := o.GetParent()
	switch {
	case p.GetEnvelope() == nil || p.GetSeal() == nil:
		return fault.New("intent/parent", "the session around pattern %q has no sealed intent", o.Pattern.Name).At("parent")
	case Digest(p.Envelope) != p.Seal.Digest || !isPerson(p.Seal.By):
		return fault.New("intent/parent", "the seal is not on the intent that is handed on").At("parent")
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Opened{Opened: o}})
	d.enter(Primacy, 0)
	d.enter(Capture, 0)
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Drafted{Drafted: &loomv1.IntentDrafted{Envelope: p.Envelope, Digest: p.Seal.Digest}}})
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Sealed{Sealed: p.Seal}})
	d.enter(Meta, 0)
	return nil
}

func (d *decision) propose(q *loomv1.ProposeQuestion) error {
	if err := d.allowed(agent, "a question", Primacy); err != nil {
		return err
	}
	switch {
	case d.patternAsks:
		return fault.New("intent/phase", "the pattern's own questions are asked now, and no model's")
	case d.pending != nil:
		return fault.New("intent/phase", "question %d is not answered yet", d.pending.Number)
	case !knownField(q.GetAbout()):
		return fault.New("intent/invalid", "a question is about a field of the envelope").At("about").Want("goal, constraints, audience, scope or success")
	case len(d.asked) >= maxQuestions:
		return fault.New("intent/limit", "%d questions were asked", len(d.asked)).Want("draft the envelope")
	}
	verdict, second := NewGovernor(d.said(), d.pattern).Judge(q.Text), q.Second
	switch {
	case verdict.Rule != "": // what a second judge says of it changes nothing
		second = loomv1.SecondVerdict_SECOND_VERDICT_UNSPECIFIED
	case second == Unfair:
		verdict.Rule = RuleJudge
	default:
		d.ask(&loomv1.QuestionAsked{Text: strings.TrimSpace(q.Text), About: q.About, Language: verdict.Language, Second: second})
		return nil
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Refused{Refused: &loomv1.QuestionRefused{
		Rule: verdict.Rule, Reason: verdict.Reason(), Sha256: digest([]byte(q.Text)), Size: uint64(len(q.Text)), Count: d.refusals + 1, Second: second,
	}}})
	if d.refusals >= MaxRefusals {
		d.askOwn(fmt.Sprintf("%d questions of the model were held back", d.refusals))
	}
	return nil
}

func (d *decision) ask(q *loomv1.QuestionAsked) {
	q.Number = uint32(len(d.asked) + 1) //nolint:gosec // bounded
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Asked{Asked: q}})
}

// askOwn lets the pattern ask from here on.
func (d *decision) askOwn(reason string) {
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_PatternAsks{PatternAsks: &loomv1.PatternAsks{Reason: reason}}})
	d.askNext()
}

// askNext asks the next of the pattern's own questions; after the last it drafts
// the envelope.
func (d *decision) askNext() {
	for _, q := range d.pattern.GetQuestions() {
		answered := slices.ContainsFunc(d.answers[d.round:], func(a *loomv1.IntentAnswer) bool { return a.Question == q.Text })
		if !answered && !slices.ContainsFunc(d.skipped, func(p *loomv1.QuestionAsked) bool { return p.Text == q.Text }) {
			d.ask(&loomv1.QuestionAsked{Text: q.Text, About: q.About, OfPattern: true})
			return
		}
	}
	d.show(&loomv1.DraftIntent{})
}

// said is everything that the person has said.
func (d *decision) said() []string {
	said := []string{d.request}
	for _, a := range d.answers {
		said = append(said, a.Text)
	}
	return said
}

func knownField(f loomv1.IntentField) bool { return slices.Contains(Fields, f) }

// offer takes note of text that a model says beside its tool: it is withheld.
func (d *decision) offer(o *loomv1.OfferText) error {
	if err := d.allowed(agent, "text of a model", Primacy, Capture); err != nil {
		return err
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Withheld{Withheld: &loomv1.TextWithheld{Sha256: digest([]byte(o.GetText())), Size: uint64(len(o.GetText()))}}})
	if d.withheld >= MaxWithheld && d.AwaitsModel() {
		d.askOwn("the model asked nothing")
	}
	return nil
}

// leave has the pattern ask where no model does.
func (d *decision) leave(l *loomv1.LeaveQuestions) error {
	if err := d.allowed(host, "that the pattern asks", Primacy); err != nil {
		return err
	}
	switch {
	case !d.AwaitsModel():
		return fault.New("intent/phase", "it is not a model's turn")
	case l.GetReason() == "" || len(l.Reason) > maxLine:
		return fault.New("intent/invalid", "a reason has 1 to %d bytes", maxLine).At("reason")
	}
	d.askOwn(l.Reason)
	return nil
}

func (d *decision) answer(a *loomv1.AnswerQuestion) error {
	if err := d.allowed(person, "an answer", Primacy, Capture); err != nil {
		return err
	}
	if a.Pass {
		return d.pass(a)
	}
	fact := &loomv1.IntentAnswer{Number: uint32(len(d.answers) + 1), About: a.About, Text: a.Text, By: d.by, Time: d.at} //nolint:gosec // bounded
	switch {
	case strings.TrimSpace(a.Text) == "" || len(a.Text) > MaxAnswer || !utf8.ValidString(a.Text):
		return fault.New("intent/invalid", "an answer has 1 to %d bytes", MaxAnswer).At("text")
	case len(d.answers) >= maxAnswers:
		return fault.New("intent/limit", "%d answers were given", len(d.answers))
	case d.confirm:
		return fault.New("intent/phase", "the sealed intent is shown again, and nothing is added to it").Want("revise it")
	case a.Question == 0 && !knownField(a.About):
		return fault.New("intent/invalid", "what is said unasked is about a field of the envelope").At("about")
	case a.Question != 0 && (d.pending == nil || d.pending.Number != a.Question):
		return fault.New("intent/phase", "question %d does not wait for an answer", a.Question)
	case a.Question != 0:
		fact.Question, fact.About = d.pending.Text, d.pending.About
	}
	before := d.shown
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Answered{Answered: fact}})
	for _, old := range d.answers[:d.round] { // asked again, it is answered anew
		if old.Question != "" && old.Question == fact.Question && !d.struck[old.Number] {
			d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Struck{Struck: &loomv1.StrikeAnswer{Number: old.Number}}})
		}
	}
	switch {
	case d.phase == Capture:
		d.show(withAnswer(before.GetEnvelope(), fact))
	case d.patternAsks && d.pending == nil:
		d.askNext()
	}
	return nil
}

// pass leaves a question without an answer of its own: what was said about its field
// stands.
func (d *decision) pass(a *loomv1.AnswerQuestion) error {
	switch {
	case d.pending == nil || d.pending.Number != a.Question:
		return fault.New("intent/phase", "question %d does not wait for an answer", a.Question)
	case a.Text != "":
		return fault.New("intent/invalid", "a question is answered, or passed").At("text")
	case len(d.about(d.pending.About)) == 0:
		return fault.New("intent/incomplete", "nothing was said about %s", FieldName(d.pending.About)).Want(`an answer; "I don't know" is one`)
	}
	d.emit(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Passed{Passed: d.pending}})
	if d.patternAsks {
		d.askNext()
	}
	return nil
}

// withAnswer are the quotations of an envelope, and all of an answer.
func withAnswer(e *loomv1.IntentEnvelope, a *loomv1.IntentAnswer) *loomv1.DraftIntent {
	q := []*loomv1.Quotation{{Answer: a.Number, Text: a.Text}}
	draft := &loomv1.DraftIntent{Goal: e.Goal, Constraints: e.Constraints, Audience: e.Audience, Scope: e.Scope, Success: e.Success}
	switch a.About {
	case Goal:
		draft.Goal = slices.Concat(draft.Goal, q)
	case Constraints:
		draft.Constraints = slices.Concat(draft.Constraints, q)
	case Audience:
		draft.Audience = slices.Concat(draft.Audience, q)
	case Scope:
		draft.Scope = slices.Concat(draft.Scope, q)
	case Success:
		draft.Success = slices.Concat(draft.Success, q)
	}
	return draft
}
