package provider_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A policy behind either protocol says what it says without one, so a story
// that passes with a script can be told again over the wire.
func TestAGENT02_PolicyBehindAProtocol(t *testing.T) {
	r := conversation()
	r.Messages[0].Text = "## Assignment\nnode: triage\n"
	r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Text: "More.", Calls: []*loomv1.ToolCall{
		modeltest.Call("a3", "shell", `{"command":"go test ./..."}`),
	}}, model.Message{Role: model.RoleTool, Call: "a3", Text: "ok  \tx\t0.1s\n"})
	r.Tools = append(r.Tools, model.ToolSpec{Name: "finish", Description: "Ends the turn.", Schema: []byte(`{"type":"object"}`)})
	want, err := scripted.New("demo", scripted.Demo).Ask(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	each(t, "AGENT02", quick, func() modeltest.Script { return modeltest.Play(scripted.Demo) },
		func(t *testing.T, s *modeltest.Server, p model.Provider) {
			got, err := p.Ask(context.Background(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Calls, got.Calls, protocmp.Transform()); diff != "" || got.Text != want.Text {
				t.Errorf("text %q, want %q; calls (-want +got):\n%s", got.Text, want.Text, diff)
			}
		})
}
