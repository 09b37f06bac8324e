package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/mcpserver"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// asked is a host that writes down what it is asked.
type asked struct {
	mu   sync.Mutex
	all  []string
	fail error
	give proto.Message
}

func (a *asked) ask(_ context.Context, scope, service string, request, reply proto.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, _ := protojson.MarshalOptions{UseProtoNames: true}.Marshal(request)
	a.all = append(a.all, scope+" "+service+" "+strings.ReplaceAll(string(text), " ", ""))
	if a.give != nil {
		proto.Merge(reply, a.give)
	}
	return a.fail
}

func (a *asked) last() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) == 0 {
		return ""
	}
	return a.all[len(a.all)-1]
}

// connect returns the protocol's own client, connected to a server.
func connect(t *testing.T, c mcpserver.Config) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	if _, err := mcpserver.New(c).Connect(t.Context(), far, nil); err != nil {
		t.Fatal(err)
	}
	return dial(t, near)
}

func dial(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func call(t *testing.T, s *mcp.ClientSession, name, arguments string) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r.IsError
}

func names(t *testing.T, s *mcp.ClientSession) (list []string) {
	t.Helper()
	for tool, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, tool.Name)
	}
	slices.Sort(list)
	return list
}

var (
	reading    = []string{"artifacts", "conversations", "cost", "bead", "beads", "decisions", "events", "execution", "executions", "history", "inbox", "memories", "memory_search", "metrics", "projects", "sessions", "transcript", "why"}
	submitting = []string{"submit"}
	operating  = []string{"bead_update", "decision_add", "decision_link", "decision_supersede", "decision_abandon", "decision_vote", "memory_forget", "memory_keep"}
)

func TestTOOL06_AClientSeesWhatItsScopesAllow(t *testing.T) {
	for _, tt := range []struct {
		scopes []string
		want   []string
	}{
		{nil, nil},
		{[]string{"read"}, reading},
		{[]string{"submit"}, submitting},
		{[]string{"read", "submit", "operate"}, slices.Concat(reading, submitting, operating)},
		{[]string{"audit", "ceo", "approve"}, []string{"events"}},
	} {
		s := connect(t, mcpserver.Config{Ask: (&asked{}).ask, Scopes: tt.scopes})
		want := slices.Sorted(slices.Values(tt.want))
		if got := names(t, s); !slices.Equal(got, want) {
			t.Errorf("%v sees %v, want %v", tt.scopes, got, want)
		}
		if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "approve"}); err == nil {
			t.Errorf("%v can approve", tt.scopes)
		}
	}
}

func TestTOOL06_CallsBecomeRequests(t *testing.T) {
	a := &asked{}
	s := connect(t, mcpserver.Config{Ask: a.ask, Scopes: []string{"read", "submit", "operate"}})
	for _, tt := range []struct{ tool, arguments, want string }{
		{"beads", `{"text":"total","labels":["a"],"limit":5}`, `read bead {"limit":5,"text":"total","labels":["a"]}`},
		{"beads", `{}`, `read bead {}`},
		{"decisions", `{"question":"path","id":"d1","to":"d2","edge_types":["leads_to"]}`, `read ask {"question":"GRAPH_QUESTION_PATH","id":"d1","to":"d2","edge_types":["DECISION_EDGE_TYPE_LEADS_TO"]}`},
		{"decisions", `{"question":"GRAPH_QUESTION_PULSE"}`, `read ask {"question":"GRAPH_QUESTION_PULSE"}`},
		{"submit", `{"goal":"g","type":"bug","context":{"a":{"b":1}},"idempotency_key":"k"}`, `submit submit {"goal":"g","type":"BEAD_TYPE_BUG","context":{"a":{"b":1}},"idempotency_key":"k"}`},
		{
			"decision_add", `{"project":"p","request":"r","node":{"type":"option","title":"t"},"links":[{"from":"d1","type":"requires"}]}`,
			`operate decide {"project":"p","add":{"node":{"type":"DECISION_TYPE_OPTION","title":"t"},"links":[{"from":"d1","type":"DECISION_EDGE_TYPE_REQUIRES"}],"request":"r"}}`,
		},
		{"decision_abandon", `{"id":"d1","reason":"r"}`, `operate decide {"abandon":{"id":"d1","reason":"r"}}`},
		{"decision_supersede", `{"old":"d1","new":"d2","rationale":"r"}`, `operate decide {"supersede":{"old":"d1","new":"d2","rationale":"r"}}`},
		{"bead_update", `{"bead":{"id":"b","priority":"urgent"},"fields":["priority"]}`, `operate update {"update":{"bead":{"id":"b","priority":"PRIORITY_URGENT"},"fields":["priority"]}}`},
		{"events", `{"since":"2026-01-02T12:00:00Z","kinds":["bead-filed"]}`, `read notices {"kinds":["bead-filed"],"since":"2026-01-02T12:00:00Z"}`},
	} {
		if text, failed := call(t, s, tt.tool, tt.arguments); failed || a.last() != tt.want {
			t.Errorf("%s %s: %s\nasked %s\nwant  %s", tt.tool, tt.arguments, text, a.last(), tt.want)
		}
	}
}

func TestTOOL06_RefusalsAreAnswers(t *testing.T) {
	a := &asked{}
	s := connect(t, mcpserver.Config{Ask: a.ask, Scopes: []string{"read", "submit", "operate"}})
	for _, tt := range []struct{ tool, arguments, want string }{
		{"beads", `{"txt":"x"}`, `did you mean "text"?`},
		{"bead", `{}`, "id is missing"},
		{"submit", `{"goal":"g"}`, "idempotency_key is missing"},
		{"submit", `{"goal":7,"idempotency_key":"k"}`, "tool/arguments"},
		{"decisions", `{"question":"patth"}`, `did you mean "path"?`},
		{"decision_add", `{"request":"r","node":{"title":"t","author":{"name":"ceo"}}}`, `arguments.node: there is no such argument (got "author"`},
		{"decision_vote", `{"decision":"d1","vote":{"role":"lead","voter":{}}}`, `got "voter"`},
		{"bead_update", `{"bead":{"id":"b","status":"BEAD_STATUS_CLOSED"},"fields":["status"]}`, `got "status"`},
		{"events", `{"since":"yesterday"}`, "tool/arguments"},
		{"beads", `{"limit":-1}`, "tool/arguments"},
	} {
		if text, failed := call(t, s, tt.tool, tt.arguments); !failed || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: %v %s\nwant %s", tt.tool, tt.arguments, failed, text, tt.want)
		}
	}
	if a.last() != "" {
		t.Errorf("the host was asked: %s", a.last())
	}
	a.fail = fault.New("bead/unknown", "there is no such bead").Got("x")
	if text, failed := call(t, s, "bead", `{"id":"x"}`); !failed || !strings.HasPrefix(text, "bead/unknown: ") {
		t.Errorf("the host's refusal: %v %s", failed, text)
	}
}

func TestTOOL06_AnswersAreBounded(t *testing.T) {
	a := &asked{give: &loomv1.View{Diff: strings.Repeat("\u00e9", mcpserver.MaxAnswer)}}
	s := connect(t, mcpserver.Config{Ask: a.ask, Scopes: []string{"read"}})
	text, failed := call(t, s, "beads", `{}`)
	if failed || len(text) > mcpserver.MaxAnswer || !strings.Contains(text, "[cut: ") {
		t.Errorf("%d bytes, ends %q", len(text), text[max(0, len(text)-100):])
	}
}

func TestTOOL06_HTTPAndItsTools(t *testing.T) {
	a := &asked{}
	tools := []mcpserver.Tool{{
		Name: "echo", Description: "Say it again.", Schema: json.RawMessage(`{"type":"object"}`), ReadOnly: true,
		Call: func(_ context.Context, arguments string) (string, bool) {
			return arguments, strings.Contains(arguments, "bad")
		},
	}}
	server := httptest.NewServer(mcpserver.Handler(mcpserver.Config{Ask: a.ask, Scopes: []string{"read"}, Tools: tools}))
	t.Cleanup(server.Close)
	s := dial(t, &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true, HTTPClient: http.DefaultClient})
	if got := names(t, s); !slices.Contains(got, "echo") || !slices.Contains(got, "beads") || slices.Contains(got, "submit") {
		t.Errorf("tools %v", got)
	}
	if text, failed := call(t, s, "echo", `{"a":1}`); failed || text != `{"a":1}` {
		t.Errorf("echo: %v %s", failed, text)
	}
	if _, failed := call(t, s, "echo", `{"bad":1}`); !failed {
		t.Error("a refusal is not told")
	}
	if _, failed := call(t, s, "beads", `{}`); failed || a.last() != "read bead {}" {
		t.Errorf("beads asked %q", a.last())
	}
}

// FuzzArguments: whatever a client gives, a call ends in an answer, and what is
// passed on is a request that the host can read.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"question":"path","edge_types":["leads_to",1]}`, `{"node":{"metadata":{"a":[1,{"b":null}]}}}`, `[]`, `{"a"`, `{}{}`, `null`, `{"bead":[{}]}`} {
		f.Add("decision_add", s)
		f.Add("decisions", s)
		f.Add("bead_update", s)
	}
	a := &asked{}
	h := mcpserver.Handler(mcpserver.Config{Ask: a.ask, Scopes: []string{"read", "submit", "operate"}})
	f.Fuzz(func(t *testing.T, tool, arguments string) {
		if !json.Valid([]byte(arguments)) {
			return
		}
		name, _ := json.Marshal(tool)
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":` + string(name) + `,"arguments":` + arguments + `}}`
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Fatalf("%s %s: %d %s", tool, arguments, w.Code, w.Body)
		}
	})
}
