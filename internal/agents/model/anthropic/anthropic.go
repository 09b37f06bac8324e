// Package anthropic asks models through Anthropic's Messages API, at
// Anthropic or at any server that speaks it. It translates; waiting, trying
// again and checking are those of package wire.
package anthropic

import (
	"context"
	"encoding/base64"
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/wire"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Origin is Anthropic's own address.
const Origin = "https://api.anthropic.com"

// New returns the model that s names.
func New(s wire.Server) model.Provider {
	s.Provider = "anthropic"
	return &provider{wire.NewLine(s)}
}

type provider struct{ *wire.Line }

// Ask is documented at [model.Provider].
func (p *provider) Ask(ctx context.Context, r *model.Request, onChunk func(model.Chunk)) (*model.Response, error) {
	if err := p.CanThink(r.Thinking); err != nil {
		return nil, err
	}
	params := p.params(r)
	return p.Line.Ask(ctx, r, onChunk, func(ctx context.Context, c *wire.Call) error {
		if p.Server().Official && r.Thinking == (model.Thinking{}) { // others may hold a call's arguments back
			c.Plain()
		}
		client := p.client(c)
		stream := client.Messages.NewStreaming(ctx, params)
		defer stream.Close()
		s := state{call: c}
		for stream.Next() {
			s.event(stream.Current())
		}
		return s.end(stream.Err())
	})
}

// client returns the SDK's client with nothing of its own: no key from the
// environment, no retries.
func (p *provider) client(c *wire.Call) sdk.Client {
	options := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(p.Server().Base),
		option.WithHTTPClient(c), option.WithMaxRetries(0),
	}
	if p.Server().Key != "" {
		options = append(options, option.WithAPIKey(p.Server().Key))
	}
	return sdk.NewClient(options...)
}

// defaultTokens bounds an answer that the request does not bound.
const defaultTokens = 8192

func (p *provider) params(r *model.Request) sdk.MessageNewParams {
	params := sdk.MessageNewParams{Model: p.Server().Model, MaxTokens: int64(r.MaxTokens), Messages: p.messages(r)}
	if r.MaxTokens <= 0 {
		params.MaxTokens = defaultTokens
	}
	if r.System != "" {
		params.System = []sdk.TextBlockParam{{Text: r.System}}
	}
	for _, t := range r.Tools {
		params.Tools = append(params.Tools, p.tool(t))
	}
	p.think(&params, r.Thinking)
	if p.Server().CacheMarks {
		mark(&params)
	}
	return params
}

// mark tells the server what to keep: up to the end of the system text, which all
// nodes and attempts of a role begin with, and up to the end of the conversation,
// which the next call of a turn repeats. The marks stand on blocks, where every
// server of the protocol knows them.
func mark(params *sdk.MessageNewParams) {
	keep := sdk.NewCacheControlEphemeralParam()
	switch n := len(params.Tools); {
	case len(params.System) > 0:
		params.System[len(params.System)-1].CacheControl = keep
	case n > 0:
		params.Tools[n-1].OfTool.CacheControl = keep
	}
	if n := len(params.Messages); n > 0 {
		content := params.Messages[n-1].Content
		if at := content[len(content)-1].GetCacheControl(); at != nil {
			*at = keep
		}
	}
}

func (p *provider) tool(t model.ToolSpec) sdk.ToolUnionParam {
	tool := sdk.ToolParam{
		Name: t.Name, Description: sdk.String(t.Description),
		InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Arguments()),
	}
	if p.Server().Official {
		tool.EagerInputStreaming = sdk.Bool(true) // else a long argument comes after a long silence
	}
	return sdk.ToolUnionParam{OfTool: &tool}
}

// messages translates the conversation. Results of one answer's tools stand
// in one message, as the protocol wants.
func (p *provider) messages(r *model.Request) []sdk.MessageParam {
	var out []sdk.MessageParam
	for i, m := range r.Messages {
		blocks := p.blocks(m)
		if m.Role == model.RoleTool && i > 0 && r.Messages[i-1].Role == model.RoleTool {
			last := &out[len(out)-1]
			last.Content = append(last.Content, blocks...)
			continue
		}
		if m.Role == model.RoleAssistant {
			out = append(out, sdk.NewAssistantMessage(blocks...))
		} else {
			out = append(out, sdk.NewUserMessage(blocks...))
		}
	}
	return out
}

func (p *provider) blocks(m model.Message) []sdk.ContentBlockParamUnion {
	if m.Role == model.RoleTool {
		return []sdk.ContentBlockParamUnion{result(m)}
	}
	out := p.reasoning(m.Opaque)
	if m.Text != "" {
		out = append(out, sdk.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		out = append(out, use(c))
	}
	return out
}

func use(c *loomv1.ToolCall) sdk.ContentBlockParamUnion {
	return sdk.NewToolUseBlock(c.Id, json.RawMessage(c.Arguments), c.Tool)
}

// result leaves out an empty text, which the protocol refuses.
func result(m model.Message) sdk.ContentBlockParamUnion {
	block := sdk.NewToolResultBlock(m.Call, m.Text, m.Failed)
	if m.Text == "" {
		block.OfToolResult.Content = nil
	}
	if p := m.Picture; p != nil {
		block.OfToolResult.Content = append(block.OfToolResult.Content, sdk.ToolResultBlockParamContentUnion{
			OfImage: sdk.NewImageBlockBase64(p.MediaType, base64.StdEncoding.EncodeToString(p.Data)).OfImage,
		})
	}
	return block
}
