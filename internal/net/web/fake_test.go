package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/web"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// host is a fake one: it says what it was asked, and keeps a journal of two
// partitions that grows as a test lets it.
type host struct {
	mu      sync.Mutex
	asked   []string
	answers map[string]proto.Message
	parts   []web.Part
	journal []*loomv1.Notice // in the order in which a page has them
	grown   map[chan struct{}]bool
	pages   int
	heard   func(*loomv1.Writing)
	reading chan struct{} // a page of project "slow" is being read
}

func newHost() *host {
	return &host{answers: map[string]proto.Message{}, grown: map[chan struct{}]bool{}, parts: []web.Part{{Name: "partitions"}}, reading: make(chan struct{}, 1)}
}

func (h *host) Call(ctx context.Context, name string, from *loomv1.Identity, kind string, body []byte) proto.Message {
	if strings.Contains(string(body), "slow") { // until whoever asks has left
		h.reading <- struct{}{}
		<-ctx.Done()
		return &loomv1.NoticesReply{Error: fault.From(ctx.Err()).Proto()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if name == "notices" {
		q := &loomv1.NoticesRequest{}
		_ = proto.Unmarshal(body, q)
		return h.page(q)
	}
	if name == "host" && h.answers["panic"] != nil {
		panic("at /a/secret/path")
	}
	text := string(body)
	if q := requestOf(name); q != nil && kind == "" {
		_ = proto.Unmarshal(body, q)
		data, _ := protojson.Marshal(q)
		text = strings.ReplaceAll(string(data), " ", "")
	}
	h.asked = append(h.asked, fmt.Sprintf("%s by %s %s: %s", name, from.GetKind(), from.GetName(), text))
	if a, ok := h.answers[name]; ok {
		return a
	}
	switch name {
	case "blobs":
		return &loomv1.BlobReply{}
	case "artifact":
		return &loomv1.ArtifactReply{}
	case "file":
		return &loomv1.FileReply{}
	}
	return &loomv1.View{}
}

func requestOf(name string) proto.Message {
	switch name {
	case "history":
		return &loomv1.HistoryRequest{}
	case "state":
		return &loomv1.StateRequest{}
	case "metrics":
		return &loomv1.MetricsRequest{}
	case "cost":
		return &loomv1.CostRequest{}
	case "blobs":
		return &loomv1.BlobRequest{}
	case "transcript":
		return &loomv1.TranscriptRequest{}
	case "artifact":
		return &loomv1.ArtifactRequest{}
	case "file":
		return &loomv1.FileRequest{}
	case "host":
		return &loomv1.HostRequest{}
	}
	return &loomv1.Query{}
}

// page is what comes after the cursor, at most seven.
func (h *host) page(q *loomv1.NoticesRequest) *loomv1.NoticesReply {
	h.pages++
	if q.GetProject() == "elsewhere" {
		return &loomv1.NoticesReply{Error: fault.New("position/elsewhere", "the journal has no such event").At("after").Proto()}
	}
	reply := &loomv1.NoticesReply{End: true, Next: &loomv1.Cursor{}}
	for partition := range uint32(2) {
		at := positionIn(q.GetAfter(), partition)
		for _, n := range h.journal {
			if n.GetPosition().GetPartition() != partition || n.GetPosition().GetSequence() <= at.GetSequence() {
				continue
			}
			if len(reply.Notices) == 7 {
				reply.End = false
				break
			}
			at = n.GetPosition()
			reply.Notices = append(reply.Notices, n)
		}
		if at != nil {
			reply.Next.Positions = append(reply.Next.Positions, at)
		}
	}
	return reply
}

func positionIn(c *loomv1.Cursor, partition uint32) *loomv1.Position {
	for _, p := range c.GetPositions() {
		if p.GetPartition() == partition {
			return p
		}
	}
	return nil
}

func (h *host) Watch() (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.grown[c] = true
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.grown, c)
	}
}

func (h *host) Live(project string, fn func(*loomv1.Writing)) (func(), error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if project == "elsewhere" {
		return nil, fault.New("host/unavailable", "nothing is heard of it")
	}
	h.heard = fn
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.heard = nil
	}, nil
}

// writes has models write a piece; it reports whether somebody listens.
func (h *host) writes(p *loomv1.Writing) bool {
	h.mu.Lock()
	fn := h.heard
	h.mu.Unlock()
	if fn != nil {
		fn(p)
	}
	return fn != nil
}

func (h *host) watchers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.grown)
}

// happens adds notices to a partition.
func (h *host) happens(partition uint32, n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for range n {
		sequence := uint64(1)
		for _, o := range h.journal {
			if o.GetPosition().GetPartition() == partition {
				sequence = o.GetPosition().GetSequence() + 1
			}
		}
		h.journal = append(h.journal, &loomv1.Notice{
			Position: &loomv1.Position{Partition: partition, Epoch: 1, Sequence: sequence}, Kind: "bead-filed",
			Summary: "two\nlines <b>", Event: &loomv1.Event{Number: sequence, Time: timestamppb.Now()},
		})
	}
	for c := range h.grown {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (h *host) Ready(context.Context) []web.Part {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.parts)
}

// keys are tokens named as their scopes: "read", "submit,operate".
type keys struct {
	mu      sync.Mutex
	revoked map[string]bool
}

func (k *keys) Check(secret string, scopes ...string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name, ok := strings.CutPrefix(secret, "good-")
	if !ok || k.revoked[name] {
		return "", fault.New("token/unknown", "no such token").At("Authorization")
	}
	for _, s := range scopes {
		if slices.Contains(strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == '#' }), s) {
			return name, nil
		}
	}
	return name, fault.New("token/scope", "token %q has no scope %s", name, strings.Join(scopes, " or ")).At("Authorization")
}

func (k *keys) revoke(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoked[name] = true
}

// site is a server under test.
type site struct {
	t    testing.TB
	h    *host
	keys *keys
	s    *web.Server
	logs *lines
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func start(t testing.TB) *site {
	t.Helper()
	return startAt(t, nil)
}

// startAt starts a site by a clock.
func startAt(t testing.TB, now func() time.Time, changes ...func(*web.Config)) *site {
	t.Helper()
	w := &site{t: t, h: newHost(), keys: &keys{revoked: map[string]bool{}}, logs: &lines{}}
	c := web.Config{
		Listen: "127.0.0.1:0", Services: w.h, Keys: w.keys, MCP: w.protocol, Logger: slog.New(slog.NewTextHandler(w.logs, nil)), Now: now,
	}
	for _, change := range changes {
		change(&c)
	}
	s, err := web.Start(t.Context(), c)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	w.s = s
	t.Cleanup(func() { s.Stop(context.WithoutCancel(t.Context())) })
	return w
}

// protocol answers who asks, and what that may do.
func (w *site) protocol(c web.Client) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(rw).Encode(c)
	})
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &p)
	return p.Code
}

// do sends a request; each header is "Name: value".
func (w *site) do(method, path, body string, headers ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.s.URL()+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	reply, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{reply.StatusCode, reply.Header, string(text)}
}

const (
	reader   = "Authorization: Bearer good-read"
	asJSON   = "Content-Type: application/json"
	operator = "Authorization: Bearer good-operate"
)

// raw sends bytes as they are and returns what comes back until the server
// closes the connection.
func (w *site) raw(text string) string {
	w.t.Helper()
	c, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", strings.TrimPrefix(w.s.URL(), "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, text)
	if half, ok := c.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	all, _ := io.ReadAll(c)
	return string(all)
}

// parsed reads one request as a server would.
func parsed(data []byte) *http.Request {
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(string(data))))
	if err != nil {
		return nil
	}
	return r
}
