package actors

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// decodeJSON reads canonical JSON. Its errors say where, as body:LINE:COLUMN.
func decodeJSON(data []byte, into proto.Message) error {
	err := protojson.UnmarshalOptions{RecursionLimit: maxDepth}.Unmarshal(data, into)
	if err == nil {
		return nil
	}
	text := strings.ReplaceAll(err.Error(), "\u00a0", " ") // which the library puts in or not, as it likes
	part := jsonError.FindStringSubmatch(text)
	if json.Valid(data) && (part[2] == jsonCut || strings.HasPrefix(part[2], "invalid escape code")) {
		return fault.New("submit/malformed", "a text has half of a pair of surrogates, which is no character").At("body").Want("both halves, as in \\ud83d\\ude00, or leave it out")
	}
	return explain(part[2], into).At(strings.TrimSuffix("body:"+part[1], ":"))
}

// jsonCut is what the library says of a text that is not whole.
const jsonCut = "unexpected EOF"

var (
	jsonError  = regexp.MustCompile(`(?s)^(?:proto: )?(?:syntax error )?(?:\(line (\d+:\d+)\): )?(.*)$`)
	jsonField  = regexp.MustCompile(`(?s)^(unknown|duplicate) field "(.*)"$`)
	jsonValue  = regexp.MustCompile(`(?s)^invalid value for (\S+) (?:field|key|type) ?(\S*): (.*)$`)
	jsonKnown  = regexp.MustCompile(`(?s)^invalid google\.protobuf\.(\w+)(?: value|:) (.*)$`)
	jsonSyntax = regexp.MustCompile(`(?s)^(?:invalid value|unexpected token) (.*)$`)
)

// explain says what a message of the JSON library means, and echoes what it
// quotes within the limits of an error.
func explain(text string, into proto.Message) *fault.Error {
	if m := jsonField.FindStringSubmatch(text); m != nil && m[1] == "unknown" {
		return fault.New("submit/unknown-field", "%s has no such field", name(into)).Got(m[2]).
			Want("%s", suggest.Hint(m[2], fieldNames(into.ProtoReflect().Descriptor(), 2)))
	} else if m != nil {
		return fault.New("submit/malformed", "field is given twice").Got(m[2])
	}
	if m := jsonValue.FindStringSubmatch(text); m != nil {
		return fault.New("submit/malformed", "%s is not a value of type %s", m[2], m[1]).Got(unquoted(m[3])).
			Want("%s", suggest.Among(unquoted(m[3]), enumValues(into.ProtoReflect().Descriptor(), m[2])))
	}
	if m := jsonKnown.FindStringSubmatch(text); m != nil {
		return fault.New("submit/malformed", "not a %s", m[1]).Got(unquoted(m[2]))
	}
	if m := jsonSyntax.FindStringSubmatch(text); m != nil {
		return fault.New("submit/malformed", "body is not the JSON of %s: not expected here", name(into)).Got(unquoted(m[1]))
	}
	if text == jsonCut {
		return fault.New("submit/malformed", "body is not the JSON of %s: it ends before it is whole", name(into))
	}
	return fault.New("submit/malformed", "body is not the JSON of %s: %s", name(into), strings.Trim(fault.Echo(text), `"`))
}

// unquoted takes off quotes that Got would put on again.
func unquoted(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return s
}

// enumValues lists what a field of a message can be, if it is an enum.
func enumValues(m protoreflect.MessageDescriptor, field string) []string {
	f := m.Fields().ByJSONName(field)
	if f == nil {
		f = m.Fields().ByTextName(field)
	}
	if f == nil || f.Enum() == nil {
		return nil
	}
	var names []string
	for i := 1; i < f.Enum().Values().Len(); i++ { // the first stands for none
		names = append(names, string(f.Enum().Values().Get(i).Name()))
	}
	return names
}

// fieldNames lists the fields of a message and of the messages in it.
func fieldNames(m protoreflect.MessageDescriptor, depth int) []string {
	var names []string
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		names = append(names, string(f.Name()))
		if f.Message() != nil && depth > 1 {
			names = append(names, fieldNames(f.Message(), depth-1)...)
		}
	}
	return names
}
