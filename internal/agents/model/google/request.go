package google

import (
	"encoding/json"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// request is what the protocol's method generateContent takes, as
// ai.google.dev/api/generate-content describes it.
type request struct {
	System     *content   `json:"systemInstruction,omitempty"`
	Contents   []content  `json:"contents"`
	Tools      []tools    `json:"tools,omitempty"`
	Generation generation `json:"generationConfig"`
}

type generation struct {
	MaxTokens int       `json:"maxOutputTokens"`
	Thinking  *thinking `json:"thinkingConfig,omitempty"`
}

// thinking is a level since Gemini 3, and a budget before.
type thinking struct {
	Level  string `json:"thinkingLevel,omitempty"`
	Budget int    `json:"thinkingBudget,omitempty"`
}

type tools struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is one piece of a message: one of its first four fields is set.
type part struct {
	Inline   *inline   `json:"inlineData,omitempty"`
	Text     string    `json:"text,omitempty"`
	Call     *call     `json:"functionCall,omitempty"`
	Response *response `json:"functionResponse,omitempty"`

	Thought   bool   `json:"thought,omitempty"`          // a summary of reasoning, no part of the answer
	Signature string `json:"thoughtSignature,omitempty"` // sealed reasoning that belongs to this part
}

// inline is a picture, its bytes in base64.
type inline struct {
	MediaType string `json:"mimeType"`
	Data      []byte `json:"data"`
}

type call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type response struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
}

// defaultTokens bounds an answer that the request does not bound.
const defaultTokens = 8192

func (p *provider) request(r *model.Request) request {
	out := request{Contents: p.contents(r.Messages), Generation: generation{MaxTokens: r.MaxTokens}}
	if r.MaxTokens <= 0 {
		out.Generation.MaxTokens = defaultTokens
	}
	out.Generation.Thinking = p.thinking(r.Thinking)
	if r.System != "" {
		out.System = &content{Parts: []part{{Text: r.System}}}
	}
	if len(r.Tools) > 0 {
		out.Tools = []tools{{}}
	}
	for _, t := range r.Tools {
		out.Tools[0].Functions = append(out.Tools[0].Functions, function{t.Name, t.Description, t.Arguments()})
	}
	return out
}

func (p *provider) thinking(t model.Thinking) *thinking {
	switch {
	case t.Effort != "":
		return &thinking{Level: t.Effort}
	case t.Tokens > 0 && p.budgets():
		return &thinking{Budget: t.Tokens}
	}
	return nil
}

// CanThink is documented at [model.Thinker].
func (p *provider) CanThink(t model.Thinking) error {
	if p.strict() {
		return t.Takes(p.Name(), "minimal", "low", "medium", "high")
	}
	return t.Takes(p.Name())
}

// budgets reports whether the model takes a number of tokens for reasoning.
func (p *provider) budgets() bool { return strings.HasPrefix(p.Server().Model, "gemini-2.5") }

// contents translates the conversation. Results of one answer's tools stand in
// one message, as the protocol wants, each with its tool's name.
func (p *provider) contents(messages []model.Message) []content {
	var out []content
	names := map[string]string{} // of tools, by the ids of their calls
	for i, m := range messages {
		switch {
		case m.Role == model.RoleAssistant:
			out = append(out, content{Role: "model", Parts: p.answer(m, names)})
		case m.Role != model.RoleTool:
			out = append(out, content{Role: "user", Parts: []part{{Text: m.Text}}})
		case i > 0 && messages[i-1].Role == model.RoleTool:
			last := &out[len(out)-1]
			last.Parts = append(last.Parts, results(m, names[m.Call])...)
		default:
			out = append(out, content{Role: "user", Parts: results(m, names[m.Call])})
		}
	}
	return out
}

// answer repeats what the model said, each part with the signature that came
// with it.
func (p *provider) answer(m model.Message, names map[string]string) []part {
	signed := signatures(m.Opaque)
	var out []part
	if m.Text != "" {
		out = append(out, part{Text: m.Text, Signature: signed[onText]})
	}
	for i, c := range m.Calls {
		names[c.Id] = c.Tool
		out = append(out, part{Call: repeated(c), Signature: signed[onCall(i)]})
	}
	if len(m.Calls) > 0 && len(signed) == 0 && p.strict() {
		out[len(out)-len(m.Calls)].Signature = unsigned
	}
	return out
}

func repeated(c *loomv1.ToolCall) *call {
	return &call{ID: c.Id, Name: c.Tool, Args: json.RawMessage(c.Arguments)}
}

// unsigned is what the protocol takes in place of the signature of a call that
// this model did not make, or whose signature is lost.
const unsigned = "context_engineering_is_the_way_to_go"

// strict reports whether the model refuses calls without a signature: all since
// Gemini 3 do.
func (p *provider) strict() bool {
	for _, before := range []string{"gemini-1", "gemini-2"} {
		if strings.HasPrefix(p.Server().Model, before) {
			return false
		}
	}
	return strings.HasPrefix(p.Server().Model, "gemini-")
}

// results is what came of a call, and the picture that it read.
func results(m model.Message, tool string) []part {
	out := []part{result(m, tool)}
	if p := m.Picture; p != nil {
		out = append(out, part{Inline: &inline{p.MediaType, p.Data}})
	}
	return out
}

func result(m model.Message, tool string) part {
	key := "output"
	if m.Failed {
		key = "error"
	}
	return part{Response: &response{ID: m.Call, Name: tool, Response: map[string]any{key: m.Text}}}
}
