package anthropic

import (
	"encoding/json"
	"errors"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/wire"
)

// state reads the events of one stream.
type state struct {
	call      *wire.Call
	tokens    price.Tokens
	stop      sdk.StopReason
	whole     bool // message_stop came
	reasoning []*thought
}

// thought is a block of signed reasoning, kept as the protocol wants it back.
type thought struct {
	index     int64
	Type      string `json:"type"`
	Thinking  string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

func (s *state) event(e sdk.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		s.call.Answering(e.Message.Model)
		u := e.Message.Usage
		s.count(u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens)
	case "content_block_start":
		s.begin(e)
	case "content_block_delta":
		s.delta(e)
	case "message_delta":
		s.stop = e.Delta.StopReason
		u := e.Usage
		s.count(u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens, u.OutputTokens)
	case "message_stop":
		s.whole = true
	}
}

// count takes a report of tokens. Reports are totals, so the larger holds; a
// later one may leave out what an earlier one had.
func (s *state) count(input, write, read, output int64) {
	raise(&s.tokens.Input, input)
	raise(&s.tokens.CacheWrite, write)
	raise(&s.tokens.CacheRead, read)
	raise(&s.tokens.Output, output)
	s.call.Tokens(s.tokens)
}

func raise(total *uint64, n int64) {
	if n > 0 {
		*total = max(*total, uint64(n))
	}
}

func (s *state) begin(e sdk.MessageStreamEventUnion) {
	b := e.ContentBlock
	switch b.Type {
	case "text":
		s.call.Text(b.Text)
	case "tool_use":
		s.call.Tool(e.Index, b.ID, b.Name)
		if input, err := json.Marshal(b.Input); err == nil && string(input) != "{}" && string(input) != "null" {
			s.call.Arguments(e.Index, string(input)) // some servers give all at once
		}
	case "thinking", "redacted_thinking":
		s.reasoning = append(s.reasoning, &thought{e.Index, b.Type, b.Thinking, b.Signature, b.Data})
	}
}

func (s *state) delta(e sdk.MessageStreamEventUnion) {
	switch e.Delta.Type {
	case "text_delta":
		s.call.Text(e.Delta.Text)
	case "input_json_delta":
		s.call.Arguments(e.Index, e.Delta.PartialJSON)
	case "thinking_delta", "signature_delta":
		for _, t := range s.reasoning {
			if t.index == e.Index {
				t.Thinking += e.Delta.Thinking
				t.Signature += e.Delta.Signature
			}
		}
	}
}

// end tells the call how the stream ended: whole, with the server's error, or
// with one of ours.
func (s *state) end(err error) error {
	if api, ok := errors.AsType[*sdk.Error](err); ok {
		return s.call.Refuse(explain(api))
	}
	if err != nil || !s.whole {
		return err
	}
	if s.stop == sdk.StopReasonRefusal {
		return s.call.Refuse("content_filter", "the model declined to answer")
	}
	if opaque, err := json.Marshal(s.reasoning); err == nil && len(s.reasoning) > 0 {
		s.call.Opaque(opaque)
	}
	s.call.Stop(reason(s.stop))
	return nil
}

func explain(e *sdk.Error) (kind, message string) {
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(e.RawJSON()), &said) != nil {
		said.Error.Message = e.RawJSON()
	}
	return string(e.Type()), said.Error.Message
}

func reason(r sdk.StopReason) model.Stop {
	switch r {
	case sdk.StopReasonMaxTokens, "model_context_window_exceeded":
		return model.StopLength
	case sdk.StopReasonToolUse:
		return model.StopTools
	}
	return model.StopEnd
}

// reasoning gives back the blocks of an earlier answer. What is not ours is
// left out.
func (p *provider) reasoning(opaque []byte) []sdk.ContentBlockParamUnion {
	var thoughts []thought
	if json.Unmarshal(opaque, &thoughts) != nil {
		return nil
	}
	var out []sdk.ContentBlockParamUnion
	for _, t := range thoughts {
		switch t.Type {
		case "thinking":
			out = append(out, sdk.NewThinkingBlock(t.Signature, t.Thinking))
		case "redacted_thinking":
			out = append(out, sdk.NewRedactedThinkingBlock(t.Data))
		}
	}
	return out
}
