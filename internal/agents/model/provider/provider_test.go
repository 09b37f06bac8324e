package provider_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const key = "sk-test-0123456789abcdef"

// quick are limits under which a test of waiting takes milliseconds.
var quick = wire.Limits{Idle: 150 * time.Millisecond, First: 5 * time.Second, Total: 20 * time.Second, Patience: 4 * time.Millisecond}

// protocolCase is a kind of server that the same tests run against.
type protocolCase struct {
	name, spec, prefix string
	start              func(testing.TB, modeltest.Script) *modeltest.Server
}

var protocols = []protocolCase{
	{"anthropic", "anthropic:claude-test", "ANTHROPIC", modeltest.Anthropic},
	{"google", "google:gemini-3-test", "GOOGLE", modeltest.Google},
	{"openai", "openai:gpt-test", "OPENAI", modeltest.OpenAI},
}

// each runs a test against each protocol: a server that answers by the script
// that make gives, and a provider that asks it.
func each(t *testing.T, id string, limits wire.Limits, script func() modeltest.Script, run func(*testing.T, *modeltest.Server, model.Provider)) {
	for _, p := range protocols {
		t.Run(id+" "+p.name, func(t *testing.T) {
			s := p.start(t, script())
			run(t, s, open(t, p.spec, limits, map[string]string{p.prefix + "_BASE_URL": s.URL, p.prefix + "_API_KEY": key}))
		})
	}
}

func open(t *testing.T, spec string, limits wire.Limits, env map[string]string) model.Provider {
	t.Helper()
	p, err := provider.Config{Env: func(k string) string { return env[k] }, Limits: limits}.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func replies(r ...modeltest.Reply) func() modeltest.Script {
	return func() modeltest.Script { return modeltest.Sequence(r...) }
}

// conversation is a request with everything in it.
func conversation() *model.Request {
	return &model.Request{
		System: "You are careful.",
		Messages: []model.Message{
			{Role: model.RoleUser, Text: "Mend it."},
			{Role: model.RoleAssistant, Text: "I look.", Calls: []*loomv1.ToolCall{
				modeltest.Call("a1", "shell", `{"command":"go test ./..."}`), modeltest.Call("a2", "file_read", `{"path":"x.go"}`),
			}},
			{Role: model.RoleTool, Call: "a1", Text: "FAIL"},
			{Role: model.RoleTool, Call: "a2", Text: "package x"},
		},
		Tools: []model.ToolSpec{
			{Name: "shell", Description: "Runs a command.", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
		},
		MaxTokens: 1000,
	}
}

func TestAGENT02_WholeConversation(t *testing.T) {
	reply := modeltest.Reply{
		Text:  "Ünïcode and \"quotes\" \n and more",
		Calls: []*loomv1.ToolCall{modeltest.Call("b1", "file_edit", `{"old":"a\tb","new":"c"}`), modeltest.Call("b2", "shell", `{}`)},
	}
	each(t, "AGENT02", quick, replies(reply), func(t *testing.T, s *modeltest.Server, p model.Provider) {
		var streamed strings.Builder
		var tools []string
		got, err := p.Ask(context.Background(), conversation(), func(c model.Chunk) {
			streamed.WriteString(c.Text)
			if c.Tool != "" {
				tools = append(tools, c.Tool)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != reply.Text || streamed.String() != reply.Text || got.Stop != model.StopTools || p.Scripted() {
			t.Errorf("answer %+v, streamed %q, want %q", got, streamed.String(), reply.Text)
		}
		if diff := cmp.Diff(reply.Calls, got.Calls, protocmp.Transform()); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"file_edit", "shell"}, tools); diff != "" {
			t.Errorf("tools as they began (-want +got):\n%s", diff)
		}
		if got.Usage.InputTokens == 0 || got.Usage.OutputTokens == 0 || got.Usage.CostKnown {
			t.Errorf("usage %v, want tokens, and no price for a model that is not in the table", got.Usage)
		}
		asked := s.Asked()[0]
		want := conversation()
		if diff := cmp.Diff(want, asked, protocmp.Transform()); diff != "" {
			t.Errorf("what the server was asked (-want +got):\n%s", diff)
		}
	})
}

// What a provider answered must be sound in the next request, too.
func TestAGENT02_AnswerGoesOn(t *testing.T) {
	script := replies(
		modeltest.Reply{Thinking: "hm", Signature: "signed", Calls: []*loomv1.ToolCall{modeltest.Call("call_0", "shell", `{}`)}},
		modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call("call_0", "shell", `{}`)}},
		modeltest.Reply{Text: "done"},
	)
	each(t, "AGENT02", quick, script, func(t *testing.T, s *modeltest.Server, p model.Provider) {
		r := conversation()
		for {
			answer, err := p.Ask(context.Background(), r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Calls) == 0 {
				break
			}
			r.Messages = append(r.Messages, answer.Message(), model.Message{Role: model.RoleTool, Call: answer.Calls[0].Id, Failed: true})
		}
		first, second := r.Messages[4].Calls[0].Id, r.Messages[6].Calls[0].Id
		if first != "call_0" || second == first {
			t.Errorf("ids %q and %q, want call_0 and another one", first, second)
		}
		last := s.Asked()[2]
		if len(last.Messages) != len(r.Messages) {
			t.Errorf("the last request has %d messages, want %d", len(last.Messages), len(r.Messages))
		}
		if opaque := string(last.Messages[4].Opaque); !strings.HasPrefix(p.Name(), "openai") && opaque != "signed" {
			t.Errorf("signature that came back = %q, want %q", opaque, "signed")
		}
	})
}

// atHome sends requests for the provider's own address to a test server.
type atHome struct{ url *url.URL }

func (a atHome) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = a.url.Scheme, a.url.Host
	return http.DefaultTransport.RoundTrip(r)
}

func TestAGENT02_ListPricesHoldAtAnyAddress(t *testing.T) {
	reported := &modeltest.Reported{Input: 1000, CacheRead: 10_000, Output: 100}
	reply := modeltest.Reply{Text: "yes", Reported: reported}
	for _, tt := range []struct {
		spec  string
		start func(testing.TB, modeltest.Script) *modeltest.Server
		cost  uint64
		known bool
	}{
		// 1000 at 3 dollars a million, 10,000 at 0.30, 100 at 15.
		{"anthropic:claude-sonnet-4-5-20250929", modeltest.Anthropic, 3000 + 3000 + 1500, true},
		// 1000 at 1.25, 10,000 at 0.125, 100 at 10.
		{"openai:gpt-5-2025-08-07", modeltest.OpenAI, 1250 + 1250 + 1000, true},
		// 1000 at 0.30, 10,000 at 0.03, 100 at 2.50.
		{"google:gemini-2.5-flash", modeltest.Google, 300 + 300 + 250, true},
		{"anthropic:claude-of-tomorrow", modeltest.Anthropic, 0, false},
	} {
		t.Run("AGENT02 "+tt.spec, func(t *testing.T) {
			s := tt.start(t, modeltest.Sequence(reply))
			keys := map[string]string{"ANTHROPIC_API_KEY": key, "GOOGLE_API_KEY": key, "OPENAI_API_KEY": key}
			gateway := maps.Clone(keys)
			for _, p := range protocols {
				gateway[p.prefix+"_BASE_URL"] = s.URL
			}
			for name, env := range map[string]map[string]string{"its own": keys, "a gateway": gateway} {
				got, err := openAt(t, s, tt.spec, env).Ask(context.Background(), conversation(), nil)
				if err != nil {
					t.Fatal(err)
				}
				want := &loomv1.Usage{InputTokens: 11_000, CacheReadTokens: 10_000, OutputTokens: 100, CostMicroUsd: tt.cost, CostKnown: tt.known}
				if diff := cmp.Diff(want, got.Usage, protocmp.Transform()); diff != "" {
					t.Errorf("usage at %s address (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// A model that takes the newer bound of an answer alone is asked with it at any
// address, and another server is asked with the one that it knows.
func TestAGENT02_TheBoundOfAnAnswerHasTheNameThatTheModelTakes(t *testing.T) {
	const old, current = `"max_tokens":1000`, `"max_completion_tokens":1000`
	for _, tt := range []struct {
		name, spec string
		own        bool // at the provider's own address
		sent       string
	}{
		{"its own address", "openai:gpt-5", true, current},
		{"a gateway", "openai:gpt-5", false, current},
		{"a gateway, dated", "openai:gpt-5-mini-2025-08-07", false, current},
		{"a gateway, o4", "openai:o4-mini", false, current},
		{"its own address, gpt-4o", "openai:gpt-4o", true, current},
		{"a gateway, gpt-4o", "openai:gpt-4o", false, old},
		{"a server of one's own", "openai:llama3:8b", false, old},
	} {
		t.Run("AGENT02 "+tt.name, func(t *testing.T) {
			s := modeltest.OpenAI(t, modeltest.Sequence(modeltest.Reply{Text: "yes"}))
			env := map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": s.URL}
			if tt.own {
				delete(env, "OPENAI_BASE_URL")
			}
			p := openAt(t, s, tt.spec, env)
			if _, err := p.Ask(context.Background(), conversation(), nil); err != nil {
				t.Fatal(err)
			}
			body := s.Bodies()[0]
			if not := map[string]string{old: current, current: old}[tt.sent]; !strings.Contains(body, tt.sent) || strings.Contains(body, not) {
				t.Errorf("sent %s, want %s in it and no %s", body, tt.sent, not)
			}
		})
	}
}

// openAt opens a model whose requests all go to s, whatever address it was given.
func openAt(t *testing.T, s *modeltest.Server, spec string, env map[string]string) model.Provider {
	t.Helper()
	p, err := provider.Config{Env: func(k string) string { return env[k] }, Limits: quick, Client: toward(t, s)}.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// toward returns a client that reaches s at whatever address it is given.
func toward(t *testing.T, s *modeltest.Server) *http.Client {
	t.Helper()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: atHome{at}}
}

// An answer that nobody can act on has its price all the same.
func TestF17_InvalidOutputIsPaidFor(t *testing.T) {
	reply := modeltest.Reply{Calls: []*loomv1.ToolCall{modeltest.Call("a", "shell", "{")}, Reported: &modeltest.Reported{Input: 1000, Output: 100}}
	s := modeltest.Anthropic(t, modeltest.Sequence(reply))
	p := openAt(t, s, "anthropic:claude-haiku-4-5", map[string]string{"ANTHROPIC_API_KEY": key})
	_, err := p.Ask(context.Background(), conversation(), nil)
	want := &loomv1.Usage{InputTokens: 1000, OutputTokens: 100, CostMicroUsd: 1500, CostKnown: true}
	if diff := cmp.Diff(want, model.UsageOf(err), protocmp.Transform()); diff != "" || fault.Code(err) != "model/invalid-output" {
		t.Errorf("%v; usage (-want +got):\n%s", err, diff)
	}
}

func TestAGENT02_Open(t *testing.T) {
	for _, tt := range []struct {
		spec, env string
		code      string
		says      string
	}{
		{"scripted", "", "", ""},
		{"scripted:demo", "", "", ""},
		{"anthropic:claude-opus-4-6", "ANTHROPIC_API_KEY=k", "", ""},
		{"openai:llama3:8b", "OPENAI_BASE_URL=http://127.0.0.1:11434/v1", "", ""},
		{"openai:llama3:8b", "OPENAI_BASE_URL=http://[::1]:8080/v1/", "", ""},
		{"openai:llama3:8b", "OPENAI_BASE_URL=http://localhost:8080", "", ""},
		{"anthropic:claude-opus-4-6", "", "model/no-key", "ANTHROPIC_API_KEY"},
		{"openai:gpt-5", "ANTHROPIC_API_KEY=k", "model/no-key", "OPENAI_API_KEY"},
		{"openai:gpt-5", "OPENAI_BASE_URL=http://127.0.0.1.example.org/v1", "model/no-key", "OPENAI_API_KEY"},
		{"openai:gpt-5", "OPENAI_API_KEY=a b", "model/no-key", "OPENAI_API_KEY"},
		{"openai:gpt-5", "OPENAI_BASE_URL=127.0.0.1:11434", "usage/argument", "OPENAI_BASE_URL"},
		{"openai:gpt-5", "OPENAI_BASE_URL=https://u:secret@example.org", "usage/argument", "OPENAI_BASE_URL"},
		{"google:gemini-2.5-pro", "GOOGLE_API_KEY=k", "", ""},
		{"google:gemini-2.5-pro", "OPENAI_API_KEY=k", "model/no-key", "GOOGLE_API_KEY"},
		{"openai:", "OPENAI_API_KEY=k", "model/unknown", "openai:MODEL"},
		{"openai:a b", "OPENAI_API_KEY=k", "model/unknown", "openai:MODEL"},
		{"", "", "model/unknown", "scripted:demo"},
		{"gemini:pro", "", "model/unknown", "scripted:demo"},
		{"scripted:dmeo", "", "model/unknown", "scripted:demo"},
		{"scripted:no/such.yaml", "", "model/unknown", "no/such.yaml"},
	} {
		name, value, _ := strings.Cut(tt.env, "=")
		p, err := provider.Open(tt.spec, func(k string) string {
			if k == name {
				return value
			}
			return ""
		})
		if fault.Code(err) != tt.code || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Open(%q) with %q: %v, want %s that says %q", tt.spec, tt.env, err, tt.code, tt.says)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) with %q tells the secret: %v", tt.spec, tt.env, err)
		}
		if err == nil && tt.spec != "scripted" && p.Name() != tt.spec {
			t.Errorf("Open(%q) is named %q", tt.spec, p.Name())
		}
	}
}
