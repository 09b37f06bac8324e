package intent_test

import (
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/core/intent"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func strike(number uint32, restore bool) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Strike{Strike: &loomv1.StrikeAnswer{Number: number, Restore: restore}}}
}

func pass(question uint32) *loomv1.IntentCommand {
	return &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: &loomv1.AnswerQuestion{Question: question, Pass: true}}}
}

func quoted(list []*loomv1.Quotation) (texts []string) {
	for _, q := range list {
		texts = append(texts, q.Text)
	}
	return texts
}

// An answer that is struck before the seal is in no envelope and can be quoted no more; taken
// back it holds again, whole. After the seal nothing is struck.
func TestPAT02_AnAnswerIsStruckBeforeTheSeal(t *testing.T) {
	w := newWorld(t)
	w.answered(naming())
	w.do(ann, tell(intent.Constraints, "Nothing French."))
	before := w.Shown().Digest
	w.refused("intent/identity", model, strike(2, false))
	w.refused("intent/invalid", ann, strike(9, false))
	w.refused("intent/phase", ann, strike(2, true))
	w.do(ann, strike(2, false))
	w.refused("intent/phase", ann, strike(2, false))
	w.refused("intent/digest", ann, ready(before))
	e := w.Shown().Envelope
	if got := quoted(e.Constraints); !slices.Equal(got, []string{"Nothing French."}) || slices.ContainsFunc(e.Answers, func(a *loomv1.IntentAnswer) bool { return a.Number == 2 }) {
		t.Errorf("struck, and the envelope is %v", e)
	}
	if got := w.Struck(); len(got) != 1 || got[0].Text != "No pun." {
		t.Errorf("struck is %v", got)
	}
	w.refused("intent/quotation", ann, draft(&loomv1.DraftIntent{Constraints: []*loomv1.Quotation{{Answer: 2, Text: "No pun."}}}))
	w.do(ann, strike(2, true))
	if got := quoted(w.Shown().Envelope.Constraints); !slices.Equal(got, []string{"Nothing French.", "No pun."}) {
		t.Errorf("taken back, the constraints are %q", got)
	}
	w.do(ann, ready(w.Shown().Digest))
	w.refused("intent/phase", ann, strike(2, false))
}

// A revision keeps all that was said, but for what is struck and what the same question is
// answered anew with; a question to which there is nothing to add is passed.
func TestPAT02_ARevisionKeepsWhatWasSaid(t *testing.T) {
	p := naming()
	w := newWorld(t)
	o := open(p)
	o.GetOpen().WithoutModel = true
	w.do(ann, o)
	w.refused("intent/incomplete", ann, pass(1))
	for _, text := range []string{"A name for the bakery.", "No pun.", "Neighbours.", "No logo.", "Five people can spell it."} {
		w.do(ann, answer(w.Pending().Number, text))
	}
	w.do(ann, ready(w.Shown().Digest))
	w.do(ann, revise())
	w.refused("intent/invalid", ann, &loomv1.IntentCommand{Body: &loomv1.IntentCommand_Answer{Answer: &loomv1.AnswerQuestion{Question: w.Pending().Number, Pass: true, Text: "x"}}})
	w.do(ann, pass(w.Pending().Number)) // the goal
	w.refused("intent/phase", ann, pass(1))
	w.do(ann, tell(intent.Constraints, "Nothing French."))
	w.do(ann, pass(w.Pending().Number))
	w.do(ann, answer(w.Pending().Number, "Tourists."))
	w.do(ann, pass(w.Pending().Number))
	w.do(ann, pass(w.Pending().Number))
	e := w.Shown().GetEnvelope()
	for _, tt := range []struct {
		field loomv1.IntentField
		want  []string
	}{
		{intent.Goal, []string{"A name for the bakery."}},
		{intent.Constraints, []string{"No pun.", "Nothing French."}},
		{intent.Audience, []string{"Tourists."}},
		{intent.Success, []string{"Five people can spell it."}},
	} {
		if got := quoted(intent.Quotations(e, tt.field)); !slices.Equal(got, tt.want) {
			t.Errorf("%s is %q, want %q", intent.FieldName(tt.field), got, tt.want)
		}
	}
	if got := w.Struck(); len(got) != 1 || got[0].Text != "Neighbours." {
		t.Errorf("struck is %v", got)
	}
	w.do(ann, strike(3, true)) // both, then
	if got := quoted(w.Shown().Envelope.Audience); !slices.Equal(got, []string{"Tourists.", "Neighbours."}) {
		t.Errorf("the audience is %q", got)
	}
}

// Who works for an envelope reads each quotation with its question, and with all of the answer
// where it is a part of one.
func TestPAT02_TheTextOfAnEnvelopeHasQuestionsAndWholeAnswers(t *testing.T) {
	e := &loomv1.IntentEnvelope{
		Answers: []*loomv1.IntentAnswer{
			{Number: 1, Question: "How often may two people disagree?", Text: "Two in twenty"},
			{Number: 2, Question: "What would surprise you?", Text: "I'd be surprised if they had caused no errors."},
			{Number: 3, Text: "Write nothing."},
		},
		Success:     []*loomv1.Quotation{{Answer: 1, Text: "Two in twenty"}},
		Constraints: []*loomv1.Quotation{{Answer: 2, Text: "they had caused no errors"}, {Answer: 3, Text: "Write nothing."}},
	}
	want := `constraints: they had caused no errors
  (of the answer "I'd be surprised if they had caused no errors." to "What would surprise you?")
constraints: Write nothing.
success 1: Two in twenty
  (asked: "How often may two people disagree?")
`
	if got := intent.Text(e); got != want {
		t.Errorf("Text = %s", got)
	}
}
