// Package modeltest has servers on 127.0.0.1 that speak the real protocols of
// model providers and answer by a script, with every fault that a server, a
// network or a model can have. It is for tests alone.
package modeltest

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Script answers what a server is asked. r is the request as the protocol
// carried it; it is called from one goroutine at a time.
type Script func(r *model.Request) Reply

// Reply is an answer, and what goes wrong with it. The zero value of each
// field is nothing wrong.
type Reply struct {
	Text  string
	Calls []*loomv1.ToolCall
	Stop  model.Stop // empty: tools if there are calls, else end

	// Thinking, when set, comes before the text, signed with Signature. Only
	// one of the protocols has it.
	Thinking, Signature string

	// Reported is what the server says it counted. Nil means an estimate;
	// the server may lie.
	Reported *Reported

	// Status, when not 0 or 200, refuses with Body. Headers come with any answer.
	Status  int
	Headers map[string]string
	Body    string

	// After, when set, is waited for before anything is said, unless the client goes. Other
	// requests are answered meanwhile.
	After <-chan struct{}

	// Raw, when set, is sent in place of the stream of events.
	Raw string

	// Fail breaks off after that many events by Kind. Zero is never.
	Fail     int
	FailKind FailKind
}

// FailKind is how a stream breaks off.
type FailKind int

// The ways a stream breaks off.
const (
	Reset   FailKind = iota // the connection is reset
	Hangup                  // the stream ends as if it were whole
	Overrun                 // the server sends an error event: overloaded
	Silence                 // nothing more comes until the client goes
	Trickle                 // one byte at a time comes, of an event that never ends
)

// Reported is what a server says it counted.
type Reported struct{ Input, CacheWrite, CacheRead, Output int64 }

// Server is a running server.
type Server struct {
	// URL is its base address, as the provider's variable wants it.
	URL string

	mu       sync.Mutex
	script   Script
	requests []*http.Request
	asked    []*model.Request
	bodies   []string
	gone     chan struct{}
}

// Play is a script that answers by a policy, such as those of package
// scripted: a real protocol around a scripted mind.
func Play(policy func(*model.Request) (*model.Response, error)) Script {
	return func(r *model.Request) Reply {
		answer, err := policy(r)
		if err != nil {
			return Reply{Status: http.StatusInternalServerError, Body: err.Error()}
		}
		return Reply{Text: answer.Text, Calls: answer.Calls}
	}
}

// Sequence answers the first request by the first reply, and so on; the last
// reply answers all that follow.
func Sequence(replies ...Reply) Script {
	n := 0
	return func(*model.Request) Reply {
		reply := replies[min(n, len(replies)-1)]
		n++
		return reply
	}
}

// Call makes a tool call.
func Call(id, tool, arguments string) *loomv1.ToolCall {
	return &loomv1.ToolCall{Id: id, Tool: tool, Arguments: arguments}
}

// Asked returns the requests so far, as the protocol carried them.
func (s *Server) Asked() []*model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*model.Request(nil), s.asked...)
}

// Headers returns the headers of the requests so far.
func (s *Server) Headers() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []http.Header
	for _, r := range s.requests {
		out = append(out, r.Header)
	}
	return out
}

// Bodies returns the requests so far as they came over the wire, also those that
// were refused.
func (s *Server) Bodies() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...)
}

// Gone is closed when a client has gone in the middle of an answer.
func (s *Server) Gone() <-chan struct{} { return s.gone }

// protocol is what makes one server speak differently from another.
type protocol struct {
	path   string
	parse  func(*http.Request) (*model.Request, error)
	events func(*model.Request, Reply) []string
	broken string // an error event
}

// serve starts a server that stops with the test.
func serve(t testing.TB, p protocol, prefix string, script Script) *Server {
	t.Helper()
	s := &Server{script: script, gone: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+p.path, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, p) })
	h := httptest.NewServer(mux)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	s.URL = h.URL + prefix
	return s
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, p protocol) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	s.keep(string(body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	asked, err := p.parse(r)
	if err != nil {
		http.Error(w, `{"error":{"type":"invalid_request_error","message":`+quote(err.Error())+`}}`, http.StatusBadRequest)
		return
	}
	reply := s.next(r, asked)
	if reply.After != nil {
		select {
		case <-reply.After:
		case <-r.Context().Done():
			return
		}
	}
	for k, v := range reply.Headers {
		w.Header().Set(k, v)
	}
	if reply.Status != 0 && reply.Status != http.StatusOK {
		w.WriteHeader(reply.Status)
		_, _ = w.Write([]byte(reply.Body)) // a client that has gone is not our concern
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	s.stream(w, r, p, reply, asked)
}

func (s *Server) keep(body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, body)
}

func (s *Server) next(r *http.Request, asked *model.Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	s.asked = append(s.asked, asked)
	return s.script(asked)
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, p protocol, reply Reply, asked *model.Request) {
	if reply.Raw != "" {
		_, _ = w.Write([]byte(reply.Raw))
		return
	}
	for i, event := range p.events(asked, reply) {
		if reply.Fail > 0 && i == reply.Fail {
			s.fail(w, r, p, reply.FailKind)
			return
		}
		if _, err := w.Write([]byte(event)); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

func (s *Server) fail(w http.ResponseWriter, r *http.Request, p protocol, kind FailKind) {
	switch kind {
	case Reset:
		reset(w)
	case Overrun:
		_, _ = w.Write([]byte(p.broken))
	case Silence:
		<-r.Context().Done()
		close(s.gone)
	case Trickle:
		trickle(w, r)
		close(s.gone)
	}
}

// reset breaks the connection so that the client sees a reset.
func reset(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // turns the close into a reset
	_ = conn.Close()
}

// trickle sends a byte of an endless comment every few milliseconds.
func trickle(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
			_, _ = w.Write([]byte(":"))
			w.(http.Flusher).Flush()
		}
	}
}
