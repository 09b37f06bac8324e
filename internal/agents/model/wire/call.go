package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/price"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Call is one try of a request: it sends it and gathers what a protocol's
// package reads from the stream. It is used by one goroutine.
type Call struct {
	server  Server
	client  *http.Client
	id      string
	onChunk func(model.Chunk)
	heard   func() // a whole event came in
	told    func(http.Header)

	text    strings.Builder
	calls   []*draft
	opaque  []byte
	stop    model.Stop
	done    bool
	model   string
	tokens  price.Tokens
	counted bool // the server reported tokens
	begun   bool // the server began to answer
	sent    bool // the server was asked
	plain   bool // all that the model writes is seen as it is written

	refusal *refusal
	broken  error // the connection broke
}

// draft is a tool call as it streams in.
type draft struct {
	index     int64
	id, tool  string
	arguments strings.Builder
}

// Do sends a request for the SDKs, as their HTTP client. An answer that is
// not a stream is an error.
func (c *Call) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Idempotency-Key", c.id)
	c.sent = true
	resp, err := c.client.Do(r)
	if err != nil {
		c.broken = err
		return nil, err
	}
	if c.told != nil {
		c.told(resp.Header)
	}
	if resp.StatusCode/100 == 2 && !notStream(resp) {
		resp.Body = &body{ReadCloser: resp.Body, call: c}
		return resp, nil
	}
	defer resp.Body.Close()
	c.refusal = readRefusal(resp)
	return nil, c.refusal
}

// notStream reports whether a good answer is certainly no event stream: a
// login page, or a server that does not stream.
func notStream(r *http.Response) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && (kind == "text/html" || kind == "application/json")
}

// Refuse reports an error that came within the stream.
func (c *Call) Refuse(kind, message string) error {
	c.refusal = &refusal{status: statusOf(kind), kind: kind, message: message}
	return c.refusal
}

// RefuseAs reports an error that came within the stream as its server wrote it.
func (c *Call) RefuseAs(text json.RawMessage) error {
	r := explain(text)
	r.status = statusOf(r.kind)
	c.refusal = &r
	return c.refusal
}

// Answering reports the model that answers.
func (c *Call) Answering(name string) { c.model, c.begun = name, true }

// Text adds to the text.
func (c *Call) Text(piece string) {
	if piece == "" {
		return
	}
	c.begun = true
	c.text.WriteString(piece)
	c.onChunk(model.Chunk{Text: piece})
}

// Tool begins the tool call with that index, or adds what was not known of it.
func (c *Call) Tool(index int64, id, tool string) {
	d := c.draft(index)
	if d.tool == "" && tool != "" {
		c.onChunk(model.Chunk{Tool: tool})
	}
	d.id, d.tool = either(d.id, id), either(d.tool, tool)
}

// Arguments adds to the arguments of the tool call with that index.
func (c *Call) Arguments(index int64, piece string) { c.draft(index).arguments.WriteString(piece) }

func (c *Call) draft(index int64) *draft {
	c.begun = true
	for _, d := range slices.Backward(c.calls) {
		if d.index == index {
			return d
		}
	}
	d := &draft{index: index}
	c.calls = append(c.calls, d)
	return d
}

// Tokens reports the server's count so far; the last report holds.
func (c *Call) Tokens(t price.Tokens) { c.tokens, c.counted = t.Bounded(), true }

// Plain reports that all that the model writes comes in as it is written: it does not
// reason, and nothing is held back until it is whole.
func (c *Call) Plain() { c.plain = true }

// Opaque reports what the server wants back with this answer.
func (c *Call) Opaque(data []byte) { c.opaque = data }

// Stop reports that the answer is whole, and why it ended.
func (c *Call) Stop(why model.Stop) { c.stop, c.done = why, true }

// response returns what came in; it is not checked yet.
func (c *Call) response() *model.Response {
	r := &model.Response{Text: c.text.String(), Stop: c.stop, Opaque: c.opaque, Model: either(c.model, c.server.Model)}
	for _, d := range c.calls {
		r.Calls = append(r.Calls, &loomv1.ToolCall{Id: d.id, Tool: d.tool, Arguments: d.arguments.String()})
	}
	return r
}

// maxBody is how much of a stream is read.
const maxBody = 16 << 20

// body watches a stream: its events, its length, and how it breaks.
type body struct {
	io.ReadCloser
	call    *Call
	length  int
	newline bool // the last byte ended a line
}

// Read reads, and tells the call when an event has ended: an empty line.
// Single bytes are no sign of life.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.length += n
	for _, c := range p[:n] {
		if c == '\n' && b.newline {
			b.call.heard()
		}
		b.newline = c == '\n' || c == '\r' && b.newline
	}
	if err != nil && err != io.EOF {
		b.call.broken = err
	}
	if err == nil && b.length > maxBody {
		return n, fmt.Errorf("more than %d bytes", maxBody)
	}
	return n, err
}
