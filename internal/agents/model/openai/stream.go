package openai

import (
	sdk "github.com/sashabaranov/go-openai"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/agents/model/wire"
)

// state reads the chunks of one stream.
type state struct {
	call   *wire.Call
	named  bool
	stop   sdk.FinishReason
	last   int64  // index of the tool call that pieces without one belong to
	lastID string // its id
	refuse string // the model's words of refusal
}

// chunk is a piece of the stream, with the counts that the client does not know.
type chunk struct {
	sdk.ChatCompletionStreamResponse
	Usage *usage `json:"usage"`
}

// usage is what the server counted. All tokens of the prompt are in PromptTokens;
// those of the cache have one name at OpenAI, and others at gateways to models whose
// caches are written for a price: OpenRouter's among the details, LiteLLM's in both
// places.
type usage struct {
	PromptTokens             int `json:"prompt_tokens"`
	CompletionTokens         int `json:"completion_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	PromptTokensDetails      struct {
		CachedTokens        int `json:"cached_tokens"`
		CacheWriteTokens    int `json:"cache_write_tokens"`
		CacheCreationTokens int `json:"cache_creation_tokens"`
	} `json:"prompt_tokens_details"`
}

func (s *state) chunk(c chunk) {
	if !s.named && c.Model != "" {
		s.named = true
		s.call.Answering(c.Model)
	}
	if c.Usage != nil {
		s.count(c.Usage)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one answer was asked for
		}
		s.call.Text(choice.Delta.Content)
		s.refuse += choice.Delta.Refusal
		for _, t := range choice.Delta.ToolCalls {
			s.tool(t)
		}
		if choice.FinishReason != "" {
			s.finish(choice.FinishReason)
		}
	}
}

func (s *state) count(u *usage) {
	t := price.Tokens{Input: natural(u.PromptTokens), Output: natural(u.CompletionTokens)}
	d := u.PromptTokensDetails
	t.CacheRead = min(natural(max(d.CachedTokens, u.CacheReadInputTokens)), t.Input)
	t.Input -= t.CacheRead
	t.CacheWrite = min(natural(max(d.CacheWriteTokens, d.CacheCreationTokens, u.CacheCreationInputTokens)), t.Input)
	t.Input -= t.CacheWrite
	s.call.Tokens(t)
}

func natural(n int) uint64 { return uint64(max(n, 0)) }

// tool takes a piece of a tool call. Some servers give no index: then a new
// id begins a new call.
func (s *state) tool(t sdk.ToolCall) {
	switch {
	case t.Index != nil:
		s.last = int64(*t.Index)
	case t.ID != "" && t.ID != s.lastID && s.lastID != "":
		s.last++
	}
	if t.ID != "" {
		s.lastID = t.ID
	}
	s.call.Tool(s.last, t.ID, t.Function.Name)
	s.call.Arguments(s.last, t.Function.Arguments)
}

// finish marks the answer as whole. The count of tokens may still follow.
func (s *state) finish(why sdk.FinishReason) {
	s.stop = why
	if why != sdk.FinishReasonContentFilter && s.refuse == "" {
		s.call.Stop(reason(why))
	}
}

func (s *state) end() error {
	if s.refuse != "" || s.stop == sdk.FinishReasonContentFilter {
		message := s.refuse
		if message == "" {
			message = "a content filter stopped the answer"
		}
		return s.call.Refuse("content_filter", message)
	}
	return nil
}

func reason(r sdk.FinishReason) model.Stop {
	switch r {
	case sdk.FinishReasonLength:
		return model.StopLength
	case sdk.FinishReasonToolCalls, sdk.FinishReasonFunctionCall:
		return model.StopTools
	}
	return model.StopEnd
}
