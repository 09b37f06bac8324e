package tool

import (
	"bytes"
	"encoding/json"
)

// unsaid are the keywords of a schema that a model is not shown: the calls of most
// keep to them anyway, and one that does not is told which bound it broke. They are
// a fifth of what all tools take of each request.
var unsaid = map[string]bool{
	"minLength": true, "maxLength": true, "minItems": true, "maxItems": true,
	"minimum": true, "maximum": true, "exclusiveMinimum": true, "pattern": true,
}

// quiet is the keyword of a property that models are not shown either: few calls
// have a use for it, and one that gives it, as models do from habit, is carried out.
const quiet = `"$comment": "quiet"`

// brief is a schema of a native tool as a model is shown it: without bounds and
// patterns, without quiet properties, and without what says nothing. The order of its keys stays, so that a
// model writes arguments in the order in which they are thought of.
func brief(schema json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	writeBrief(&out, schema, false)
	return out.Bytes()
}

// writeBrief writes a value of a schema; properties says that its keys are names of
// properties, of which only quiet ones are left out.
func writeBrief(out *bytes.Buffer, value json.RawMessage, properties bool) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '{' && value[0] != '[' {
		out.Write(value)
		return
	}
	d := json.NewDecoder(bytes.NewReader(value))
	open, _ := d.Token()
	out.WriteString(open.(json.Delim).String())
	for first := true; d.More(); {
		name := ""
		if value[0] == '{' {
			key, _ := d.Token()
			name, _ = key.(string)
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return
		}
		if !properties && saysNothing(name, v) || properties && bytes.Contains(v, []byte(`"$comment":"quiet"`)) {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		if value[0] == '{' {
			key, _ := json.Marshal(name)
			out.Write(key)
			out.WriteByte(':')
		}
		writeBrief(out, v, !properties && name == "properties")
	}
	shut, _ := d.Token()
	out.WriteString(shut.(json.Delim).String())
}

func saysNothing(keyword string, value json.RawMessage) bool {
	switch keyword {
	case "additionalProperties":
		return !bytes.Contains(value, []byte(`"enum"`))
	case "required":
		return string(value) == "[]"
	}
	return unsaid[keyword]
}
