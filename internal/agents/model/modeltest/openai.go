package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// OpenAI starts a server of the chat completions protocol that stops with the
// test. It refuses what real ones refuse: tool results that answer no call,
// calls that are never answered, and the old bound of an answer for a model that
// reasons.
func OpenAI(t testing.TB, script Script) *Server {
	return serve(t, protocol{
		path: "/v1/chat/completions", parse: parseOpenAI, events: openaiEvents,
		broken: "data: {\"error\":{\"message\":\"The server is overloaded\",\"type\":\"server_error\",\"code\":null}}\n\n",
	}, "/v1", script)
}

type openaiRequest struct {
	Model         string          `json:"model"`
	MaxTokens     int             `json:"max_tokens"`
	MaxCompletion int             `json:"max_completion_tokens"`
	Messages      []openaiMessage `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type openaiMessage struct {
	Role       string        `json:"role"`
	Content    openaiContent `json:"content"`
	ToolCallID string        `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// openaiContent is a text, or parts of text and pictures.
type openaiContent struct {
	text     string
	pictures []*model.Picture
}

func (c *openaiContent) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		if p.Type != "image_url" {
			continue
		}
		media, text, ok := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";base64,")
		bytes, err := base64.StdEncoding.DecodeString(text)
		if !ok || err != nil {
			return fmt.Errorf("image_url %.40q is no data of a picture", p.ImageURL.URL)
		}
		c.pictures = append(c.pictures, model.NewPicture(media, 0, 0, bytes))
	}
	return nil
}

// reasons matches the models that take max_completion_tokens alone.
var reasons = regexp.MustCompile(`^(o\d|gpt-5)`)

func parseOpenAI(r *http.Request) (*model.Request, error) {
	var in openaiRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	if !in.Stream || !in.StreamOptions.IncludeUsage || in.Model == "" {
		return nil, fmt.Errorf("model, stream and stream_options.include_usage are required")
	}
	if reasons.MatchString(in.Model) && in.MaxTokens != 0 {
		return nil, fmt.Errorf("unsupported parameter: 'max_tokens' is not supported with this model; use 'max_completion_tokens' instead")
	}
	out := &model.Request{MaxTokens: max(in.MaxTokens, in.MaxCompletion)}
	for _, t := range in.Tools {
		f := t.Function
		out.Tools = append(out.Tools, model.ToolSpec{Name: f.Name, Description: f.Description, Schema: f.Parameters})
	}
	open := map[string]bool{}
	for i, m := range in.Messages {
		if m.Role == "system" {
			out.System += m.Content.text
			continue
		}
		if err := answered(m, open); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
		out.Messages = append(out.Messages, fromOpenAI(m))
	}
	return out, nil
}

// answered keeps in open the calls that have no result yet.
func answered(m openaiMessage, open map[string]bool) error {
	if m.Role != "tool" {
		if len(open) > 0 {
			return fmt.Errorf("%d tool calls are not answered", len(open))
		}
		for _, c := range m.ToolCalls {
			open[c.ID] = true
		}
		return nil
	}
	if !open[m.ToolCallID] {
		return fmt.Errorf("tool_call_id %q answers no call", m.ToolCallID)
	}
	delete(open, m.ToolCallID)
	return nil
}

func fromOpenAI(m openaiMessage) model.Message {
	out := model.Message{Role: model.Role(m.Role), Text: m.Content.text, Call: m.ToolCallID}
	for _, p := range m.Content.pictures {
		out.Picture = p // tests show one at a time
	}
	for _, c := range m.ToolCalls {
		out.Calls = append(out.Calls, &loomv1.ToolCall{Id: c.ID, Tool: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return out
}

// openaiEvents returns the chunks of a whole answer and its end.
func openaiEvents(r *model.Request, reply Reply) []string {
	var out []string
	chunk := func(delta, finish string) {
		out = append(out, fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-fake\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}],\"usage\":null}\n\n", delta, finish))
	}
	chunk(`{"role":"assistant","content":""}`, "null")
	for _, d := range deltas(reply.Text, `{"content":%s}`) {
		chunk(d, "null")
	}
	for i, c := range reply.Calls {
		chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, quote(c.Id), quote(c.Tool)), "null")
		for _, d := range deltas(c.Arguments, `{"arguments":%s}`) {
			chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":%s}]}`, i, d), "null")
		}
	}
	chunk(`{}`, quote(openaiStop(reply)))
	u := reported(r, reply)
	prompt, details := u.Input+u.CacheWrite+u.CacheRead, fmt.Sprintf(`"cached_tokens":%d`, u.CacheRead)
	if u.CacheWrite > 0 { // only gateways have it
		details += fmt.Sprintf(`,"cache_write_tokens":%d`, u.CacheWrite)
	}
	out = append(out, fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-fake\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"total_tokens\":%d,\"prompt_tokens_details\":{%s}}}\n\n",
		prompt, u.Output, prompt+u.Output, details))
	return append(out, "data: [DONE]\n\n")
}

func openaiStop(reply Reply) string {
	switch {
	case reply.Stop == model.StopLength:
		return "length"
	case reply.Stop == "refusal":
		return "content_filter"
	case len(reply.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}
