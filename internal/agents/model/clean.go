package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of one answer; beyond them it is model/invalid-output.
const (
	MaxText      = 1 << 20   // bytes of text
	MaxArguments = 256 << 10 // bytes of all arguments together
	MaxCalls     = 32        // tool calls
	MaxOpaque    = 256 << 10 // bytes of Opaque; a longer one is dropped
)

// Clean returns what r is as a sound answer to q, and changes r. NUL and
// invalid UTF-8 in the text become U+FFFD. A call without an id, with one that
// the conversation has used, or with one that not every provider takes, gets
// a new one. It returns model/invalid-output for an answer that is empty or
// too large, for two calls with one id, for a call without a tool's name, for
// arguments that are no JSON object; see [Rejected]. An answer that was cut off keeps
// its text, if any: the calls in it become Cut, because the last one is not whole.
func Clean(q *Request, r *Response) (*Response, error) {
	if err := bounds(r); err != nil {
		return nil, Reject(err, told(r))
	}
	if r.Stop == StopLength && len(r.Calls) > 0 {
		r.Cut, r.Calls = toldCalls(r.Calls), nil
	}
	r.Text = cleanText(r.Text)
	if err := cleanCalls(q, r.Calls); err != nil {
		return nil, Reject(err, told(r))
	}
	if r.Usage == nil {
		r.Usage = &loomv1.Usage{}
	}
	if len(r.Opaque) > MaxOpaque {
		r.Opaque = nil
	}
	if len(r.Calls) > 0 {
		r.Stop = StopTools
	}
	return r, nil
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New("model/invalid-output", "the model's answer "+format, args...)
}

func bounds(r *Response) error {
	arguments := 0
	for _, c := range r.Calls {
		arguments += len(c.GetArguments())
	}
	switch {
	case len(r.Text) > MaxText:
		return invalid("has %d bytes of text; at most %d are taken", len(r.Text), MaxText).Want("write what is long into files, in parts")
	case len(r.Calls) > MaxCalls:
		return invalid("has %d tool calls; at most %d are taken", len(r.Calls), MaxCalls).Want("make fewer calls at once")
	case arguments > MaxArguments:
		return invalid("has %d bytes of arguments; at most %d are taken", arguments, MaxArguments).Want("write what is long in parts")
	case r.Stop == StopLength: // reasoning may have taken all of it
	case strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0:
		return invalid("is empty").Want("call a tool")
	}
	return nil
}

func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

func cleanCalls(q *Request, calls []*loomv1.ToolCall) error {
	if err := distinct(calls); err != nil {
		return err
	}
	used := usedIDs(q)
	for i, c := range calls {
		which := ""
		if len(calls) > 1 {
			which = fmt.Sprintf(" in call %d of %d", i+1, len(calls))
		}
		if !plain(c.Tool) {
			return invalid("calls a tool without a proper name%s", which).Got(c.Tool).Want("call one of those that are offered")
		}
		arguments, err := object(c.Arguments)
		if err != nil {
			return invalid("calls %s%s with arguments that are no JSON object: %s", c.Tool, which, err).Got(c.Arguments).
				Want("give one object, with quotes, backslashes and line breaks of texts escaped")
		}
		c.Arguments = arguments
		c.Id = freshID(c.Id, used)
		used[c.Id] = true
	}
	return nil
}

// distinct refuses one id for two calls: which of them an outcome belongs to
// could not be told.
func distinct(calls []*loomv1.ToolCall) error {
	seen := map[string]bool{}
	for _, c := range calls {
		if c == nil {
			return invalid("has a call that is nothing")
		}
		if c.Id != "" && seen[c.Id] {
			return invalid("has two tool calls with one id").Got(c.Id)
		}
		seen[c.Id] = true
	}
	return nil
}

func usedIDs(q *Request) map[string]bool {
	used := map[string]bool{}
	for _, m := range q.Messages {
		for _, c := range m.Calls {
			used[c.Id] = true
		}
	}
	return used
}

// freshID keeps an id that every provider takes and the conversation has not
// used; small servers begin again at "call_0" with every answer.
func freshID(id string, used map[string]bool) string {
	if !plain(id) {
		id = "call"
	} else if !used[id] {
		return id
	}
	id = id[:min(len(id), 48)]
	for n := len(used) + 1; ; n++ {
		if next := fmt.Sprintf("%s-%d", id, n); !used[next] {
			return next
		}
	}
}

// plain reports whether s matches [a-zA-Z0-9_-]{1,64}.
func plain(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// object returns the JSON object in s without white space; nothing at all is
// the empty object. Bytes that are no UTF-8 are refused and not replaced,
// because what a tool writes must be what the model meant.
func object(s string) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "null" {
		return "{}", nil
	}
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("they are not UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &fields); err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(s)); err != nil {
		return "", err
	}
	return out.String(), nil
}
