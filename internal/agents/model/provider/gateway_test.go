package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/modeltest"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/provider"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	system       = `{"content":"You are careful.","role":"system"}`
	markedSystem = `{"content":[{"cache_control":{"type":"ephemeral"},"text":"You are careful.","type":"text"}],"role":"system"}`

	asked       = `{"content":"Mend it.","role":"user"}`
	looks       = `{"content":"I look.","role":"assistant",`
	markedLooks = `{"content":[{"cache_control":{"type":"ephemeral"},"text":"I look.","type":"text"}],"role":"assistant",`

	calls = `"tool_calls":[` +
		`{"function":{"arguments":"{\"command\":\"go test ./...\"}","name":"shell"},"id":"a1","type":"function"},` +
		`{"function":{"arguments":"{\"path\":\"x.go\"}","name":"file_read"},"id":"a2","type":"function"}]},` +
		`{"content":"FAIL","role":"tool","tool_call_id":"a1"}`
	// A conversation without its system message, and marked as each gateway takes it.
	plain    = asked + "," + looks + calls + "," + result
	anywhere = asked + "," + markedLooks + calls + "," + result
	onPart   = asked + "," + looks + calls + "," + `{"content":[{"cache_control":{"type":"ephemeral"},"text":"package x","type":"text"}],"role":"tool","tool_call_id":"a2"}`
	onField  = asked + "," + looks + calls + "," + `{"cache_control":{"type":"ephemeral"},"content":"package x","role":"tool","tool_call_id":"a2"}`

	result = `{"content":"package x","role":"tool","tool_call_id":"a2"}`
)

// asks opens a model behind OpenAI's protocol and asks it so often; at is its address,
// empty for that of the server.
func asks(t *testing.T, s *modeltest.Server, at, name string, said provider.Marks, times int) []provider.Terms {
	t.Helper()
	env := map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": s.URL}
	c := provider.Config{Env: func(k string) string { return env[k] }, Limits: quick, CacheMarks: said}
	if at != "" {
		env["OPENAI_BASE_URL"], c.Client = at, toward(t, s)
	}
	p, err := c.Open("openai:" + name)
	if err != nil {
		t.Fatal(err)
	}
	for range times {
		if _, err := p.Ask(context.Background(), conversation(), nil); err != nil {
			t.Fatal(err)
		}
	}
	terms, err := c.Terms("openai:" + name)
	if err != nil {
		t.Fatal(err)
	}
	return terms
}

// sentMessages returns the messages of a request, as JSON with sorted names.
func sentMessages(t *testing.T, body string) string {
	t.Helper()
	var sent struct{ Messages any }
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(sent.Messages)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// A Claude behind a gateway of OpenAI's protocol is sent the marks of its own. Who is
// not known to take them is sent them where the configuration says so; OpenAI itself
// is not.
func TestAGENT02_CacheMarksBehindAGateway(t *testing.T) {
	const itself = "https://api.openai.com/v1"
	for _, tt := range []struct {
		model, at string
		said      provider.Marks
		want      bool
	}{
		{"anthropic/claude-sonnet-4.5", "", provider.MarksWhereKnown, true},
		{"claude-sonnet-4-5", "", provider.MarksWhereKnown, true},
		{"bedrock/us.anthropic.claude-sonnet-4-5-v1:0", "", provider.MarksWhereKnown, true},
		{"anthropic/claude-sonnet-4.5", "", provider.MarksNever, false},
		{"team-large", "", provider.MarksWhereKnown, false},
		{"team-large", "", provider.MarksAlways, true},
		{"not-a-claudette", "", provider.MarksWhereKnown, false},
		{"gpt-4.1", itself, provider.MarksAlways, false},
		{"claude-sonnet-4-5", itself, provider.MarksAlways, false},
	} {
		t.Run(fmt.Sprintf("AGENT02 %s at %q, said %d", tt.model, tt.at, tt.said), func(t *testing.T) {
			s := modeltest.OpenAI(t, modeltest.Sequence(modeltest.Reply{Text: "yes"}))
			terms := asks(t, s, tt.at, tt.model, tt.said, 1)
			want := "[" + system + "," + plain + "]"
			if tt.want {
				want = "[" + markedSystem + "," + anywhere + "]"
			}
			if diff := cmp.Diff(want, sentMessages(t, s.Bodies()[0])); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if n := strings.Count(s.Bodies()[0], "cache_control"); tt.want != (n == 2) || !tt.want && n != 0 || terms[0].CacheMarks != tt.want {
				t.Errorf("%d marks in %s; Terms: %+v", n, s.Bodies()[0], terms)
			}
		})
	}
}

// Each gateway takes the mark of a tool's message elsewhere, and answers the wrong
// place with an error or not at all. Where it is not known, none is put there.
func TestAGENT02_CacheMarksOfResults(t *testing.T) {
	litellm := map[string]string{"x-litellm-version": "1.80.0"}
	for _, tt := range []struct {
		name, at string
		headers  map[string]string
		want     []string // of the first request and of the second
	}{
		{"any", "", nil, []string{anywhere, anywhere}},
		{"OpenRouter", "https://openrouter.ai/v1", nil, []string{onPart, onPart}},
		{"a look-alike", "https://notopenrouter.ai/v1", nil, []string{anywhere, anywhere}},
		{"LiteLLM", "", litellm, []string{anywhere, onField}},
	} {
		t.Run("AGENT02 "+tt.name, func(t *testing.T) {
			s := modeltest.OpenAI(t, modeltest.Sequence(modeltest.Reply{Text: "yes", Headers: tt.headers}))
			asks(t, s, tt.at, "anthropic/claude-sonnet-4.5", provider.MarksWhereKnown, len(tt.want))
			for i, want := range tt.want {
				if diff := cmp.Diff("["+markedSystem+","+want+"]", sentMessages(t, s.Bodies()[i])); diff != "" {
					t.Errorf("request %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// A mark stands on text, also where the last message has a picture behind it.
func TestAGENT02_CacheMarksBeforeAPicture(t *testing.T) {
	s := modeltest.OpenAI(t, modeltest.Sequence(modeltest.Reply{Text: "yes"}))
	env := map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": s.URL}
	p, err := provider.Config{Env: func(k string) string { return env[k] }, Limits: quick}.Open("openai:anthropic/claude-sonnet-4.5")
	if err != nil {
		t.Fatal(err)
	}
	if !model.TakesPictures(p) || model.WindowOf(p) != 200_000 {
		t.Errorf("takes pictures %t, window %d; want what Claude takes", model.TakesPictures(p), model.WindowOf(p))
	}
	q := conversation()
	q.Messages[3].Picture = model.NewPicture("image/png", 2, 2, []byte("bytes"))
	if _, err := p.Ask(t.Context(), q, nil); err != nil {
		t.Fatal(err)
	}
	want := result + `,{"content":[{"cache_control":{"type":"ephemeral"},"text":"The picture that call a2 read:","type":"text"},` +
		`{"image_url":{"url":"data:image/png;base64,Ynl0ZXM="},"type":"image_url"}],"role":"user"}]`
	if got := sentMessages(t, s.Bodies()[0]); !strings.HasSuffix(got, want) {
		t.Errorf("sent %s\nwant it to end with %s", got, want)
	}
}

// What a gateway's model has written to its cache is counted and priced, in whatever
// form the gateway says it.
func TestAGENT02_GatewaysCountWhatIsWrittenToACache(t *testing.T) {
	prices, err := price.Parse("prices.yaml", []byte(`prices: {"openai:anthropic/claude-sonnet-4.5": {like: "anthropic:claude-sonnet-4-5"}}`))
	if err != nil {
		t.Fatal(err)
	}
	written := &loomv1.Usage{InputTokens: 11_100, CacheReadTokens: 10_000, CacheWriteTokens: 1_000, OutputTokens: 100, CostMicroUsd: 300 + 3_750 + 3_000 + 1_500, CostKnown: true}
	for _, tt := range []struct {
		name, usage string
		want        *loomv1.Usage
	}{
		{"OpenRouter", `{"prompt_tokens":11100,"completion_tokens":100,"total_tokens":11200,"cost":0.00855,"prompt_tokens_details":{"cached_tokens":10000,"cache_write_tokens":1000,"audio_tokens":0}}`, written},
		{"LiteLLM", `{"prompt_tokens":11100,"completion_tokens":100,"total_tokens":11200,"prompt_tokens_details":{"cached_tokens":10000,"cache_creation_tokens":1000},"cache_creation_input_tokens":1000,"cache_read_input_tokens":10000}`, written},
		{"LiteLLM without details", `{"prompt_tokens":11100,"completion_tokens":100,"prompt_tokens_details":null,"cache_creation_input_tokens":1000,"cache_read_input_tokens":10000}`, written},
		{
			"more of the cache than of the prompt", `{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":600,"cache_write_tokens":1000000}}`,
			&loomv1.Usage{InputTokens: 1000, CacheReadTokens: 600, CacheWriteTokens: 400, OutputTokens: 100, CostMicroUsd: 180 + 1_500 + 1_500, CostKnown: true},
		},
		{
			"less than nothing", `{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":-5,"cache_write_tokens":-7}}`,
			&loomv1.Usage{InputTokens: 1000, OutputTokens: 100, CostMicroUsd: 3_000 + 1_500, CostKnown: true},
		},
	} {
		t.Run("AGENT02 "+tt.name, func(t *testing.T) {
			s := modeltest.OpenAI(t, modeltest.Sequence(modeltest.Reply{Raw: `data: {"model":"anthropic/claude-4.5-sonnet","choices":[{"index":0,"delta":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}` + "\n\n" +
				`data: {"choices":[],"usage":` + tt.usage + "}\n\ndata: [DONE]\n\n"}))
			env := map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": s.URL}
			p, err := provider.Config{Env: func(k string) string { return env[k] }, Limits: quick, Prices: prices}.Open("openai:anthropic/claude-sonnet-4.5")
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Ask(t.Context(), conversation(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.Usage, protocmp.Transform()); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			if most := model.MostCost(p, r.Usage.InputTokens, r.Usage.OutputTokens); most < r.Usage.CostMicroUsd {
				t.Errorf("a budget reserves %d micro-dollars for a call that costs %d", most, r.Usage.CostMicroUsd)
			}
		})
	}
}
