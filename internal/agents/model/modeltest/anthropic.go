package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Anthropic starts a server of Anthropic's Messages API that stops with the
// test. It refuses what the real one refuses: no max_tokens, an empty text
// block, results that answer no call, a conversation that does not alternate.
func Anthropic(t testing.TB, script Script) *Server {
	return serve(t, protocol{
		path: "/v1/messages", parse: parseAnthropic, events: anthropicEvents,
		broken: event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
	}, "", script)
}

func event(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }

func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSpace(b.String())
}

type anthropicRequest struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Stream    bool   `json:"stream"`
	System    []struct {
		Text string `json:"text"`
	} `json:"system"`
	Messages []struct {
		Role    string           `json:"role"`
		Content []anthropicBlock `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	OutputConfig struct {
		Effort string `json:"effort"`
	} `json:"output_config"`
	Thinking struct {
		BudgetTokens int `json:"budget_tokens"`
	} `json:"thinking"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Content   []struct {
		Text   string `json:"text"`
		Source struct {
			Type      string `json:"type"`
			MediaType string `json:"media_type"`
			Data      []byte `json:"data"`
		} `json:"source"`
	} `json:"content"`
}

func parseAnthropic(r *http.Request) (*model.Request, error) {
	var in anthropicRequest
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	if in.MaxTokens <= 0 || !in.Stream || in.Model == "" {
		return nil, fmt.Errorf("model, max_tokens and stream are required")
	}
	out := &model.Request{MaxTokens: in.MaxTokens, Thinking: model.Thinking{Effort: in.OutputConfig.Effort, Tokens: in.Thinking.BudgetTokens}}
	for _, s := range in.System {
		out.System += s.Text
	}
	for _, t := range in.Tools {
		out.Tools = append(out.Tools, model.ToolSpec{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	open := map[string]bool{}
	for i, m := range in.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return nil, fmt.Errorf("messages.%d: role is %s, want %s", i, m.Role, want)
		}
		messages, err := anthropicMessages(m.Role, m.Content, open)
		if err != nil {
			return nil, fmt.Errorf("messages.%d: %w", i, err)
		}
		out.Messages = append(out.Messages, messages...)
	}
	return out, nil
}

// anthropicMessages takes apart what the protocol puts into one message. open
// holds the calls that have no result yet.
func anthropicMessages(role string, blocks []anthropicBlock, open map[string]bool) ([]model.Message, error) {
	said := model.Message{Role: model.Role(role)}
	var out []model.Message
	for _, b := range blocks {
		switch b.Type {
		case "text":
			if b.Text == "" {
				return nil, fmt.Errorf("text content blocks must be non-empty")
			}
			said.Text += b.Text
		case "tool_use":
			open[b.ID] = true
			said.Calls = append(said.Calls, &loomv1.ToolCall{Id: b.ID, Tool: b.Name, Arguments: string(b.Input)})
		case "tool_result":
			if !open[b.ToolUseID] {
				return nil, fmt.Errorf("tool_result %q answers no tool_use", b.ToolUseID)
			}
			delete(open, b.ToolUseID)
			out = append(out, toolMessage(b))
		case "thinking":
			if b.Signature == "" {
				return nil, fmt.Errorf("thinking without signature")
			}
			said.Opaque = append(said.Opaque, b.Signature...)
		default:
			return nil, fmt.Errorf("unexpected block %q", b.Type)
		}
	}
	if role == "user" && len(open) > 0 {
		return nil, fmt.Errorf("%d tool_use blocks without tool_result", len(open))
	}
	if said.Text != "" || len(said.Calls) > 0 {
		out = append(out, said)
	}
	return out, nil
}

func toolMessage(b anthropicBlock) model.Message {
	m := model.Message{Role: model.RoleTool, Call: b.ToolUseID, Failed: b.IsError}
	for _, c := range b.Content {
		m.Text += c.Text
		if c.Source.Type == "base64" {
			m.Picture = model.NewPicture(c.Source.MediaType, 0, 0, c.Source.Data)
		}
	}
	return m
}

// anthropicEvents returns the events of a whole answer.
func anthropicEvents(r *model.Request, reply Reply) []string {
	u := reported(r, reply)
	out := []string{
		event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-fake","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}}`, u.Input, u.CacheWrite, u.CacheRead)),
		event("ping", `{"type":"ping"}`),
	}
	index := 0
	block := func(start string, deltas ...string) {
		out = append(out, event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)))
		for _, d := range deltas {
			out = append(out, event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)))
		}
		out = append(out, event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)))
		index++
	}
	if reply.Thinking != "" {
		block(`{"type":"thinking","thinking":"","signature":""}`,
			`{"type":"thinking_delta","thinking":`+quote(reply.Thinking)+`}`,
			`{"type":"signature_delta","signature":`+quote(reply.Signature)+`}`)
	}
	if reply.Text != "" {
		block(`{"type":"text","text":""}`, deltas(reply.Text, `{"type":"text_delta","text":%s}`)...)
	}
	for _, c := range reply.Calls {
		start := fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(c.Id), quote(c.Tool))
		block(start, deltas(c.Arguments, `{"type":"input_json_delta","partial_json":%s}`)...)
	}
	return append(out,
		event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`, quote(anthropicStop(reply)), u.Output)),
		event("message_stop", `{"type":"message_stop"}`))
}

func anthropicStop(reply Reply) string {
	switch {
	case reply.Stop == model.StopLength:
		return "max_tokens"
	case reply.Stop == "refusal":
		return "refusal"
	case len(reply.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

// deltas cuts s into pieces as a model's tokens come: somewhere.
func deltas(s, format string) []string {
	const piece = 1 << 12
	var out []string
	for len(s) > 0 {
		n := min(len(s), max(7, min(piece, len(s)/3)))
		for n < len(s) && s[n]&0xC0 == 0x80 {
			n++
		}
		out = append(out, fmt.Sprintf(format, quote(s[:n])))
		s = s[n:]
	}
	return out
}

// reported is what the server says it counted.
func reported(r *model.Request, reply Reply) Reported {
	if reply.Reported != nil {
		return *reply.Reported
	}
	said := model.Response{Text: reply.Text, Calls: reply.Calls}
	return Reported{Input: int64(r.Size()/4 + 1), Output: int64(said.Size()/4 + 1)}
}
