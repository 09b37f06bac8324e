package recording_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const secret = "sk-very-secret/0123"

var env = []string{"OPENAI_API_KEY=" + secret, "SHORT_KEY=abc"}

func asked(texts ...string) *model.Request {
	q := &model.Request{System: "You are a poet.", Tools: []model.ToolSpec{{Name: "shell", Description: "runs"}}, MaxTokens: 100}
	for _, t := range texts {
		q.Messages = append(q.Messages, model.Message{Role: model.RoleUser, Text: t})
	}
	return q
}

func answered(text string) *model.Response {
	return &model.Response{Text: text, Stop: model.StopTools, Usage: &loomv1.Usage{InputTokens: 7, CostKnown: true}, Calls: []*loomv1.ToolCall{{Id: "c1", Tool: "shell", Arguments: `{"command":"ls"}`}}}
}

// record makes a recording of requests and returns its file.
func record(t *testing.T, do func(*recording.Writer)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.jsonl")
	w, err := recording.Create(file, recording.Header{From: "demo", Model: "openai:m", Made: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}, env)
	if err != nil {
		t.Fatal(err)
	}
	do(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func play(t *testing.T, file string) model.Provider {
	t.Helper()
	r, err := recording.Open(file, env)
	if err != nil {
		t.Fatal(err)
	}
	return r.Provider()
}

var asker = scripted.New("m", nil)

func TestAGENT02_ARecordingAnswersAsItWasAnswered(t *testing.T) {
	file := record(t, func(w *recording.Writer) {
		w.Ask("a1", asker, asked("one"), answered("first"), nil)
		w.Ask("a1", asker, asked("one"), answered("second"), nil)
		w.Ask("a1", asker, asked("two"), nil, fault.New("model/invalid-output", "it was of no use").Want("call a tool"))
	})
	p := play(t, file)
	if p.Name() != "replay:openai:m" || !p.Scripted() {
		t.Errorf("it is named %q, scripted %t", p.Name(), p.Scripted())
	}
	for i, want := range []string{"first", "second", "second"} {
		got, err := p.Ask(context.Background(), asked("one"), nil)
		if err != nil || got.Text != want || len(got.Calls) != 1 || got.Usage.InputTokens != 7 || !got.Usage.CostKnown {
			t.Errorf("answer %d is %v, %v; want %s", i, got, err, want)
		}
	}
	if _, err := p.Ask(context.Background(), asked("two"), nil); fault.Code(err) != "model/invalid-output" {
		t.Errorf("an answer of no use is played as %v", err)
	}
}

// Ids of commits and the time of day differ from run to run and are not compared;
// everything else is.
func TestAGENT02_ADepartureIsNamedWithItsDifference(t *testing.T) {
	file := record(t, func(w *recording.Writer) {
		w.Ask("shop-1-x1-a1", asker, asked("hello"), answered("x"), nil)
		w.Ask("shop-1-x1-a2", asker, asked("goal:\nmend the price of 0123456789ab\nthe end", "and then"), answered("y"), nil)
		w.Ask("shop-1-x1-a3", asker, asked("## Assignment\nnow: Sun 01 Mar 2026 09:59 UTC; this attempt ends at 10:29 UTC\nnode: a"), answered("z"), nil)
	})
	if _, err := play(t, file).Ask(context.Background(), asked("goal:\nmend the price of ba9876543210\nthe end", "and then"), nil); err != nil {
		t.Errorf("another commit's id: %v", err)
	}
	if _, err := play(t, file).Ask(context.Background(), asked("## Assignment\nnow: Mon 23 Nov 2026 23:59 UTC; this attempt ends at 00:29 UTC\nnode: a"), nil); err != nil {
		t.Errorf("another time of day: %v", err)
	}
	other := asked("goal:\nmend the price\nthe end", "and then")
	other.System = "You are a plumber."
	most := asked("hello")
	most.MaxTokens = 101
	for _, tt := range []struct {
		name string
		q    *model.Request
		says []string
	}{
		{"a word", asked("goal:\nmend the tax of 0123456789ab\nthe end", "and then"), []string{"messages[0]: request 1 of", "+ mend the tax of #"}},
		{"a message more", asked("hello", "more"), []string{"messages[1]: request 1 of the recording (shop-1-x1-a1)", "+ more"}},
		{"the rules", other, []string{"system: ", "- You are a poet.", "+ You are a plumber."}},
		{"the length", most, []string{"max_tokens: ", "- 100", "+ 101"}},
	} {
		_, err := play(t, file).Ask(context.Background(), tt.q, nil)
		if fault.Code(err) != "replay/departed" {
			t.Errorf("%s: %v, want replay/departed", tt.name, err)
			continue
		}
		for _, s := range tt.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v\nwant %q in it", tt.name, err, s)
			}
		}
	}
	p := play(t, record(t, func(*recording.Writer) {}))
	if _, err := p.Ask(context.Background(), asked("hello"), nil); fault.Code(err) != "replay/ended" {
		t.Errorf("after the end: %v", err)
	}
}

func TestSEC02_SecretsAreNotRecorded(t *testing.T) {
	hidden := base64.StdEncoding.EncodeToString([]byte(secret))
	file := record(t, func(w *recording.Writer) {
		w.Turn(&recording.Turn{Attempt: "a1", Role: "poet", Prompt: "the key is " + secret})
		w.Ask("a1", asker, asked("the key is "+secret+", abc"), answered("is it "+hidden+"?"), nil)
		w.Step(&recording.Step{Attempt: "a1", Output: "KEY=" + secret})
	})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(data); strings.Contains(s, secret) || strings.Contains(s, hidden) || !strings.Contains(s, "[redacted OPENAI_API_KEY], abc") {
		t.Errorf("the recording holds\n%s", s)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := play(t, file).Ask(context.Background(), asked("the key is "+secret+", abc"), nil); err != nil {
		t.Errorf("a request with the secret in it is not known again: %v", err)
	}
}

func TestAGENT02_WhatIsNoRecording(t *testing.T) {
	head := `{"format":"` + recording.Format + `"}`
	for _, tt := range []struct{ text, code string }{
		{"", "replay/invalid"},
		{"hello\n", "replay/invalid"},
		{`{"format":"loom recording 2"}`, "replay/invalid"},
		{head, ""},
		{head + "\n{\"ask\":{}}\n{\"as", ""}, // cut off
		{head + "\n{\"as\n{}\n", "replay/invalid"},
	} {
		if _, err := recording.Read(strings.NewReader(tt.text), nil); fault.Code(err) != tt.code {
			t.Errorf("Read(%q): %v, want %q", tt.text, err, tt.code)
		}
	}
	file := record(t, func(*recording.Writer) {})
	if _, err := recording.Create(file, recording.Header{}, nil); fault.Code(err) != "usage/argument" {
		t.Errorf("over a file that is there: %v", err)
	}
}

func FuzzF36_Read(f *testing.F) {
	f.Add(`{"format":"` + recording.Format + `"}` + "\n" + `{"ask":{"messages":["a"]}}` + "\n" + `{"step":{"attempt":"a","call":{}}}`)
	f.Fuzz(func(_ *testing.T, text string) {
		if r, err := recording.Read(strings.NewReader(text), nil); err == nil {
			_, _ = r.Provider().Ask(context.Background(), asked("x"), nil)
		}
	})
}
