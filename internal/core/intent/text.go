package intent

import (
	"fmt"
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
