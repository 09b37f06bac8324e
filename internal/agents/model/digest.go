package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// canon is the form of a request that its digest is taken over. Its fields
// and their order never change; a new one is added with omitempty.
type canon struct {
	System    string         `json:"system"`
	Messages  []canonMessage `json:"messages"`
	Tools     []ToolSpec     `json:"tools"`
	MaxTokens int            `json:"max_tokens"`
	Thinking  Thinking       `json:"thinking,omitzero"`
}

type canonMessage struct {
	Message
	Calls []canonCall `json:"calls,omitempty"`
}

type canonCall struct {
	ID        string          `json:"id"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

// Digest returns the lower-case hex SHA-256 of the request's canonical form:
// JSON with sorted keys in schemas and arguments. Two requests that a model
// would see as the same have the same digest; ID and Opaque do not count.
func (r *Request) Digest() string {
	c := canon{System: r.System, MaxTokens: r.MaxTokens, Thinking: r.Thinking}
	for _, m := range r.Messages {
		c.Messages = append(c.Messages, canonicalMessage(m))
	}
	for _, t := range r.Tools {
		t.Schema = canonicalJSON(t.Arguments())
		c.Tools = append(c.Tools, t)
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic("model: a canonical request is not JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func canonicalMessage(m Message) canonMessage {
	c := canonMessage{Message: m}
	for _, call := range m.Calls {
		c.Calls = append(c.Calls, canonCall{call.Id, call.Tool, canonicalJSON([]byte(call.Arguments))})
	}
	return c
}

// canonicalJSON sorts keys and drops white space; what is not JSON is quoted.
// Numbers keep their digits.
func canonicalJSON(text []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil || d.More() {
		v = string(text)
	}
	out, err := json.Marshal(v)
	if err != nil {
		panic("model: decoded JSON does not encode: " + err.Error())
	}
	return out
}
