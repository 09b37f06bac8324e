package provider_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/agents/model/wire"
	"github.com/loomrun/loom/internal/base/fault"
)

// says answers every request with one stream, without a network.
type says string

func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body:   io.NopCloser(strings.NewReader(string(s))),
	}, nil
}

// seeds are whole streams and broken ones, for all protocols.
var seeds = []string{
	"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"shell\",\"input\":{}}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":4}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":-7,\"content_block\":{\"type\":\"thinking\"}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
	"event: error\ndata: {\"type\":\"error\",\"error\":null}\n\n",
	"event: error\ndata: nonsense\n\n",
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\u0000b\",\"tool_calls\":[{\"index\":9,\"id\":\"x\",\"function\":{\"name\":\"shell\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n" +
		"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":9223372036854775807}}\n\ndata: [DONE]\n\n",
	"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"{\"}},{}]},\"finish_reason\":\"stop\"}]}\n\n",
	"data: {\"error\":{\"message\":7,\"code\":[1]}}\n\n",
	"data: {\"error\":\"text\"}\n\n",
	"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"shell\",\"args\":[]}},{\"thought\":true,\"text\":\"hm\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":-1}}\r\n\r\n",
	"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n",
	"data: {\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"details\":[{\"retryDelay\":\"-1s\"},{\"reason\":7}]}}\n\n",
	"data: null\n\ndata: []\n\n: comment\n\n\n\n",
	"{\"error\":{}}\n\xff\xfe\x00\n",
}

// Whatever a server streams, the answer is sound or an error with a code.
func FuzzF17_Stream(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	env := func(k string) string {
		return map[string]string{"ANTHROPIC_API_KEY": key, "GOOGLE_API_KEY": key, "OPENAI_API_KEY": key}[k]
	}
	limits := wire.Limits{Tries: 1, Total: 5 * time.Second}
	f.Fuzz(func(t *testing.T, stream string) {
		for _, p := range protocols {
			p, err := provider.Config{Env: env, Limits: limits, Client: &http.Client{Transport: says(stream)}}.Open(p.spec)
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Ask(context.Background(), conversation(), nil)
			if err != nil {
				if !strings.HasPrefix(fault.Code(err), "model/") || strings.Contains(err.Error(), key) {
					t.Errorf("%s: error %v has no code of a model", p.Name(), err)
				}
				continue
			}
			sound(t, r)
		}
	})
}

func sound(t *testing.T, r *model.Response) {
	t.Helper()
	if !utf8.ValidString(r.Text) || strings.ContainsRune(r.Text, 0) {
		t.Errorf("text %q is not sound", r.Text)
	}
	ids := map[string]bool{"a1": true, "a2": true} // of the conversation
	for _, c := range r.Calls {
		var object map[string]any
		if err := json.Unmarshal([]byte(c.Arguments), &object); err != nil || c.Tool == "" || ids[c.Id] {
			t.Errorf("call %v is not sound: %v", c, err)
		}
		ids[c.Id] = true
	}
}
