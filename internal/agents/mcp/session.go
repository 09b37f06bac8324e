package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loomrun/loom/internal/base/fault"
)

// Start prepares a server's command: in a sandbox, with the environment of env
// ("NAME=VALUE") and the network only if it is to have it. When ctx ends, the
// command ends with all that it started.
type Start func(ctx context.Context, argv, env []string, network bool) (*exec.Cmd, error)

const (
	maxMessage    = 4 << 20 // bytes of one message of a server
	connectWithin = 30 * time.Second
	maxText       = 256 << 10 // bytes of a result
)

// session is a connection with a server.
type session struct {
	*mcp.ClientSession
	name  string
	stale atomic.Bool // the server said that its tools changed
	stop  func()
	said  *tail
}

// connect starts or reaches a server. What it costs ends with close.
func connect(ctx context.Context, s Server, network bool, start Start, env func(string) string, version string) (*session, error) {
	s, err := s.expanded(env)
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n := &session{name: s.Name, stop: cancel, said: &tail{}}
	transport, err := n.transport(life, s, network, start)
	if err != nil {
		cancel()
		return nil, err
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "loom", Version: version}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { n.stale.Store(true) },
		MultiRoundTrip:         &mcp.MultiRoundTripOptions{Disabled: true},
	})
	within, done := context.WithTimeout(ctx, connectWithin)
	defer done()
	if n.ClientSession, err = c.Connect(within, transport, nil); err != nil {
		n.close()
		return nil, n.failed("the server cannot be talked to", err)
	}
	return n, nil
}

func (n *session) transport(ctx context.Context, s Server, network bool, start Start) (mcp.Transport, error) {
	if s.URL != "" {
		return &mcp.StreamableClientTransport{
			Endpoint: s.URL, HTTPClient: client(s.Headers), MaxRetries: -1, DisableStandaloneSSE: true, MaxEventSize: maxMessage,
		}, nil
	}
	var env []string
	for k, v := range s.Env {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	cmd, err := start(ctx, append([]string{s.Command}, s.Args...), env, network)
	if err != nil {
		return nil, err
	}
	return n.run(cmd)
}

// run starts a command and speaks with it.
func (n *session) run(cmd *exec.Cmd) (mcp.Transport, error) {
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, n.failed("the server has no input", err)
	}
	out, ours, err := os.Pipe()
	if err != nil {
		closeAll(theirs, in)
		return nil, n.failed("the server has no output", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirs, ours, n.said, time.Second
	err = cmd.Start()
	closeAll(theirs, ours)
	if err != nil {
		closeAll(in, out)
		return nil, n.failed("the server cannot be started", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended is seen by who speaks with it
	}()
	cancel := n.stop
	n.stop = func() {
		cancel()
		<-ended
		closeAll(in, out)
	}
	return &mcp.IOTransport{Reader: out, Writer: in, MaxLineLength: maxMessage}, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// close ends the connection and what it started. It may be called once.
func (n *session) close() {
	n.stop()
	if n.ClientSession != nil {
		_ = n.Close()
	}
}

// failed is a failure of a server, with the last that it wrote for people.
func (n *session) failed(what string, err error) error {
	text := err.Error()
	if said := n.said.text(); said != "" {
		text += "; it wrote: " + said
	}
	return fault.New("mcp/failed", "%s: %s", what, text).At(n.name)
}

// tools asks what the server has.
func (n *session) tools(ctx context.Context) ([]Tool, error) {
	n.stale.Store(false)
	var list []Tool
	for t, err := range n.Tools(ctx, nil) {
		if err != nil {
			return nil, n.failed("the server does not say what it has", err)
		}
		if len(list) == maxTools {
			return nil, fault.New("mcp/too-large", "the server has more than %d tools", maxTools).At(n.name)
		}
		one, err := told(t)
		if err != nil {
			return nil, fault.From(err).At(n.name)
		}
		list = append(list, one)
	}
	return list, nil
}

func told(t *mcp.Tool) (Tool, error) {
	schema, err := json.Marshal(t.InputSchema)
	switch {
	case err != nil:
		return Tool{}, fault.New("mcp/failed", "the schema of %q cannot be read", t.Name).Because(err)
	case len(schema) > maxSchema || len(t.Description) > maxDescription || len(t.Name) > 128:
		return Tool{}, fault.New("mcp/too-large", "what it says of %.40q is too long", t.Name)
	case !utf8.ValidString(t.Name+t.Description) || t.Name == "":
		return Tool{}, fault.New("mcp/failed", "a tool's name or description is no text")
	}
	return Tool{Name: t.Name, Description: t.Description, Schema: schema, ReadOnly: t.Annotations != nil && t.Annotations.ReadOnlyHint}, nil
}

// call calls a tool. Failed says that the server answered with a refusal.
func (n *session) call(ctx context.Context, tool, arguments string) (text string, failed bool, err error) {
	r, err := n.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(arguments)})
	if ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	if err != nil {
		return "", false, n.failed("the call failed", err)
	}
	if r.NeedsInput() {
		return "", false, fault.New("mcp/failed", "the server wants to ask somebody, and nobody answers it").At(n.name)
	}
	return written(r), r.IsError, nil
}

// written is a result as text; what is no text is named.
func written(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if b.Len() > maxText {
			break // it is cut anyway
		}
		switch c := c.(type) {
		case *mcp.TextContent:
			b.WriteString(c.Text)
		case *mcp.ImageContent:
			fmt.Fprintf(&b, "[image, %s, %d bytes, not shown]", c.MIMEType, len(c.Data))
		case *mcp.AudioContent:
			fmt.Fprintf(&b, "[sound, %s, %d bytes, not played]", c.MIMEType, len(c.Data))
		case *mcp.ResourceLink:
			fmt.Fprintf(&b, "[%s: %s]", c.Name, c.URI)
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				fmt.Fprintf(&b, "[%s]\n%s", c.Resource.URI, c.Resource.Text)
			}
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 && r.StructuredContent != nil {
		data, err := json.Marshal(r.StructuredContent)
		if err == nil {
			b.Write(data)
		}
	}
	return b.String()
}

// client asks with the server's headers, and follows no redirect: it would
// carry them to somebody else.
func client(headers map[string]string) *http.Client {
	return &http.Client{
		Transport:     signed{headers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type signed struct{ headers map[string]string }

// RoundTrip implements http.RoundTripper.
func (s signed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range s.headers {
		r.Header.Set(k, v)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// tail keeps the last that a server wrote for people.
type tail struct {
	mu   sync.Mutex
	data []byte
}

const tailBytes = 2 << 10

// Write implements io.Writer; it never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if len(t.data) > 2*tailBytes {
		t.data = append(t.data[:0], t.data[len(t.data)-tailBytes:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ToValidUTF8(string(t.data[max(0, len(t.data)-tailBytes):]), ""))
}
