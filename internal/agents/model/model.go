// Package model is what an agent and a language model say to each other: a
// request, an answer, and the small interface that every provider has.
//
// It promises that an answer which leaves it is sound: valid UTF-8 without
// NUL, tool calls with unique ids and a JSON object each, within its limits.
// It never sends anything itself; the providers in its subpackages do, and
// package provider opens them by name.
package model

import (
	"context"
	"encoding/json"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Role says who speaks a message.
type Role string

// The roles of a conversation. The system text is no message.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one message of a conversation.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`

	// Calls are the tools that an assistant message asks for.
	Calls []*loomv1.ToolCall `json:"-"`

	// Call is the id of the tool call that a tool message answers.
	Call string `json:"call,omitempty"`

	// Failed marks a tool message whose call did not do what was asked.
	Failed bool `json:"failed,omitempty"`

	// Picture is shown with a tool message's text; nil for none. Only a model
	// that takes pictures is given one, see [TakesPictures].
	Picture *Picture `json:"picture,omitempty"`

	// Opaque is what the answer's provider wants back with an assistant
	// message, see [Response]. Another provider ignores it.
	Opaque []byte `json:"-"`

	// By is the name of the provider that Opaque is from.
	By string `json:"-"`
}

// ToolSpec offers a tool to a model.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`

	// Schema is the JSON Schema of the arguments: an object schema. Empty
	// means any object.
	Schema json.RawMessage `json:"schema"`

	// Behind are the tools that are called through this one, see [Use]. Its
	// description tells of them; they are not sent.
	Behind []ToolSpec `json:"-"`
}

// Arguments returns the schema to send: never an empty one.
func (t ToolSpec) Arguments() json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return t.Schema
}

// Request is all that a model sees for one answer.
type Request struct {
	// System is the text above the conversation; it may be empty.
	System string

	// Messages is the conversation; the first is a user message.
	Messages []Message

	// Tools may be called in the answer, in this order.
	Tools []ToolSpec

	// MaxTokens bounds the answer, reasoning included. Zero means 8192.
	MaxTokens int

	// Thinking says how the model is to reason.
	Thinking Thinking

	// ID names this request to the server, the same on every try. It is no
	// part of the digest. Empty means one derived from the digest.
	ID string
}

// Stop says why an answer ended.
type Stop string

// The ways an answer ends.
const (
	StopEnd    Stop = "end"    // it said all
	StopTools  Stop = "tools"  // it wants the tools in Calls
	StopLength Stop = "length" // it was cut at MaxTokens; it has no calls
)

// Response is one whole answer.
type Response struct {
	Text  string
	Calls []*loomv1.ToolCall

	// Cut are the calls of an answer that was cut off. Nobody acts on them, and the
	// last one is not whole.
	Cut []*loomv1.ToolCall

	// Usage is the larger of what the server reported and what the answer
	// must at least have used. It includes tries that broke off; their price
	// is not known, so CostKnown is false then.
	Usage *loomv1.Usage

	Stop Stop

	// Model is the model that answered, as the server names it.
	Model string

	// By is the name of the provider that answered and Scripted what it says
	// of itself, where several stand behind one; By is empty elsewhere.
	By       string
	Scripted bool

	// Opaque, when set, belongs into the Opaque of the message that repeats
	// this answer: signed reasoning that the provider checks. Losing it, as a
	// continuation on another host may, costs the model its reasoning only.
	Opaque []byte
}

// Message returns the answer as a message of the conversation.
func (r *Response) Message() Message {
	return Message{Role: RoleAssistant, Text: r.Text, Calls: r.Calls, Opaque: r.Opaque, By: r.By}
}

// Chunk is a piece of an answer as it streams in, for people who watch.
type Chunk struct {
	// Text is the next piece of the text.
	Text string

	// Tool is the name of a tool whose call has just begun.
	Tool string

	// Discard says that the stream broke and everything before is void; the
	// answer begins again.
	Discard bool
}

// Provider answers requests. It is safe for concurrent use.
type Provider interface {
	// Name is "PROVIDER:MODEL", for example "anthropic:claude-opus-4-6".
	Name() string

	// Scripted says that no language model answers.
	Scripted() bool

	// Ask returns the whole answer, and hands its pieces to onChunk, which
	// may be nil, on the calling goroutine. It blocks until the answer is
	// there, ctx ends, or the provider gives up; whatever came in before an
	// error is void. It keeps no reference to the request.
	//
	// Errors: the context's own; model/rate-limited, for which [RetryAt]
	// says when to ask again; model/unavailable and model/timeout, which may
	// pass; model/key-refused,
	// model/no-credit and model/unknown, which the operator can mend, see [Remedy];
	// model/refused and model/no-thinking, which will not pass; and
	// model/invalid-output for an answer that nobody can act on.
	Ask(ctx context.Context, r *Request, onChunk func(Chunk)) (*Response, error)
}
