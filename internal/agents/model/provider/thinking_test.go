package provider_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/base/fault"
)

// reasoning is a request as far as it says how to reason, in any protocol.
type reasoning struct {
	Thinking any `json:"thinking"`
	Output   any `json:"output_config"`
	Effort   any `json:"reasoning_effort"`
	Config   struct {
		Thinking any `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

// Each model is told how to reason in the form that it takes; one that is known to
// refuse it is not asked.
func TestAGENT02_ModelsAreToldHowToReason(t *testing.T) {
	type object = map[string]any
	form := func(kind string, more ...any) reasoning {
		r := object{"type": kind}
		for i := 0; i < len(more); i += 2 {
			r[more[i].(string)] = more[i+1]
		}
		return reasoning{Thinking: r}
	}
	level := func(key string, v any) (r reasoning) { r.Config.Thinking = object{key: v}; return r }
	high, room := model.Thinking{Effort: "high"}, model.Thinking{Tokens: 4096}
	with := func(r reasoning, effort string) reasoning { r.Output = object{"effort": effort}; return r }
	for _, tt := range []struct {
		spec    string
		ask     model.Thinking
		want    reasoning
		refused bool
	}{
		{"anthropic:claude-opus-4-8", model.Thinking{}, reasoning{}, false},
		{"anthropic:claude-opus-4-8", high, with(form("adaptive"), "high"), false},
		{"anthropic:claude-sonnet-5", room, form("adaptive"), false},
		{"anthropic:anthropic/claude-opus-4.6", high, with(form("adaptive"), "high"), false},
		{"anthropic:claude-sonnet-4-5-20250929", room, form("enabled", "budget_tokens", 4096.0), false},
		{"anthropic:claude-3-7-sonnet-20250219", room, form("enabled", "budget_tokens", 4096.0), false},
		{"anthropic:claude-sonnet-4-20250514", high, reasoning{}, true},
		{"anthropic:claude-sonnet-4-5", high, reasoning{}, true},
		{"anthropic:claude-sonnet-4-5", model.Thinking{Tokens: 512}, reasoning{}, true},
		{"anthropic:claude-opus-4-5", high, with(reasoning{}, "high"), false},
		{"anthropic:claude-opus-4-6", model.Thinking{Effort: "minimal"}, reasoning{}, true},
		{"anthropic:another-maker", room, form("enabled", "budget_tokens", 4096.0), false},
		{"openai:gpt-5", high, reasoning{Effort: "high"}, false},
		{"openai:gpt-5", room, reasoning{}, false},
		{"openai:gpt-6-sol", model.Thinking{Effort: "none"}, reasoning{Effort: "none"}, false},
		{"google:gemini-3-pro", high, level("thinkingLevel", "high"), false},
		{"google:gemini-3-pro", model.Thinking{Effort: "max"}, reasoning{}, true},
		{"google:gemini-2.5-pro", room, level("thinkingBudget", 4096.0), false},
		{"google:gemini-2.5-pro", high, reasoning{}, true},
	} {
		t.Run("AGENT02 "+tt.spec+" "+tt.ask.Effort, func(t *testing.T) {
			p := protocols[slices.IndexFunc(protocols, func(p protocolCase) bool { return p.name+":" == tt.spec[:len(p.name)+1] })]
			s := p.start(t, modeltest.Sequence(modeltest.Reply{Text: "yes"}))
			q := conversation()
			q.Thinking = tt.ask
			_, err := open(t, tt.spec, quick, map[string]string{p.prefix + "_BASE_URL": s.URL, p.prefix + "_API_KEY": key}).Ask(context.Background(), q, nil)
			if tt.refused {
				if fault.Code(err) != "model/no-thinking" || len(s.Bodies()) > 0 {
					t.Fatalf("the error is %v after %d requests, want model/no-thinking and none", err, len(s.Bodies()))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got reasoning
			if err := json.Unmarshal([]byte(s.Bodies()[0]), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("what was sent is another (-want +got):\n%s", diff)
			}
		})
	}
}

// A chain reasons as it is told only where each of its models does.
func TestAGENT02_EachOfAChainReasons(t *testing.T) {
	env := map[string]string{"ANTHROPIC_API_KEY": key, "GOOGLE_API_KEY": key}
	p := open(t, "anthropic:claude-opus-4-8,google:gemini-2.5-pro", quick, env)
	if err := model.CanThink(p, model.Thinking{Effort: "high"}); fault.Code(err) != "model/no-thinking" {
		t.Errorf("an effort gives %v, want model/no-thinking", err)
	}
	if err := model.CanThink(p, model.Thinking{Tokens: 2048}); err != nil {
		t.Errorf("tokens give %v", err)
	}
}
