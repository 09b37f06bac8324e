package web

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/core/notice"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func deadline(d time.Duration) time.Time { return time.Now().Add(d) }

// ask asks the route's service, and returns its refusal as an error.
func (s *Server) ask(r *http.Request, one route, c caller) (proto.Message, error) {
	kind, body := "", []byte(nil)
	var err error
	if one.verb() == http.MethodPost {
		if kind, body, err = posted(r); err == nil {
			body, err = keyed(r, one, body)
		}
	} else {
		var q proto.Message
		if q, err = question(r, one); err == nil {
			body, err = proto.Marshal(q)
		}
	}
	if err != nil {
		return nil, err
	}
	return Ask(r.Context(), s.config.Services, one.service, c.identity(one), kind, body)
}

// Ask asks a service, and returns its refusal as an error.
func Ask(ctx context.Context, s Services, service string, from *loomv1.Identity, kind string, body []byte) (proto.Message, error) {
	reply := s.Call(ctx, service, from, kind, body)
	if reply == nil {
		return nil, fault.New("host/unavailable", "the host does not serve this just now")
	}
	if e, ok := reply.(interface{ GetError() *loomv1.Error }); ok && e.GetError() != nil {
		return nil, fault.FromProto(e.GetError())
	}
	return reply, nil
}

// identity is on whose behalf a request is made: a token or a session may do what
// its scope says, under its own name.
func (c caller) identity(one route) *loomv1.Identity {
	scope := ""
	if slices.Contains(one.scopes, endpoint.Operate) {
		scope = endpoint.Operate
	}
	return Client{Name: c.name}.Identity(scope)
}

// protocol serves the Model Context Protocol to a token or session, with all of its
// scopes.
func (s *Server) protocol(w http.ResponseWriter, r *http.Request, c caller) {
	if s.config.MCP == nil {
		s.problem(w, r, fault.New("host/unavailable", "the host does not serve the Model Context Protocol"))
		return
	}
	client := Client{Name: c.name}
	for _, scope := range []string{endpoint.Read, endpoint.Submit, endpoint.Operate} {
		if _, err := c.check(scope); err == nil {
			client.Scopes = append(client.Scopes, scope)
		}
	}
	s.config.MCP(client).ServeHTTP(w, r)
}

// posted reads the body of a request.
func posted(r *http.Request) (kind string, body []byte, err error) {
	kind = r.Header.Get("Content-Type")
	if t, _, err := mime.ParseMediaType(kind); err != nil || t != "application/json" {
		return "", nil, fault.New("request/media-type", "body is not JSON").At("Content-Type").Got(kind).Want("application/json")
	}
	if len(r.URL.RawQuery) > 0 {
		return "", nil, fault.New("request/parameter", "this route takes no query").At("query").Got(r.URL.RawQuery)
	}
	body, err = io.ReadAll(r.Body)
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return "", nil, tooLarge(large.Limit)
	}
	if err != nil {
		return "", nil, fault.New("request/parameter", "body cannot be read").At("body")
	}
	return "application/json", body, nil
}

// callersID is the field in which a request has the caller's own id for it, or "".
func callersID(m proto.Message) protoreflect.Name {
	if m != nil {
		for _, name := range []protoreflect.Name{"idempotency_key", "request"} {
			if f := m.ProtoReflect().Descriptor().Fields().ByName(name); f != nil && f.Kind() == protoreflect.StringKind {
				return name
			}
		}
	}
	return ""
}

// keyed puts the header Idempotency-Key into the field that it is another name for. A
// body that is no object is the service's to refuse.
func keyed(r *http.Request, one route, body []byte) ([]byte, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return body, nil
	}
	name := string(callersID(one.request))
	if name == "" {
		return nil, fault.New("request/parameter", "this route takes no id of the caller's").At("Idempotency-Key").Got(key)
	}
	fields := map[string]json.RawMessage{}
	if object := json.Unmarshal(body, &fields) == nil && fields != nil; !object {
		return body, nil
	}
	value, err := json.Marshal(key)
	if have, given := fields[name]; err != nil || given && !says(have, key) {
		return nil, fault.New("request/parameter", "the body has another id").At("Idempotency-Key").Got(key).Want("the same as %q, or leave one out", name)
	}
	fields[name] = value
	return json.Marshal(fields)
}

// says whether a value of JSON is a string of these words, however it is escaped.
func says(value json.RawMessage, words string) bool {
	var s *string
	return json.Unmarshal(value, &s) == nil && s != nil && *s == words
}

// question fills the route's request from the path and the query.
func question(r *http.Request, one route) (proto.Message, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault.New("request/parameter", "query cannot be read").At("query").Got(r.URL.RawQuery)
	}
	q := proto.Clone(one.request)
	m := q.ProtoReflect()
	if one.id != "" {
		if err := fill(m, one.id, []string{r.PathValue("id")}); err != nil {
			return nil, err
		}
	}
	for name, list := range values {
		if !slices.Contains(one.params, name) {
			return nil, fault.New("request/parameter", "this route has no such parameter").At("query").Got(name).Want("%s", suggest.Among(name, one.params))
		}
		if err := fill(m, name, list); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// fill gives a field of a request the values of a parameter.
func fill(m protoreflect.Message, name string, values []string) error {
	f := m.Descriptor().Fields().ByName(protoreflect.Name(name))
	if f.IsList() {
		for _, v := range values {
			if err := wellFormed(name, v); err != nil {
				return err
			}
			m.Mutable(f).List().Append(protoreflect.ValueOfString(v))
		}
		return nil
	}
	if len(values) != 1 {
		return fault.New("request/parameter", "parameter is given %d times", len(values)).At(name)
	}
	v, err := parse(f, name, values[0])
	if err == nil && v.IsValid() {
		m.Set(f, v)
	}
	return err
}

func wellFormed(name, v string) error {
	if !utf8.ValidString(v) {
		return fault.New("request/parameter", "parameter is not text").At(name).Got(v)
	}
	return nil
}

// choose reads a value of an enum by its last words, "role" for COST_GROUP_ROLE;
// an empty text is the default.
func choose(values protoreflect.EnumValueDescriptors, text string, bad func(string) (protoreflect.Value, error)) (protoreflect.Value, error) {
	if text == "" {
		return protoreflect.Value{}, nil
	}
	prefix, known := strings.TrimSuffix(string(values.Get(0).Name()), "UNSPECIFIED"), ""
	for i := 1; i < values.Len(); i++ {
		word := strings.ToLower(strings.TrimPrefix(string(values.Get(i).Name()), prefix))
		if text == word || text == string(values.Get(i).Name()) {
			return protoreflect.ValueOfEnum(values.Get(i).Number()), nil
		}
		known += " " + word
	}
	return bad("one of" + known)
}

// parse reads a parameter as its field wants it.
func parse(f protoreflect.FieldDescriptor, name, text string) (protoreflect.Value, error) {
	bad := func(want string) (protoreflect.Value, error) {
		return protoreflect.Value{}, fault.New("request/parameter", "parameter cannot be read").At(name).Got(text).Want("%s", want)
	}
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text), wellFormed(name, text)
	case protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return bad("true or false")
		}
		return protoreflect.ValueOfBool(text == "true"), nil
	case protoreflect.Uint32Kind:
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return bad("a number from 0 to 4294967295")
		}
		return protoreflect.ValueOfUint32(uint32(n)), nil
	case protoreflect.Uint64Kind:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return bad("a number")
		}
		return protoreflect.ValueOfUint64(n), nil
	case protoreflect.EnumKind:
		return choose(f.Enum().Values(), text, bad)
	}
	switch f.Message().FullName() {
	case "google.protobuf.Timestamp":
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil || timestamppb.New(t).CheckValid() != nil {
			return bad("for example 2026-01-02T12:00:00Z")
		}
		return protoreflect.ValueOfMessage(timestamppb.New(t).ProtoReflect()), nil
	case "loom.v1.Cursor":
		c, err := notice.ParseCursor(text)
		if err != nil || c == nil {
			return protoreflect.Value{}, err
		}
		return protoreflect.ValueOfMessage(c.ProtoReflect()), nil
	}
	p, err := notice.ParsePosition(text)
	if err != nil {
		return protoreflect.Value{}, err
	}
	return protoreflect.ValueOfMessage(p.ProtoReflect()), nil
}
