// Package openai asks models through the chat completions protocol, at OpenAI
// or at any server that speaks it: Ollama, vLLM, llama.cpp, OpenRouter and
// many others. It translates; waiting, trying again and checking are those of
// package wire.
package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/sashabaranov/go-openai"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/wire"
)

// Origin is OpenAI's own address.
const Origin = "https://api.openai.com/v1"

// New returns the model that s names.
func New(s wire.Server) model.Provider {
	s.Provider = "openai"
	p := &provider{Line: wire.NewLine(s)}
	p.gateway.at(s.Base)
	return p
}

type provider struct {
	*wire.Line
	gateway gateway
}

// Ask is documented at [model.Provider].
func (p *provider) Ask(ctx context.Context, r *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	if err := p.CanThink(r.Thinking); err != nil {
		return nil, err
	}
	request := p.request(r)
	return p.Line.Ask(ctx, r, onChunk, func(ctx context.Context, c *wire.Call) error {
		config := sdk.DefaultConfig(p.Server().Key)
		config.BaseURL, config.HTTPClient = p.Server().Base, c
		if p.Server().CacheMarks {
			config.HTTPClient = marker{c, &p.gateway}
		}
		stream, err := sdk.NewClientWithConfig(config).CreateChatCompletionStream(ctx, request)
		if err != nil {
			return beforehand(c, err)
		}
		defer stream.Close()
		return read(c, stream)
	})
}

// beforehand tells the call of a request that the client itself refuses to
// send, because the protocol cannot ask this model so.
func beforehand(c *wire.Call, err error) error {
	for _, limit := range []error{
		sdk.ErrChatCompletionInvalidModel, sdk.ErrReasoningModelMaxTokensDeprecated, sdk.ErrReasoningEffortUnsupported,
	} {
		if errors.Is(err, limit) {
			return c.Refuse("invalid_request_error", err.Error())
		}
	}
	if errors.Is(err, sdk.ErrReasoningToolsRequireResponses) {
		return c.Refuse("invalid_request_error", err.Error()+"; without reasoning it can be asked here: thinking.effort none in the role's file, where the model takes that")
	}
	return err
}

func read(c *wire.Call, stream *sdk.ChatCompletionStream) error {
	s := state{call: c}
	for {
		data, err := stream.RecvRaw()
		if errors.Is(err, io.EOF) {
			return s.end()
		}
		if api, ok := errors.AsType[*sdk.APIError](err); ok {
			return c.Refuse(kind(api), api.Message)
		}
		var c chunk
		if err == nil {
			err = json.Unmarshal(data, &c)
		}
		if err != nil {
			return err
		}
		s.chunk(c)
	}
}

func kind(e *sdk.APIError) string {
	if code, ok := e.Code.(string); ok && code != "" {
		return code
	}
	if e.Code == 429 {
		return "rate_limit_exceeded"
	}
	return e.Type
}

func (p *provider) request(r *model.Request) sdk.ChatCompletionRequest {
	request := sdk.ChatCompletionRequest{
		Model: p.Server().Model, Messages: messages(r),
		StreamOptions: &sdk.StreamOptions{IncludeUsage: true}, ReasoningEffort: r.Thinking.Effort,
	}
	p.bound(&request, r.MaxTokens)
	for _, t := range r.Tools {
		request.Tools = append(request.Tools, sdk.Tool{
			Type:     sdk.ToolTypeFunction,
			Function: &sdk.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Arguments()},
		})
	}
	return request
}

// defaultTokens bounds an answer that the request does not bound.
const defaultTokens = 8192

// bound sets the answer's length under the name that the server knows: OpenAI
// has given up the old one for good, and its reasoning models never took it, at
// any address; other servers know no other.
func (p *provider) bound(request *sdk.ChatCompletionRequest, tokens int) {
	if tokens <= 0 {
		tokens = defaultTokens
	}
	request.MaxTokens = tokens //nolint:staticcheck // the only name that other servers know
	if p.Server().Official || refusesMaxTokens(*request) {
		request.MaxTokens, request.MaxCompletionTokens = 0, tokens //nolint:staticcheck // see above
	}
}

// refusesMaxTokens reports whether the client would not even send a request with
// the old name, as its own list of reasoning models has it.
func refusesMaxTokens(request sdk.ChatCompletionRequest) bool {
	return errors.Is(sdk.NewReasoningValidator().Validate(request), sdk.ErrReasoningModelMaxTokensDeprecated)
}

// CanThink is documented at [model.Thinker]. The protocol has no budget, so tokens
// are room alone. OpenAI's own models without reasoning refuse an effort; which
// words any other knows is known to its server.
func (p *provider) CanThink(t model.Thinking) error {
	if p.Server().Official && strings.HasPrefix(p.Server().Model, "gpt-4") {
		return t.Takes(p.Name())
	}
	return t.Takes(p.Name(), model.Efforts...)
}

func messages(r *model.Request) []sdk.ChatCompletionMessage {
	var out []sdk.ChatCompletionMessage
	if r.System != "" {
		out = append(out, sdk.ChatCompletionMessage{Role: sdk.ChatMessageRoleSystem, Content: r.System})
	}
	for i, m := range r.Messages {
		out = append(out, message(m))
		if m.Role == model.RoleTool && (i+1 == len(r.Messages) || r.Messages[i+1].Role != model.RoleTool) {
			out = append(out, pictures(r.Messages[:i+1])...)
		}
	}
	return out
}

// pictures shows what the tool messages at the end of a conversation have in one
// of the user's: the protocol's tool messages are text alone, and all of them come
// before anything else.
func pictures(messages []model.Message) []sdk.ChatCompletionMessage {
	var parts []sdk.ChatMessagePart
	for i := len(messages) - 1; i >= 0 && messages[i].Role == model.RoleTool; i-- {
		if p := messages[i].Picture; p != nil {
			parts = append([]sdk.ChatMessagePart{
				{Type: sdk.ChatMessagePartTypeText, Text: "The picture that call " + messages[i].Call + " read:"},
				{Type: sdk.ChatMessagePartTypeImageURL, ImageURL: &sdk.ChatMessageImageURL{
					URL: "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data),
				}},
			}, parts...)
		}
	}
	if parts == nil {
		return nil
	}
	return []sdk.ChatCompletionMessage{{Role: sdk.ChatMessageRoleUser, MultiContent: parts}}
}

func message(m model.Message) sdk.ChatCompletionMessage {
	out := sdk.ChatCompletionMessage{Role: string(m.Role), Content: m.Text}
	if m.Role == model.RoleTool {
		out.ToolCallID = m.Call
		out.Content = toolText(m)
	}
	for _, c := range m.Calls {
		out.ToolCalls = append(out.ToolCalls, sdk.ToolCall{
			ID: c.Id, Type: sdk.ToolTypeFunction,
			Function: sdk.FunctionCall{Name: c.Tool, Arguments: c.Arguments},
		})
	}
	return out
}

// toolText says in words what the protocol has no field for.
func toolText(m model.Message) string {
	switch {
	case m.Failed:
		return fmt.Sprintf("error: %s", m.Text)
	case m.Text == "":
		return "(no output)"
	}
	return m.Text
}
