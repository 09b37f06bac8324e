package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/loomrun/loom/internal/agents/model/wire"
)

// onResults is where a gateway takes the mark of a tool's message. There is no place
// that all take: the part of the content that OpenRouter wants is one that Anthropic
// refuses behind LiteLLM, which copies it, and with the field that LiteLLM wants
// OpenRouter was seen to hang.
type onResults int32

const (
	nowhere onResults = iota // not known: the last message before that is marked
	onPart                   // on a part of the content: OpenRouter
	onField                  // beside the content: LiteLLM
)

// gateway is what is known of the server behind an address.
type gateway struct{ results atomic.Int32 }

// at starts with what the address tells.
func (g *gateway) at(base string) {
	u, err := url.Parse(base)
	if err == nil && (u.Hostname() == "openrouter.ai" || strings.HasSuffix(u.Hostname(), ".openrouter.ai")) {
		g.results.Store(int32(onPart))
	}
}

// answered learns from the headers of an answer: every one of LiteLLM's bears its name.
// The first request of a conversation ends in no tool's message, so that it is known
// when that matters.
func (g *gateway) answered(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "X-Litellm-") {
			g.results.Store(int32(onField))
		}
	}
}

// marker puts marks of what a server is to keep into the requests of the client,
// which has no field for them.
type marker struct {
	*wire.Call
	gateway *gateway
}

// Do sends a request as [wire.Call.Do] does.
func (m marker) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = mark(body, onResults(m.gateway.results.Load()))
	}
	if err != nil {
		return nil, fmt.Errorf("cache marks: %w", err)
	}
	r.Body, r.GetBody, r.ContentLength = io.NopCloser(bytes.NewReader(body)), nil, int64(len(body))
	resp, err := m.Call.Do(r)
	if resp != nil {
		m.gateway.answered(resp.Header)
	}
	return resp, err
}

type sentMessage map[string]json.RawMessage

func (m sentMessage) role() string { return strings.Trim(string(m["role"]), `"`) }

var ephemeral = json.RawMessage(`{"type":"ephemeral"}`)

// mark tells the server what to keep: up to the end of the system text, before which
// it puts the tools, and up to the end of the conversation.
func mark(body []byte, results onResults) ([]byte, error) {
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, err
	}
	var messages []sentMessage
	if err := json.Unmarshal(request["messages"], &messages); err != nil {
		return nil, err
	}
	if len(messages) > 0 && messages[0].role() == "system" {
		if _, err := messages[0].markPart(); err != nil {
			return nil, fmt.Errorf("system message: %w", err)
		}
	}
	for i, m := range slices.Backward(messages) {
		if done, err := m.markEnd(results); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		} else if done {
			break
		}
	}
	var err error
	if request["messages"], err = json.Marshal(messages); err != nil {
		return nil, err
	}
	return json.Marshal(request)
}

// markEnd marks a message as the end of what is to be kept, and reports false where it
// cannot bear a mark.
func (m sentMessage) markEnd(results onResults) (done bool, err error) {
	switch {
	case m.role() == "system":
		return true, nil // it has its own
	case m.role() != "tool" || results == onPart:
		return m.markPart()
	case results == onField:
		m["cache_control"] = ephemeral
		return true, nil
	}
	return false, nil
}

// markPart marks the last text of a message's content, and reports false where it has
// none: a picture bears a mark at some gateways alone.
func (m sentMessage) markPart() (done bool, err error) {
	var parts []map[string]json.RawMessage
	switch content := m["content"]; {
	case content == nil:
		return false, nil
	case content[0] == '"':
		parts = []map[string]json.RawMessage{{"type": json.RawMessage(`"text"`), "text": content}}
	default:
		if err := json.Unmarshal(content, &parts); err != nil {
			return false, err
		}
	}
	for _, part := range slices.Backward(parts) {
		if string(part["type"]) == `"text"` {
			part["cache_control"] = ephemeral
			m["content"], err = json.Marshal(parts)
			return true, err
		}
	}
	return false, nil
}
