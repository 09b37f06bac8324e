package model

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// UseName is the tool by which a model calls tools whose schemas it is not shown.
const UseName = "use"

// Bounds of what [Use] says of tools, in bytes: of those of the program, and of
// those from outside, whose texts are anybody's.
const (
	maxUse     = 1200
	maxOutside = 1600
)

// maxDeep is how many objects and lists in each other a signature shows.
const maxDeep = 4

const useAbout = "Call a tool below: {\"tool\": NAME, \"arguments\": {...}}. ?: may be left out; no type: text. NAME alone tells what it takes."

// Use returns one tool in the place of several. Its description has a line for
// each: the signature and the first sentence of what it does. Of tools from outside
// that together are too long, the sentences are left out, then the arguments; those
// of the program lose their sentences alone.
func Use(behind []ToolSpec, outside func(name string) bool) ToolSpec {
	var own, others []ToolSpec
	for _, t := range behind {
		if outside(t.Name) {
			others = append(others, t)
		} else {
			own = append(own, t)
		}
	}
	return ToolSpec{
		Name: UseName, Description: useAbout + listing(own, maxUse, described, signed) + listing(others, maxOutside, described, signed, named),
		Schema: json.RawMessage(`{"type":"object","required":["tool"],"properties":{"tool":{"type":"string"},"arguments":{"type":"object"}}}`),
		Behind: slices.Clone(behind),
	}
}

// listing is a line for each tool, in the first of the forms that fits, else in the
// last.
func listing(list []ToolSpec, most int, forms ...func(ToolSpec) string) (text string) {
	for _, form := range forms {
		var b strings.Builder
		for _, t := range list {
			b.WriteString("\n" + form(t))
		}
		if text = b.String(); len(text) <= most {
			break
		}
	}
	return text
}

func named(t ToolSpec) string { return t.Name }

// signed is a tool with its arguments, on one line whatever a server names them.
func signed(t ToolSpec) string {
	return t.Name + "(" + strings.Join(strings.Fields(signature(t.Schema, maxDeep)), " ") + ")"
}

func described(t ToolSpec) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(t.Description), " "), ". ")
	return signed(t) + ": " + strings.TrimSuffix(first, ".")
}

// schemaPart is what a signature says of a JSON Schema.
type schemaPart struct {
	Type       json.RawMessage   `json:"type"`
	Enum       []json.RawMessage `json:"enum"`
	Required   []string          `json:"required"`
	Properties json.RawMessage   `json:"properties"`
	Items      json.RawMessage   `json:"items"`
}

// signature lists the arguments of an object schema in its order, those in objects as
// far as deep goes: "path, limit?: int".
func signature(schema json.RawMessage, deep int) string {
	var s schemaPart
	if json.Unmarshal(schema, &s) != nil {
		return "..."
	}
	var list []string
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	_, _ = d.Token() // the brace
	for d.More() {
		key, err := d.Token()
		name, text := key.(string)
		var property json.RawMessage
		if err != nil || !text || d.Decode(&property) != nil {
			return "..."
		}
		if !slices.Contains(s.Required, name) {
			name += "?"
		}
		if kind := typeOf(property, deep-1); kind != "" {
			name += ": " + kind
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// typeOf is the type of a value in a signature; "" stands for text.
func typeOf(schema json.RawMessage, deep int) string {
	var s schemaPart
	if json.Unmarshal(schema, &s) != nil {
		return "any"
	}
	var kind string
	_ = json.Unmarshal(s.Type, &kind) // several types are "any"
	switch {
	case len(s.Enum) > 0:
		var words []string
		for _, v := range s.Enum {
			var text string
			if json.Unmarshal(v, &text) != nil || string(v) == "null" {
				text = string(v)
			}
			words = append(words, text)
		}
		return strings.Join(words, "|")
	case kind == "string":
		return ""
	case kind == "integer":
		return "int"
	case kind == "boolean":
		return "bool"
	case kind == "array" && deep > 0:
		return "[" + typeOf(s.Items, deep-1) + "]"
	case kind == "object" && len(s.Properties) > 0 && deep > 0:
		return "{" + signature(schema, deep) + "}"
	case kind == "":
		return "any"
	}
	return kind
}

// Wrap returns a call of a tool as the call of [UseName] that it is shown as in the
// conversation.
func Wrap(c *loomv1.ToolCall) *loomv1.ToolCall {
	data, err := written(struct {
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}{c.Tool, json.RawMessage(c.Arguments)})
	if err != nil {
		return c // it was called with what is no JSON, and is shown so
	}
	w := proto.CloneOf(c)
	w.Tool, w.Arguments = UseName, data
	return w
}

// written is JSON with <, > and & as a model writes them: a page of HTML is not made
// longer by what stands for them.
func written(v any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// Unwrap returns the call that a call of [UseName] is about, with the same id.
// Arguments may be an object, an object written as text, or stand beside the name.
// Any other call is returned as it is, and so is one that cannot be read.
func Unwrap(c *loomv1.ToolCall) *loomv1.ToolCall {
	said, name := heard(c)
	if name == "" {
		return c
	}
	var text string
	delete(said, "tool")
	given := said["arguments"]
	arguments := string(given)
	switch {
	case given == nil:
		arguments, _ = written(said) // decoded from JSON
	case json.Unmarshal(given, &text) == nil && arguments != "null":
		arguments = text
	}
	arguments, err := object(arguments)
	if given != nil && len(said) > 1 || err != nil {
		return c
	}
	u := proto.CloneOf(c)
	u.Tool, u.Arguments = name, arguments
	return u
}

// NameAlone returns the tool that a call of [UseName] names and says nothing else of,
// or "".
func NameAlone(c *loomv1.ToolCall) string {
	if said, name := heard(c); len(said) == 1 {
		return name
	}
	return ""
}

// heard is what a call of [UseName] says, and the tool that it is about, if any.
func heard(c *loomv1.ToolCall) (said map[string]json.RawMessage, name string) {
	if c.GetTool() != UseName || json.Unmarshal([]byte(c.Arguments), &said) != nil || json.Unmarshal(said["tool"], &name) != nil || !plain(name) || name == UseName {
		return nil, ""
	}
	return said, name
}
