package turn

import (
	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// waiting returns the id of a call of the last answer that has not ended, or "".
func waiting(t *loomv1.Turn) string {
	if last := lastRound(t); last != nil {
		if open := last.pending(); len(open) > 0 {
			return open[0].Id
		}
	}
	return ""
}

// checkCompact takes a compaction between calls: of answers that are there, and
// never of fewer than before, so that what is gone stays gone.
func checkCompact(t *loomv1.Turn, c *loomv1.Compaction) (known bool, err error) {
	old := compaction(t)
	switch {
	case old != nil && proto.Equal(old, c):
		return true, nil
	case c.GetSummary().GetSha256() == "":
		return false, refuse("compact.summary", "a compaction has a summary")
	case c.Answers > t.Iterations || c.Answers < old.GetAnswers():
		return false, refuse("compact.answers", "%d answers of %d are summarised, after %d", c.Answers, t.Iterations, old.GetAnswers())
	case int(c.Steps) != len(t.Steps):
		return false, refuse("compact.steps", "it was made of %d steps, and there are %d", c.Steps, len(t.Steps))
	case waiting(t) != "":
		return false, refuse("compact", "call %q has not ended", waiting(t))
	case c.Answer != nil && (c.Answer.Request == "" || len(c.Answer.Calls) > 0):
		return false, refuse("compact.answer", "a model's summary names the request it answers, and calls no tool")
	case proto.Size(c.Answer) > MaxAnswer:
		return false, refuse("compact.answer", "the answer has %d bytes; at most %d are recorded", proto.Size(c.Answer), MaxAnswer)
	}
	return false, nil
}

// checkHear takes a message between calls.
func checkHear(t *loomv1.Turn, s *loomv1.Said) (known bool, err error) {
	if s.GetId() == "" || s.GetText() == "" {
		return false, refuse("hear", "a message has an id and a text")
	}
	if old := heard(t, s.Id); old != nil {
		if !proto.Equal(old, s) {
			return false, refuse("hear", "message %q has been heard already, otherwise", s.Id)
		}
		return true, nil
	}
	if open := waiting(t); open != "" {
		return false, refuse("hear", "call %q has not ended", open)
	}
	return false, nil
}
