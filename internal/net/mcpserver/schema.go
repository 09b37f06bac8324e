package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

type object = map[string]any

// given are the fields of messages that a client gives; the host sets the
// others.
var given = map[protoreflect.Name][]string{
	"DecisionNode": {"type", "title", "description", "confidence", "metadata", "change", "bead", "execution"},
	"DecisionEdge": {"from", "to", "type", "weight", "rationale"},
	"Vote":         {"role", "option", "confidence", "rationale"},
	"Bead":         {"id", "goal", "description", "priority", "deadline", "labels", "budget", "parent", "blocked_by", "assignee"},
}

// takes is the message whose fields the arguments are.
func (v verb) takes() protoreflect.MessageDescriptor {
	m := v.service.Request.ProtoReflect().Descriptor()
	if v.Within != "" {
		m = m.Fields().ByName(protoreflect.Name(v.Within)).Message()
	}
	return m
}

// schema is the JSON Schema of the arguments, made of the message so that it
// cannot say anything else.
func (v verb) schema() object {
	s := only(v.takes(), v.Fields)
	if v.Within != "" {
		s["properties"].(object)["project"] = object{"type": "string"}
	}
	if len(v.Required) > 0 {
		s["required"] = v.Required
	}
	return s
}

// only is an object of some fields of a message.
func only(m protoreflect.MessageDescriptor, fields []string) object {
	properties := object{}
	for _, name := range fields {
		properties[name] = property(m.Fields().ByName(protoreflect.Name(name)))
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func property(f protoreflect.FieldDescriptor) object {
	if f.IsList() {
		return object{"type": "array", "items": value(f)}
	}
	return value(f)
}

func value(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.DoubleKind:
		return object{"type": "number"}
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return object{"type": "integer"}
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return object{"type": "integer", "minimum": 0}
	case protoreflect.EnumKind:
		return object{"type": "string", "enum": words(f.Enum())}
	case protoreflect.MessageKind:
		return message(f.Message())
	}
	return object{"type": "string"}
}

func message(m protoreflect.MessageDescriptor) object {
	switch m.FullName() {
	case "google.protobuf.Timestamp":
		return object{"type": "string", "format": "date-time"}
	case "google.protobuf.Duration":
		return object{"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?s$`, "description": "as in 90s"}
	case "google.protobuf.Struct":
		return object{"type": "object"}
	}
	fields := given[m.Name()]
	if fields == nil {
		for i := range m.Fields().Len() {
			fields = append(fields, string(m.Fields().Get(i).Name()))
		}
	}
	return only(m, fields)
}

// words are the values of an enumeration as people write them: without what
// they all begin with, in small letters. The first says nothing.
func words(e protoreflect.EnumDescriptor) (list []string) {
	for i := range e.Values().Len() {
		if i > 0 {
			list = append(list, word(e, i))
		}
	}
	return list
}

func word(e protoreflect.EnumDescriptor, i int) string {
	prefix := strings.TrimSuffix(string(e.Values().Get(0).Name()), "UNSPECIFIED")
	return strings.ToLower(strings.TrimPrefix(string(e.Values().Get(i).Name()), prefix))
}

// read makes the request of a call's arguments. What is unknown is refused.
func (v verb) read(arguments string) (proto.Message, error) {
	tree, err := decode(arguments)
	if err != nil {
		return nil, err
	}
	whole := object{}
	for name, x := range tree {
		if v.Within != "" && name == "project" {
			whole[name] = x
			delete(tree, name)
		}
	}
	if err := v.check(tree); err != nil {
		return nil, err
	}
	if err := spell("", tree, v.takes()); err != nil {
		return nil, err
	}
	if v.Within != "" {
		whole[v.Within] = tree
	} else {
		whole = tree
	}
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, unfit("", "they cannot be written as JSON")
	}
	request := v.service.Request.ProtoReflect().New().Interface()
	if err := protojson.Unmarshal(data, request); err != nil {
		return nil, unfit("", "%s", strings.ReplaceAll(err.Error(), "\u00a0", " "))
	}
	return request, nil
}

func decode(arguments string) (object, error) {
	d := json.NewDecoder(bytes.NewReader([]byte(arguments)))
	d.UseNumber()
	tree := object{}
	if err := d.Decode(&tree); err != nil || tree == nil {
		return nil, unfit("", "they are not one JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, unfit("", "there is more than one JSON object")
	}
	return tree, nil
}

func unfit(where, format string, args ...any) *fault.Error {
	return fault.New("tool/arguments", format, args...).At("arguments" + where)
}

// check refuses fields that the verb does not take, and those that lack.
func (v verb) check(tree object) error {
	for name := range tree {
		if !slices.Contains(v.Fields, name) {
			return unfit("", "there is no such argument").Got(name).Want("%s", suggest.Among(name, v.Fields))
		}
	}
	for _, name := range v.Required {
		if _, ok := tree[name]; !ok {
			return unfit("", "%s is missing", name).Want("%s", strings.Join(v.Required, ", "))
		}
	}
	return nil
}

// spell puts the names of the contract for the words of enumerations, and
// refuses what a client may not give.
func spell(at string, tree object, m protoreflect.MessageDescriptor) error {
	for name, x := range tree {
		f := m.Fields().ByName(protoreflect.Name(name))
		if f == nil || given[m.Name()] != nil && !slices.Contains(given[m.Name()], name) {
			return unfit(at, "there is no such argument").Got(name)
		}
		spelled, err := spellValue(at+"."+name, x, f)
		if err != nil {
			return err
		}
		tree[name] = spelled
	}
	return nil
}

func spellValue(at string, x any, f protoreflect.FieldDescriptor) (any, error) {
	if list, ok := x.([]any); ok {
		for i := range list {
			one, err := spellValue(at, list[i], f)
			if err != nil {
				return nil, err
			}
			list[i] = one
		}
		return list, nil
	}
	inner, isObject := x.(object)
	switch {
	case isObject && f.Message() != nil && f.Message().FullName() != "google.protobuf.Struct":
		return inner, spell(at, inner, f.Message())
	case f.Enum() != nil:
		return spellWord(at, x, f.Enum())
	}
	return x, nil
}

func spellWord(at string, x any, e protoreflect.EnumDescriptor) (any, error) {
	s, _ := x.(string)
	for i := range e.Values().Len() {
		if name := string(e.Values().Get(i).Name()); name == s || i > 0 && word(e, i) == strings.ToLower(s) {
			return name, nil
		}
	}
	return nil, unfit(at, "there is no such word").Got(s).Want("%s", suggest.Among(s, words(e)))
}
