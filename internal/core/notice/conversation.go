package notice

import (
	"fmt"

	"github.com/loomrun/loom/internal/core/conversation"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// conversed says how a conversation is held from now on.
func conversed(e *loomv1.Event) string {
	s := e.GetConversationSet().GetSettings()
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("%s: the conversation goes on in mode %s", about(e), conversation.Word(s.Mode))
	if s.ModelTier > 0 {
		text += fmt.Sprintf(", with a model of tier %d", s.ModelTier)
	}
	return text + after(", thinking ", s.Thinking) + after(", by process ", s.Process) + after(": ", s.Title)
}
