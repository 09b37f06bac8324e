package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func ask(text string) *model.Request {
	return &model.Request{
		System:   "s",
		Messages: []model.Message{{Role: model.RoleUser, Text: text}, {Role: model.RoleAssistant, Calls: []*loomv1.ToolCall{{Id: "a", Tool: "shell", Arguments: `{"command":"ls","n":1.50}`}}}, {Role: model.RoleTool, Call: "a", Text: "x"}},
		Tools:    []model.ToolSpec{{Name: "shell", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}},
	}
}

// The digest is part of recordings and journals: it must not move.
func ExampleRequest_Digest() {
	a, b := ask("hello"), ask("hello")
	b.Messages[1].Calls[0].Arguments = ` {"n": 1.50, "command": "ls"}`
	b.ID = "another"
	fmt.Println(a.Digest())
	fmt.Println(a.Digest() == b.Digest(), a.Digest() == ask("hello!").Digest())
	// Output:
	// c06763f0858a52d33817471365123c88df26e61f0ad01deede7c04af2501a88d
	// true false
}

// Everything that a model would see counts.
func TestAGENT02_DigestSeesEveryField(t *testing.T) {
	seen := map[string]string{ask("hello").Digest(): "nothing"}
	for name, change := range map[string]func(*model.Request){
		"system":      func(r *model.Request) { r.System = "t" },
		"text":        func(r *model.Request) { r.Messages[0].Text = "" },
		"role":        func(r *model.Request) { r.Messages[0].Role = model.RoleAssistant },
		"call id":     func(r *model.Request) { r.Messages[1].Calls[0].Id = "b" },
		"call tool":   func(r *model.Request) { r.Messages[1].Calls[0].Tool = "b" },
		"arguments":   func(r *model.Request) { r.Messages[1].Calls[0].Arguments = `{"n":1.5}` },
		"bad JSON":    func(r *model.Request) { r.Messages[1].Calls[0].Arguments = `{"n":` },
		"two values":  func(r *model.Request) { r.Messages[1].Calls[0].Arguments = `{} {}` },
		"answers":     func(r *model.Request) { r.Messages[2].Call = "b" },
		"failed":      func(r *model.Request) { r.Messages[2].Failed = true },
		"tool":        func(r *model.Request) { r.Tools[0].Name = "b" },
		"description": func(r *model.Request) { r.Tools[0].Description = "b" },
		"schema":      func(r *model.Request) { r.Tools[0].Schema = json.RawMessage(`{}`) },
		"max tokens":  func(r *model.Request) { r.MaxTokens = 1 },
		"order":       func(r *model.Request) { r.Messages = append(r.Messages[2:], r.Messages[:2]...) },
	} {
		r := ask("hello")
		change(r)
		if other, ok := seen[r.Digest()]; ok {
			t.Errorf("changing %s gives the digest of changing %s", name, other)
		}
		seen[r.Digest()] = name
	}
}

func TestF17_CleanIDs(t *testing.T) {
	for _, tt := range []struct{ id, want string }{
		{"b", "b"},
		{"a", "a-2"}, // used in the conversation
		{"", "call-2"},
		{"with space", "call-2"},
		{strings.Repeat("x", 65), "call-2"},
	} {
		r := &model.Response{Calls: []*loomv1.ToolCall{{Id: tt.id, Tool: "shell"}}}
		got, err := model.Clean(ask(""), r)
		if err != nil || got.Calls[0].Id != tt.want || got.Calls[0].Arguments != "{}" || got.Stop != model.StopTools {
			t.Errorf("Clean of a call %q: %v, %v, want id %q", tt.id, got, err, tt.want)
		}
	}
	two := &model.Response{Calls: []*loomv1.ToolCall{{Tool: "shell"}, {Tool: "shell"}}}
	if got, err := model.Clean(ask(""), two); err != nil || got.Calls[0].Id == got.Calls[1].Id {
		t.Errorf("Clean of two calls without ids: %v, %v, want two ids", got, err)
	}
	if _, err := model.Clean(ask(""), &model.Response{Calls: []*loomv1.ToolCall{nil}}); fault.Code(err) != "model/invalid-output" {
		t.Errorf("Clean of a call that is nothing: %v, want model/invalid-output", err)
	}
}

// TestREAL06_ARefusedAnswerIsKeptForWhoIsToldWhy has its text and its calls, and says
// which call is at fault; of an answer that was cut off the calls are set aside.
func TestREAL06_ARefusedAnswerIsKeptForWhoIsToldWhy(t *testing.T) {
	calls := func() []*loomv1.ToolCall {
		return []*loomv1.ToolCall{{Tool: "shell", Arguments: `{"command":"ls"}`}, {Tool: "file_read", Arguments: "{\"path\": \xff"}}
	}
	_, err := model.Clean(ask(""), &model.Response{Text: "I look.\x00", Calls: calls()})
	err = model.Spent(err, &loomv1.Usage{InputTokens: 7})
	got := model.Rejected(err)
	if fault.Code(err) != "model/invalid-output" || !strings.Contains(err.Error(), "calls file_read in call 2 of 2 with arguments") || model.UsageOf(err).InputTokens != 7 {
		t.Errorf("it is refused with %v", err)
	}
	if got == nil || got.Text != "I look.\uFFFD" || len(got.Calls) != 2 || got.Calls[0].Arguments != `{"command":"ls"}` || got.Calls[1].Arguments != "{\"path\": \uFFFD" {
		t.Errorf("what is kept is %+v", got)
	}
	if model.Rejected(fault.New("model/timeout", "x")) != nil {
		t.Error("an answer is kept of an error that is about none")
	}
	cut, err := model.Clean(ask(""), &model.Response{Text: "I look", Stop: model.StopLength, Calls: calls()})
	if err != nil || cut.Text != "I look" || len(cut.Calls) != 0 || len(cut.Cut) != 2 || cut.Cut[1].Tool != "file_read" {
		t.Errorf("of an answer that was cut off %+v is kept, %v", cut, err)
	}
	if again, err := model.Clean(ask(""), cut); err != nil || len(again.Cut) != 2 {
		t.Errorf("cleaned again it is %+v, %v", again, err)
	}
}

// What passes Clean is sound, and passes again unchanged.
func TestF17_CleanIsSoundAndStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "shell", "{}", `{"k": [1, "\u0000"]}`, "\xff", "\x00"}))
		r := &model.Response{Text: word.Draw(t, "text")}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			r.Calls = append(r.Calls, &loomv1.ToolCall{Id: word.Draw(t, "id"), Tool: word.Draw(t, "tool"), Arguments: word.Draw(t, "arguments")})
		}
		got, err := model.Clean(ask(""), r)
		if err != nil {
			if fault.Code(err) != "model/invalid-output" {
				t.Fatalf("Clean: %v, want model/invalid-output", err)
			}
			return
		}
		if !utf8.ValidString(got.Text) || strings.ContainsRune(got.Text, 0) || got.Usage == nil {
			t.Fatalf("Clean left %+v", got)
		}
		before := fmt.Sprint(got.Text, got.Calls)
		ids := map[string]bool{"a": true}
		for _, c := range got.Calls {
			var object map[string]any
			if err := json.Unmarshal([]byte(c.Arguments), &object); err != nil || ids[c.Id] {
				t.Fatalf("Clean left the call %v: %v", c, err)
			}
			ids[c.Id] = true
		}
		again, err := model.Clean(ask(""), got)
		if err != nil || fmt.Sprint(again.Text, again.Calls) != before {
			t.Fatalf("Clean twice: %v, %v, want %s", again, err, before)
		}
	})
}

func TestF14_RetryAt(t *testing.T) {
	at := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	err := model.RateLimited("anthropic:m", at, "slow down")
	if got, ok := model.RetryAt(fmt.Errorf("turn: %w", model.Spent(err, nil))); !ok || !got.Equal(at) {
		t.Errorf("RetryAt = %v, %t, want %v", got, ok, at)
	}
	if want := "anthropic:m: over its rate limit until 2026-01-02T12:00:00Z: slow down"; err.Error() != want || fault.From(err).Proto().Message != want {
		t.Errorf("text %q, want %q", err, want)
	}
	if _, ok := model.RetryAt(errors.New("other")); ok {
		t.Error("RetryAt of another error names a time")
	}
}

func TestF15_UsageOf(t *testing.T) {
	err := fmt.Errorf("turn: %w", model.Spent(errors.New("broke"), &loomv1.Usage{InputTokens: 7}))
	if u := model.UsageOf(err); u.InputTokens != 7 || u.CostKnown || err.Error() != "turn: broke" {
		t.Errorf("UsageOf(%v) = %v, want 7 tokens and no known cost", err, u)
	}
	if u := model.UsageOf(errors.New("other")); u.InputTokens != 0 || !u.CostKnown {
		t.Errorf("UsageOf of an error before anything was sent = %v, want nothing, known", u)
	}
}
