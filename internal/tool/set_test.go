package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestTOOL02_Specs(t *testing.T) {
	s, _ := workspace(t, nil)
	var names []string
	for _, spec := range s.Specs(everything) {
		names = append(names, spec.Name)
		var schema struct {
			Type       string
			Additional *bool `json:"additionalProperties"`
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil || schema.Type != "object" || schema.Additional == nil || *schema.Additional {
			t.Errorf("%s: schema %s is not strict (%v)", spec.Name, spec.Schema, err)
		}
		for _, r := range schema.Required {
			if schema.Properties[r] == nil {
				t.Errorf("%s requires %q, which it does not have", spec.Name, r)
			}
		}
		if spec.Timeout != tool.Timeout || spec.Description == "" || spec.Class == loomv1.ToolClass_TOOL_CLASS_UNSPECIFIED {
			t.Errorf("%s: no timeout, description or class", spec.Name)
		}
		if tool.Class(spec.Name) != spec.Class {
			t.Errorf("Class(%s) is %v", spec.Name, tool.Class(spec.Name))
		}
	}
	if !slices.Equal(names, everything) {
		t.Errorf("Specs: %q, want %q", names, everything)
	}
	if got := s.Specs([]string{"git_push", "file_read"}); len(got) != 1 || got[0].Name != "file_read" {
		t.Errorf("Specs(git_push, file_read): %v", got)
	}
	if got := tool.Class("git_push"); got != loomv1.ToolClass_TOOL_CLASS_EXEC {
		t.Errorf("Class of an unknown tool is %v", got)
	}
}

func TestF17_UnfitCalls(t *testing.T) {
	s, _ := workspace(t, map[string]string{"a.txt": "hello\n"})
	for _, tt := range []struct {
		tool, arguments string
		status          string
		want            string // the output
	}{
		{"file_raed", `{}`, "DENIED", "tool/unknown: tool: there is no tool of this name (got \"file_raed\"); did you mean \"file_read\"?\n"},
		{"rm", `{}`, "DENIED", "tool/unknown: tool: there is no tool of this name (got \"rm\"); you have file_read, content_search\n"},
		{"shell", `{"command":"x"}`, "DENIED", "tool/denied: tool: your role may not use shell; you have file_read, content_search\n"},
		{"file_read", ``, "ERROR", "tool/arguments: arguments: they are not one JSON object: EOF\n"},
		{"file_read", `{"path":"a`, "ERROR", "tool/arguments: arguments: they are not one JSON object: unexpected EOF\n"},
		{"file_read", `{"path":"a.txt"} {}`, "ERROR", "tool/arguments: arguments: they are not one JSON object: invalid character after top-level value\n"},
		{"file_read", `[]`, "ERROR", "tool/arguments: /: got array, want object\n"},
		{"file_read", `null`, "ERROR", "tool/arguments: /: got null, want object\n"},
		{"file_read", `{}`, "ERROR", "tool/arguments: /: missing property 'path'\n"},
		{"file_read", `{"path":""}`, "ERROR", "tool/arguments: /path: minLength: got 0, want 1\n"},
		{"file_read", `{"file":"a.txt","offset":"2","limit":0}`, "ERROR", "tool/arguments: /: missing property 'path'\n" +
			"tool/arguments: /: there is no such argument (got \"file\")\ntool/arguments: /limit: minimum: got 0, want 1\ntool/arguments: /offset: got string, want integer\n"},
		{"file_read", `{"path":"a.txt","ofset":2}`, "ERROR", "tool/arguments: /: there is no such argument (got \"ofset\"); did you mean \"offset\"?\n"},
		{"file_read", `{"path":"a.txt","offset":1e300}`, "ERROR", ""},
		{"file_read", `{"path":"a.txt","offset":1.0}`, "", ""}, // an integer to JSON Schema
		{"file_read", `{"path":"a.txt","path":"../x"}`, "DENIED", ""},
		{"file_read", strings.Repeat(`[`, 20_000), "ERROR", ""},
		{"file_read", `{"path":"` + strings.Repeat("a", 2<<20) + `"}`, "ERROR", "tool/too-large: arguments: 2097163 bytes of arguments; at most 2097152 are taken\n"},
		{"file_read", "{\"path\":\"\xff\"}", "ERROR", "tool/arguments: arguments: they are not UTF-8\n"},
	} {
		c := &loomv1.ToolCall{Id: "c1", Tool: tt.tool, Arguments: tt.arguments}
		r := s.Call(context.Background(), []string{"file_read", "content_search"}, 0, c)
		status := strings.TrimPrefix(r.Status.String(), "TOOL_STATUS_")
		if tt.status != "" && status != tt.status || tt.want != "" && r.Output != tt.want {
			t.Errorf("%s %.60s: %s\n%s\nwant %s\n%s", tt.tool, tt.arguments, status, r.Output, tt.status, tt.want)
		}
		if status != "OK" && (r.Code == "" || !strings.HasPrefix(r.Summary, r.Code)) {
			t.Errorf("%s %.60s: code %q, summary %q", tt.tool, tt.arguments, r.Code, r.Summary)
		}
	}
	if r := s.Call(context.Background(), everything, 0, nil); r.Code != "tool/unknown" {
		t.Errorf("no call at all: %s", r.Output)
	}
}

func TestP16_CallAfterTheEnd(t *testing.T) {
	s, root := workspace(t, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := s.Call(ctx, everything, 0, call(t, "file_write", args{"path": "a", "content": "x"}))
	if r.Code != "tool/cancelled" {
		t.Errorf("a call after the end: %s", r.Output)
	}
	if s.Call(context.Background(), everything, 0, call(t, "file_read", args{"path": "a"})).Code != "tool/not-found" {
		t.Errorf("the file was written in %s", root)
	}
}

// graph is a decision graph that only counts.
type graph struct {
	logged  []*loomv1.AddDecision
	queries []tool.Query
	fail    error
}

func (g *graph) Log(_ context.Context, d *loomv1.AddDecision) (*loomv1.DecisionNode, error) {
	if g.fail != nil {
		return nil, g.fail
	}
	g.logged = append(g.logged, d)
	return &loomv1.DecisionNode{Id: fmt.Sprintf("d%d", len(g.logged))}, nil
}

func (g *graph) Query(_ context.Context, q tool.Query) ([]*loomv1.DecisionNode, error) {
	g.queries = append(g.queries, q)
	if q.Text == "none" {
		return nil, nil
	}
	return []*loomv1.DecisionNode{{
		Id: "d7", Type: loomv1.DecisionType_DECISION_TYPE_OPTION, Status: loomv1.DecisionStatus_DECISION_STATUS_SUPERSEDED,
		Confidence: 40, Title: "retry\nforever", Description: strings.Repeat("long ", 200),
	}}, g.fail
}

func TestTOOL01_DecisionLog(t *testing.T) {
	g := &graph{}
	s := tool.New(tool.Workspace{Root: t.TempDir()}, g)
	r := ok(t, do(t, s, "decision_log", args{
		"type": "decision", "title": "check the index", "description": "it is cheaper", "confidence": 0,
		"links": []args{{"kind": "chosen", "id": "d4"}, {"kind": "rejected", "id": "d3", "why": "slower"}, {"kind": "follows", "id": "d1"}},
	}))
	if r.Output != "logged as d1\n" || r.Summary != `d1: decision "check the index"` {
		t.Errorf("%q, %q", r.Output, r.Summary)
	}
	d := g.logged[0]
	if d.Request != "c1" || d.Node.Type != loomv1.DecisionType_DECISION_TYPE_DECISION || d.Node.Confidence != 0 || d.Node.Description != "it is cheaper" {
		t.Errorf("logged %v", d)
	}
	for i, want := range []*loomv1.DecisionEdge{
		{To: "d4", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN},
		{To: "d3", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED, Rationale: "slower"},
		{From: "d1", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO},
	} {
		if got := d.Links[i]; got.From != want.From || got.To != want.To || got.Type != want.Type || got.Rationale != want.Rationale {
			t.Errorf("link %d is %v", i, got)
		}
	}
	ok(t, do(t, s, "decision_log", args{"type": "option", "title": "x"}))
	if c := g.logged[1].Node.Confidence; c != 50 {
		t.Errorf("confidence is %d when none is given, want 50", c)
	}
	g.fail = fault.New("graph/unknown-node", "there is no node d9").At("/links/0/to")
	if r := do(t, s, "decision_log", args{"type": "option", "title": "x", "links": []args{{"kind": "requires", "id": "d9"}}}); r.Code != "graph/unknown-node" {
		t.Errorf("a refusal of the graph: %s", r.Output)
	}
	for _, a := range []args{
		{"type": "idea", "title": "x"},
		{"title": "x"},
		{"type": "option"},
		{"type": "option", "title": "x", "confidence": 101},
		{"type": "option", "title": "x", "links": []args{{"kind": "likes", "id": "d1"}}},
		{"type": "option", "title": "x", "links": []args{{"kind": "chosen", "id": "4"}}},
	} {
		if r := do(t, s, "decision_log", a); r.Code != "tool/arguments" {
			t.Errorf("decision_log %v: %s", a, r.Output)
		}
	}
}

func TestTOOL01_DecisionQuery(t *testing.T) {
	g := &graph{}
	s := tool.New(tool.Workspace{Root: t.TempDir()}, g)
	r := ok(t, do(t, s, "decision_query", args{"type": "option", "text": "retry"}))
	if want := "d7 option, superseded, 40%: retry forever\n    long long"; !strings.HasPrefix(r.Output, want) || len(r.Output) > 500 {
		t.Errorf("%q, want %q...", r.Output, want)
	}
	if want := (tool.Query{Type: loomv1.DecisionType_DECISION_TYPE_OPTION, Text: "retry", Limit: 20}); g.queries[0] != want {
		t.Errorf("asked %v, want %v", g.queries[0], want)
	}
	says(t, do(t, s, "decision_query", args{"text": "none"}), "nothing recorded matches")
	if r := do(t, tool.New(tool.Workspace{Root: t.TempDir()}, nil), "decision_query", args{}); r.Code != "tool/failed" {
		t.Errorf("without a graph: %s", r.Output)
	}
}

// A tool that breaks down answers, and takes nobody with it.
type broken struct{ tool.Decisions }

func TestF17_BrokenTool(t *testing.T) {
	s := tool.New(tool.Workspace{Root: t.TempDir()}, broken{})
	if r := do(t, s, "decision_query", args{}); r.Code != "tool/failed" || r.Status != loomv1.ToolStatus_TOOL_STATUS_ERROR {
		t.Errorf("%v %s", r.Status, r.Output)
	}
}
