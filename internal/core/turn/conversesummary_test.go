package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Of a conversation in which people say more than a summary holds, the newest stays: what
// the lead has done, and the last of what was said.
func TestHUM02_ASummaryKeepsTheNewestOfWhatWasSaid(t *testing.T) {
	c := &loomv1.Turn{Attempt: "a", Converses: true, Prompt: &loomv1.BlobRef{Sha256: "p", Size: 1}}
	var replies []string
	for i := range 40 {
		c.Steps = append(c.Steps,
			&loomv1.TurnStep{Step: &loomv1.TurnStep_Said{Said: &loomv1.Said{Id: fmt.Sprint("m", i), From: &loomv1.Identity{Name: "ann"}, Text: fmt.Sprintf("question %d %s", i, strings.Repeat("long words ", 60))}}},
			&loomv1.TurnStep{Step: &loomv1.TurnStep_Answer{Answer: &loomv1.ModelAnswer{Model: "m", Text: &loomv1.BlobRef{Sha256: fmt.Sprint(i), Size: 9}}}})
		c.Iterations++
		replies = append(replies, fmt.Sprintf("reply %d", i))
	}
	const most = 6000
	text := turn.Summarise(c, turn.Compact{Answers: 40, Bytes: most}, replies)
	for _, want := range []string{"reply 39", "question 39", "earlier messages are left out", "ann says:"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%.1000s", want, text)
		}
	}
	if len(text) > most || strings.Contains(text, "question 1 ") {
		t.Errorf("it has %d bytes of %d, or the oldest message", len(text), most)
	}
}
