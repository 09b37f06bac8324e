package provider_test

import (
	"context"
	"errors"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/anthropic"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/openai"
	"github.com/loomrun/loom/internal/agents/model/wire"
)

// TestBYD05_WhatABrokenCallHasUsed: of a call that is broken off it is known whether the
// server was asked, and what it has written at most where it shows all that as it comes.
func TestBYD05_WhatABrokenCallHasUsed(t *testing.T) {
	const text = "half of a long answer"
	half := replies(modeltest.Reply{Text: text, Fail: 4, FailKind: modeltest.Silence, Reported: &modeltest.Reported{Input: 700}})
	thinks := conversation()
	thinks.Thinking = model.Thinking{Tokens: 1024}
	for _, tt := range []struct {
		name  string
		open  func(wire.Server) model.Provider
		serve func(*testing.T) string
		own   bool // the provider's own server
		ask   *model.Request
		known bool
	}{
		{"a server that shows all", anthropic.New, func(t *testing.T) string { return modeltest.Anthropic(t, half()).URL }, true, conversation(), true},
		{"a model that reasons", anthropic.New, func(t *testing.T) string { return modeltest.Anthropic(t, half()).URL }, true, thinks, false},
		{"somebody else's server", anthropic.New, func(t *testing.T) string { return modeltest.Anthropic(t, half()).URL }, false, conversation(), false},
		{"a protocol that hides reasoning", openai.New, func(t *testing.T) string { return modeltest.OpenAI(t, half()).URL }, true, conversation(), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tt.open(wire.Server{Spec: "p:m", Model: "m", Base: tt.serve(t), Official: tt.own})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := p.Ask(ctx, tt.ask, func(model.Chunk) { cancel() })
			cut := model.CutOf(err)
			if !errors.Is(err, context.Canceled) || !cut.Sent || cut.Known != tt.known {
				t.Fatalf("%+v of %v, want it known: %t", cut, err, tt.known)
			}
			if tt.known && (cut.Input != 700 || cut.Output < 1000 || cut.Output > 1000+uint64(len(text))) {
				t.Errorf("%+v, want the prompt as it was counted and what was written", cut)
			}
			if u := model.UsageOf(err); u.InputTokens+u.OutputTokens != 0 {
				t.Errorf("tries before used %v, and there were none", u)
			}
		})
	}
	if cut := model.CutOf(context.Canceled); !cut.Sent || cut.Known {
		t.Errorf("of a provider that says nothing: %+v", cut)
	}
}
