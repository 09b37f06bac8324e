package web

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// object is a JSON object of the description.
type object = map[string]any

// openapi answers with the description of the interface.
func (s *Server) openapi(w http.ResponseWriter, _ *http.Request, _ caller) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(s.description())
}

// describe is made of the routes and of the messages that they take and give,
// so that it cannot say anything else.
func describe() []byte {
	d := &describer{schemas: object{}}
	paths := object{}
	for pattern, list := range byPattern(routes()) {
		item := object{}
		for _, r := range list {
			item[strings.ToLower(r.verb())] = d.operation(r)
		}
		paths[pattern] = item
	}
	problem := d.schema((&loomv1.Error{}).ProtoReflect().Descriptor())
	d.schemas["Problem"] = object{"allOf": []any{problem, object{"type": "object", "properties": object{
		"type": object{"type": "string"}, "title": object{"type": "string"}, "status": object{"type": "integer"}, "detail": object{"type": "string"},
	}}}}
	text, _ := json.MarshalIndent(object{ // strings and maps of them alone
		"openapi": "3.1.0",
		"info":    object{"title": "Loom", "version": "1", "description": "A host's services as JSON. Messages are those of loom.v1, with the fields' own names.", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"}},
		"servers": []any{object{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas":   d.schemas,
			"responses": object{"Refusal": refusal},
			"securitySchemes": object{
				"token":   object{"type": "http", "scheme": "bearer", "description": "made by: loom auth token create"},
				"session": object{"type": "apiKey", "in": "cookie", "name": "loom-PORT", "description": "of a browser that has signed in (loom open), for pages of the host alone"},
			},
		},
	}, "", " ")
	return append(text, '\n')
}

// refusal is what every answer but a good one has.
var refusal = object{"description": "a refusal", "content": object{
	"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}},
}}

// refusals are the statuses of refusals that a client should tell apart, and what they
// are for; some only of routes that somebody must be allowed to ask.
func refusals(r route) object {
	all := object{"default": object{"$ref": "#/components/responses/Refusal"}}
	for status, about := range map[string]struct {
		what    string
		secured bool
	}{
		"400": {"what was asked cannot be", false},
		"401": {"no token or session, or one that counts no longer", true},
		"403": {"who asks may not", true},
		"404": {"there is no such thing", true},
		"409": {"it conflicts with what is there now", true},
		"422": {"a limit is reached", true},
		"429": {"too many requests; Retry-After says when", true},
		"503": {"not just now; Retry-After says when", true},
	} {
		if !about.secured || len(r.scopes) > 0 {
			one := maps.Clone(refusal)
			one["description"] = about.what
			all[status] = one
		}
	}
	return all
}

// operationID names a route: its method and the words of its path, "getBeadsById".
func operationID(r route) string {
	id := strings.ToLower(r.verb())
	for _, word := range strings.FieldsFunc(strings.TrimPrefix(r.pattern, "/api/v1"), func(c rune) bool { return c == '/' || c == '.' }) {
		if name, ok := strings.CutPrefix(word, "{"); ok {
			word = "by" + strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "}")
		}
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

// describer collects the schemas that operations name.
type describer struct{ schemas object }

func (d *describer) operation(r route) object {
	o := object{"operationId": operationID(r), "summary": r.summary, "responses": d.responses(r), "security": []any{}}
	if len(r.scopes) > 0 {
		o["security"] = []any{object{"token": []string{}}, object{"session": []string{}}}
		o["description"] = "Needs a token or session of scope " + strings.Join(r.scopes, " or ") + "."
	}
	var params []any
	if strings.Contains(r.pattern, "{id}") {
		params = append(params, object{"name": "id", "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, name := range r.params {
		f := r.request.ProtoReflect().Descriptor().Fields().ByName(protoreflect.Name(name))
		params = append(params, object{"name": name, "in": "query", "schema": parameter(f)})
	}
	if r.body != "" {
		params = append(params, object{"name": "Range", "in": "header", "schema": object{"type": "string"}, "description": "for example bytes=0-1023"})
	}
	if name := callersID(r.request); name != "" && r.verb() == http.MethodPost {
		params = append(params, object{"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string"}, "description": "another name for " + string(name)})
	}
	if r.service != "" && r.body == "" && r.verb() == http.MethodGet {
		params = append(params, object{"name": "If-None-Match", "in": "header", "schema": object{"type": "string"}, "description": "ETag of an answer that the asker has"})
	}
	if r.pattern == eventsPattern {
		params = append(params, object{"name": "Last-Event-ID", "in": "header", "schema": object{"type": "string"}, "description": "cursor to go on from"})
	}
	if params != nil {
		o["parameters"] = params
	}
	switch {
	case r.verb() == http.MethodPost && r.request == nil:
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": object{"type": "object"}}}}
	case r.verb() == http.MethodPost:
		o["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": d.schema(r.request.ProtoReflect().Descriptor())}}}
	}
	return o
}

func (d *describer) responses(r route) object {
	good, part, content := object{"description": "the answer"}, object{"description": "the ranges that were asked for"}, object{}
	all := refusals(r)
	all["200"] = good
	switch {
	case r.pattern == eventsPattern, r.pattern == livePattern:
		good["content"] = object{"text/event-stream": object{"schema": d.schema(r.reply.ProtoReflect().Descriptor())}}
	case r.pattern == "/metrics":
		good["content"] = object{"text/plain": object{"schema": object{"type": "string"}}}
	case r.body != "":
		for _, kind := range kindsOf(r) {
			content[kind] = object{"schema": object{"type": "string"}}
		}
		good["content"], part["content"] = content, content
		all["206"] = part
	case r.reply != nil:
		good["content"] = object{"application/json": object{"schema": d.schema(r.reply.ProtoReflect().Descriptor())}}
	default:
		good["content"] = object{"application/json": object{"schema": object{"type": "object"}}}
	}
	if r.service != "" && r.body == "" && r.verb() == http.MethodGet {
		all["304"] = object{"description": "the answer is the one of If-None-Match"}
	}
	return all
}

// kindsOf are the content types that the bytes of a route can have.
func kindsOf(r route) []string {
	switch {
	case r.page:
		return []string{media["html"]}
	case r.media != "":
		return slices.Sorted(maps.Values(media))
	}
	return []string{bytesType, textType}
}

// parameter is what a query's parameter looks like.
func parameter(f protoreflect.FieldDescriptor) object {
	text := object{"type": "string"}
	switch {
	case f.IsList():
		return object{"type": "array", "items": text}
	case f.Kind() == protoreflect.BoolKind:
		return object{"type": "boolean"}
	case f.Kind() == protoreflect.Uint32Kind, f.Kind() == protoreflect.Uint64Kind:
		return object{"type": "integer", "minimum": 0}
	case f.Message() != nil && f.Message().FullName() == "google.protobuf.Timestamp":
		return object{"type": "string", "format": "date-time"}
	case f.Message() != nil:
		return object{"type": "string", "description": "PARTITION.EPOCH.SEQUENCE.INDEX; a cursor joins those of several partitions by commas"}
	}
	return text
}

// wellKnown are messages that JSON writes in a way of their own.
var wellKnown = map[protoreflect.FullName]object{
	"google.protobuf.Timestamp": {"type": "string", "format": "date-time"},
	"google.protobuf.Duration":  {"type": "string", "pattern": `^-?[0-9]+(\.[0-9]+)?s$`},
	"google.protobuf.Struct":    {"type": "object"},
	"google.protobuf.Value":     {},
}

// schema returns a reference to a message's schema, which it adds.
func (d *describer) schema(m protoreflect.MessageDescriptor) object {
	if s, ok := wellKnown[m.FullName()]; ok {
		return maps.Clone(s)
	}
	name := string(m.Name())
	ref := object{"$ref": "#/components/schemas/" + name}
	if _, done := d.schemas[name]; done {
		return ref
	}
	d.schemas[name] = nil // it may hold itself
	properties, required := object{}, []string{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		properties[string(f.Name())] = d.field(f)
		if rule, _ := proto.GetExtension(f.Options(), loomv1.E_Takes).(*loomv1.FieldRule); rule.GetRequired() {
			required = append(required, string(f.Name()))
		}
	}
	shape := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		shape["required"] = required
	}
	d.schemas[name] = shape
	return ref
}

func (d *describer) field(f protoreflect.FieldDescriptor) object {
	switch {
	case f.IsMap():
		return object{"type": "object", "additionalProperties": d.value(f.MapValue())}
	case f.IsList():
		return object{"type": "array", "items": d.value(f)}
	}
	return d.value(f)
}

func (d *describer) value(f protoreflect.FieldDescriptor) object {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return object{"type": "boolean"}
	case protoreflect.DoubleKind:
		return object{"type": "number"}
	case protoreflect.Int32Kind, protoreflect.Uint32Kind:
		return object{"type": "integer"}
	case protoreflect.Int64Kind, protoreflect.Uint64Kind:
		return object{"type": "string", "pattern": "^-?[0-9]+$"}
	case protoreflect.BytesKind:
		return object{"type": "string", "contentEncoding": "base64"}
	case protoreflect.EnumKind:
		var values []string
		for i := range f.Enum().Values().Len() {
			values = append(values, string(f.Enum().Values().Get(i).Name()))
		}
		return object{"type": "string", "enum": slices.Clip(values)}
	case protoreflect.MessageKind:
		return d.schema(f.Message())
	}
	return object{"type": "string"}
}
