package provider_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A picture goes over each wire beside the result of the call that read it, or, where
// tool messages are text alone, behind the results.
func TestAGENT02_PicturesOverTheWire(t *testing.T) {
	data := []byte("\x89PNG\r\n\x1a\n and the rest")
	each(t, "AGENT02 pictures", quick, replies(modeltest.Reply{Text: "a red square"}), func(t *testing.T, s *modeltest.Server, p model.Provider) {
		q := conversation()
		q.Messages = []model.Message{
			{Role: model.RoleUser, Text: "look"},
			{Role: model.RoleAssistant, Calls: []*loomv1.ToolCall{{Id: "c1", Tool: "file_read", Arguments: `{"path":"a.png"}`}, {Id: "c2", Tool: "file_read", Arguments: `{"path":"b"}`}}},
			{Role: model.RoleTool, Call: "c1", Text: "a.png: a picture", Picture: model.NewPicture("image/png", 2, 2, data)},
			{Role: model.RoleTool, Call: "c2", Text: "text"},
		}
		if r, err := p.Ask(t.Context(), q, nil); err != nil || r.Text != "a red square" {
			t.Fatalf("%v, %v", r, err)
		}
		var seen []*model.Picture
		for _, m := range s.Asked()[0].Messages {
			if m.Picture != nil {
				if m.Role == model.RoleUser && !strings.Contains(m.Text, "call c1") || m.Role == model.RoleTool && m.Call != "c1" {
					t.Errorf("the picture is in %s message %q of call %q", m.Role, m.Text, m.Call)
				}
				seen = append(seen, m.Picture)
			}
		}
		if len(seen) != 1 || seen[0].MediaType != "image/png" || string(seen[0].Data) != string(data) {
			t.Errorf("the server saw %v", seen)
		}
	})
}
