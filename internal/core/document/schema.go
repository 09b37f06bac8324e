package document

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Schema is the JSON Schema (draft 2020-12) of a kind of artifact. It says what
// [Read] checks, except for what one value says of another (rows under headers), names
// that must differ, and that lengths of texts are in bytes.
func Schema(kind string) ([]byte, error) {
	k, err := KindNamed(kind)
	if err != nil {
		return nil, err
	}
	s := &schemas{defs: map[string]any{}}
	d := k.zero.ProtoReflect().Descriptor()
	root := s.structure(d)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = string(d.Name())
	if len(s.defs) > 0 {
		root["$defs"] = s.defs
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", kind, err)
	}
	return b.Bytes(), nil
}

type schemas struct{ defs map[string]any }

func (s *schemas) structure(d protoreflect.MessageDescriptor) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		properties[f.JSONName()] = s.field(f)
		if takes(f).GetRequired() {
			required = append(required, f.JSONName())
		}
	}
	o := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func (s *schemas) field(f protoreflect.FieldDescriptor) map[string]any {
	rule := takes(f)
	var o map[string]any
	switch {
	case f.IsMap():
		o = map[string]any{"type": "object", "additionalProperties": s.one(f.MapValue(), rule)}
	case f.IsList():
		most := int(rule.GetMaxItems())
		if most == 0 {
			most = defaultItems
		}
		o = map[string]any{"type": "array", "items": s.one(f, rule), "maxItems": most}
		if rule.GetUnique() {
			o["uniqueItems"] = true
		}
		if rule.GetRequired() {
			o["minItems"] = 1
		}
	default:
		o = s.one(f, rule)
	}
	if about := rule.GetAbout(); about != "" {
		o["description"] = about
	}
	return o
}

var scalar = map[string]any{"type": []string{"string", "number", "boolean", "null"}}

func (s *schemas) one(f protoreflect.FieldDescriptor, rule *loomv1.FieldRule) map[string]any {
	o := map[string]any{}
	switch f.Kind() {
	case protoreflect.MessageKind:
		return s.message(f)
	case protoreflect.StringKind:
		o["type"] = "string"
		switch {
		case len(rule.GetWords()) > 0:
			o["enum"] = rule.GetWords()
		case rule.GetPattern() != "" && rule.GetRequired():
			o["pattern"] = "^(?:" + rule.GetPattern() + ")$"
		case rule.GetPattern() != "":
			o["pattern"] = "^(?:" + rule.GetPattern() + ")?$"
		default:
			o["maxLength"] = defaultBytes
			if n := rule.GetMaxBytes(); n > 0 {
				o["maxLength"] = n
			}
			if rule.GetRequired() && !f.IsList() {
				o["pattern"] = `\S`
			}
		}
	case protoreflect.BoolKind:
		o["type"] = "boolean"
	case protoreflect.Int32Kind, protoreflect.DoubleKind:
		o["type"] = map[bool]string{true: "integer", false: "number"}[f.Kind() == protoreflect.Int32Kind]
		if rule.GetMinimum() != rule.GetMaximum() {
			o["minimum"], o["maximum"] = rule.GetMinimum(), rule.GetMaximum()
		}
	}
	return o
}

func (s *schemas) message(f protoreflect.FieldDescriptor) map[string]any {
	d := f.Message()
	switch d.FullName() {
	case "google.protobuf.ListValue":
		return map[string]any{"type": "array", "items": scalar}
	case "google.protobuf.Value":
		if f.ContainingMessage().IsMapEntry() {
			return map[string]any{"type": scalar["type"]}
		}
		return map[string]any{}
	}
	name := string(d.Name())
	if _, there := s.defs[name]; !there {
		s.defs[name] = nil // so that what leads back to it ends
		s.defs[name] = s.structure(d)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}
