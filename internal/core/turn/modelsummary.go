package turn

import (
	"fmt"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	ownHead    = "## Your own summary\nYou wrote this of your first %d answers, when the conversation got too long. What the record has of them follows.\n"
	leastAsked = 1024 // bytes of a summary by the model that are worth a call
	leastAdded = 4    // answers that a later summary by the model adds to the one before
)

// Own is what a model wrote to summarise the first answers of its own turn. The zero
// value is nothing.
type Own struct {
	Answers uint32
	Text    string
}

// OwnBytes is how long a model's own summary may be, or 0 where there is too little
// room to ask for one. The other half is for what is taken from the record.
func (c Compact) OwnBytes() int {
	if n := c.Bytes/2 - len(ownHead) - perMessage; n >= leastAsked {
		return n
	}
	return 0
}

// Compose writes a summary that begins with the model's own, as material, and goes
// on with what [Summarise] takes from the record: a model may leave out or make up,
// and people's words, the list of steps and the ids of calls depend on neither. It
// reports false where both have no room in c.Bytes.
func Compose(t *loomv1.Turn, c Compact, said []string, own Own) (string, bool) {
	head := fmt.Sprintf(ownHead, own.Answers) + AsData(own.Text)
	c.Bytes -= len(head)
	text, kept := summarise(t, c, said)
	return head + text, kept
}

// SummaryDue reports whether the model is to be asked for a summary of what c is to
// stand for: the first time, and then when at least 4 answers came since it was asked.
// Where a window holds one or two results, each answer leads to a compaction, and a
// summary for each would double the calls.
func SummaryDue(t *loomv1.Turn, c Compact) bool {
	asked := last(t, func(a *loomv1.ModelAnswer) bool { return a != nil })
	return asked == nil || c.Answers >= asked.Answers+leastAdded
}

// Unsummarised is what a model's own summary is made of: the summary with the one
// that it wrote before, and each later answer that c is to stand for, with what came
// of it. It is empty where nothing came since.
func Unsummarised(t *loomv1.Turn, n *loomv1.NodeDefinition, l Limits, c Compact) []Message {
	s := script{turn: t, node: n, limits: l, all: rounds(t), compacted: lastOwn(t)}
	var list []Message
	for i := s.from(); i <= int(c.Answers) && i < len(s.all); i++ {
		more, _ := s.round(i)
		list = append(list, more...)
	}
	if len(list) > 0 && s.compacted != nil {
		list = append([]Message{{Role: User, Blob: s.compacted.Summary}}, list...)
	}
	return list
}

// OwnSummary returns the text that the model wrote last and how many answers it is
// of, or nil.
func OwnSummary(t *loomv1.Turn) (text *loomv1.BlobRef, answers uint32) {
	if c := lastOwn(t); c != nil {
		return c.Answer.Text, c.Answers
	}
	return nil, 0
}

// lastOwn is the last compaction with a summary by the model, or nil.
func lastOwn(t *loomv1.Turn) *loomv1.Compaction {
	return last(t, func(a *loomv1.ModelAnswer) bool { return a != nil && a.Problem == "" })
}

// last is the last compaction with such an answer, or nil.
func last(t *loomv1.Turn, such func(*loomv1.ModelAnswer) bool) *loomv1.Compaction {
	for _, s := range slices.Backward(t.GetSteps()) {
		if c := s.GetCompacted(); c != nil && such(c.Answer) {
			return c
		}
	}
	return nil
}
