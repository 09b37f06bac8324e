package turn

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	ownHead    = "## Your own summary\nYou wrote this of your first %d answers, when the conversation got too long. What the record has of them follows.\n"
	leastAsked = 1024 // bytes of a summary by the model that are worth a call
)

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
func Compose(t *loomv1.Turn, c Compact, said []string, own string) (string, bool) {
	head := fmt.Sprintf(ownHead, c.Answers) + AsData(own)
	c.Bytes -= len(head)
	text, kept := summarise(t, c, said)
	return head + text, kept
}

// Unsummarised is what a model's own summary is made of: the summary so far, and each
// later answer that c is to stand for, with what came of it. It is empty where
// nothing came since the last summary.
func Unsummarised(t *loomv1.Turn, n *loomv1.NodeDefinition, l Limits, c Compact) []Message {
	s := script{turn: t, node: n, limits: l, all: rounds(t), compacted: compaction(t)}
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

// OwnSummary returns the text that the model once wrote for the same answers, or nil.
func OwnSummary(t *loomv1.Turn, c Compact) *loomv1.BlobRef {
	for _, s := range t.GetSteps() {
		if old := s.GetCompacted(); old.GetAnswer() != nil && old.Answers == c.Answers && old.Answer.Problem == "" {
			return old.Answer.Text
		}
	}
	return nil
}
