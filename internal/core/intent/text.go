package intent

import (
	"fmt"
	"strconv"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Folder is the folder of the workspace in which the files of a session lie, so that no
// session takes those of another for its own, and two that go on at once do not meet.
func Folder(session string) string { return "sessions/" + session }

// Text tells an envelope to whoever works for it: each field in the words of the person,
// success criteria by their numbers, with the question that the words answer and, where they
// are a part of an answer, the whole of it.
func Text(e *loomv1.IntentEnvelope) string {
	var b strings.Builder
	for _, f := range Fields {
		for i, q := range Quotations(e, f) {
			name := FieldName(f)
			if f == Success {
				name = fmt.Sprintf("success %d", i+1)
			}
			fmt.Fprintf(&b, "%s: %s\n", name, q.GetText())
			said := answerOf(e.GetAnswers(), q.GetAnswer())
			switch part := said.GetText() != q.GetText(); {
			case part && said.GetQuestion() != "":
				fmt.Fprintf(&b, "  (of the answer %q to %q)\n", said.GetText(), said.Question)
			case part:
				fmt.Fprintf(&b, "  (of the answer %q)\n", said.GetText())
			case said.GetQuestion() != "":
				fmt.Fprintf(&b, "  (asked: %q)\n", said.Question)
			}
		}
	}
	return b.String()
}

// Criterion returns the words that an item of the completion check is about, a success
// criterion ("success/1"), a constraint ("constraint/1") or a line of the scope ("scope/1");
// "" for any other item.
func Criterion(e *loomv1.IntentEnvelope, item string) string {
	for i, q := range e.GetSuccess() {
		if item == fmt.Sprintf("success/%d", i+1) {
			return q.GetText()
		}
	}
	for i, q := range e.GetConstraints() {
		if item == fmt.Sprintf("constraint/%d", i+1) {
			return q.GetText()
		}
	}
	for i, q := range e.GetScope() {
		if item == fmt.Sprintf("scope/%d", i+1) {
			return q.GetText()
		}
	}
	return ""
}

// WaitsFor says in some words what a session waits for.
func WaitsFor(s *loomv1.PatternSession) string {
	switch {
	case s.GetEnded():
		return "nothing, it has ended"
	case s.GetAborted() != nil:
		return "nothing, it was aborted"
	case s.GetQuestion() != nil:
		return "an answer"
	case s.GetPhase() == Primacy:
		return "the interviewer"
	case s.GetPhase() == Capture:
		return "the seal"
	case s.GetPhase() == Meta && Blocks(s.GetFindings()):
		return "a revision"
	case len(s.GetUnmet()) > 0:
		return "a choice"
	case s.GetStopped():
		return "the operator"
	case len(s.GetAsked()) > 0:
		return "your answer to " + s.GetAsked()[0]
	case s.GetRunning() != nil:
		return "step " + strconv.Itoa(int(s.GetRunning().GetStep()))
	}
	return "the host"
}

// TakenUpAt says where a session goes on that was taken up: "step 2".
func TakenUpAt(r *loomv1.PatternResumed) string {
	if r.GetStep() == 0 {
		return "the completion check"
	}
	return "step " + strconv.Itoa(int(r.GetStep()))
}

// Standing is a sentence about where a session is and what it waits for.
func Standing(s *loomv1.PatternSession) string {
	return fmt.Sprintf("session %s is in %s and waits for %s", s.GetId(), PhaseName(s.GetPhase()), WaitsFor(s))
}
