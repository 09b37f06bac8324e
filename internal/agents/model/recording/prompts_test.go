package recording_test

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What was asked is written as it was sent, a text that was shown is not shown
// again, and what a server keeps is counted as it is priced.
func TestAGENT02_PromptsOfARecording(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	w, err := recording.Create(file, recording.Header{From: "demo", Model: "scripted:demo"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := scripted.New("demo", nil)
	begins := model.Message{Role: model.RoleUser, Text: strings.Repeat("b", 400)}
	ask := func(attempt string, messages ...model.Message) {
		w.Ask(attempt, m, &model.Request{
			System: strings.Repeat("s", 400), Messages: messages,
			Tools: []model.ToolSpec{{Name: "look", Description: "Look ```around```.", Schema: []byte(`{"type":"object"}`)}},
		}, &model.Response{Text: strings.Repeat("a", 40), Calls: []*loomv1.ToolCall{{Id: "c", Tool: "look", Arguments: "{}"}}}, nil)
	}
	w.Turn(&recording.Turn{Attempt: "shop-1-x1-a10", Role: "lead", Node: []byte(`{"id":"accept"}`)})
	w.Turn(&recording.Turn{Attempt: "shop-1-x1-a2", Role: "lead", Node: []byte(`{"id":"brief"}`)})
	ask("shop-1-x1-a2", begins)
	ask("shop-1-x1-a2", begins, model.Message{Role: model.RoleAssistant, Text: "looked"}, model.Message{Role: model.RoleTool, Call: "c", Text: "an end"})
	ask("shop-1-x1-a10", model.Message{Role: model.RoleUser, Text: "other work"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := r.Prompts(&out, "anthropic:some", price.Rate{Input: 1_000_000_000, CacheRead: 100_000_000, CacheWrite: 2_000_000_000}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	const tool = len(`{"name":"look","description":"Look ` + "```around```" + `.","schema":{"type":"object"}}`)
	whole := 3*(400+tool) + 400 + (400 + 12) + 10
	kept := (400 + tool + 400) + (400 + tool) // of the second request the first, of the third what its role begins with
	want := (whole + 3) / 4
	for _, s := range []string{
		"A script or a recording answered in the place of a language model.",
		"| [1. brief, lead](#1-brief-lead) | 2 |", "| [2. accept, lead](#2-accept-lead) | 1 |",
		"\n````text\nLook ```around```.\n", "As in turn 1.", "an end", "look {}",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("the document lacks %q", s)
		}
	}
	if n := strings.Count(text, strings.Repeat("s", 400)); n != 1 {
		t.Errorf("the system text stands there %d times, want once", n)
	}
	if !strings.Contains(text, "| all | 3 | | | | | "+strconv.Itoa(want)+" | "+strconv.Itoa((100*kept+whole/2)/whole)+" % | 35 |") {
		t.Errorf("of %d tokens %d bytes of %d are kept; the document says\n%s", want, kept, whole, text[strings.Index(text, "| all |"):][:60])
	}
}
