package conversation_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/conversation"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How the model reasons is set by a word or by tokens, left where nothing is said, and taken
// back to what the role says; what is neither is refused and changes nothing.
func TestHUM02_ThinkingIsSwitched(t *testing.T) {
	s := &loomv1.ConversationSettings{Mode: conversation.Act}
	for _, tt := range []struct{ change, want, code string }{
		{"high", "high", ""},
		{"", "high", ""},
		{"8000", "8000", ""},
		{"very", "8000", "conversation/invalid"},
		{"255", "8000", "conversation/invalid"},
		{"128001", "8000", "conversation/invalid"},
		{"0x400", "8000", "conversation/invalid"},
		{"+300", "8000", "conversation/invalid"},
		{"none", "none", ""},
		{"role", "", ""},
	} {
		next, err := conversation.Change(s, &loomv1.ConversationSettings{Thinking: tt.change})
		if fault.Code(err) != tt.code {
			t.Errorf("%q: %v, want %q", tt.change, err, tt.code)
		}
		if err == nil {
			s = next
		}
		if s.Thinking != tt.want {
			t.Errorf("after %q it is %q, want %q", tt.change, s.Thinking, tt.want)
		}
	}
}
