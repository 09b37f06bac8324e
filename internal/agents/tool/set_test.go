package tool_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestTOOL01_QuietArgumentsAreTakenAndNotShown has what models give from habit and
// few calls need: no tool's schema names it, and a call that has it is carried out.
func TestTOOL01_QuietArgumentsAreTakenAndNotShown(t *testing.T) {
	s := tool.New(tool.Workspace{Root: t.TempDir()}, nil)
	all := map[string]string{}
	for _, spec := range s.Specs([]string{"file_search", "content_search", "git_log", "git_show", "decision_query", "spawn_agent", "task_assign", "delegate_task"}) {
		all[spec.Name] = string(spec.Schema)
		if spec.Name != "delegate_task" {
			for _, not := range []string{`"limit"`, `"depth"`, `"tokens"`, "quiet"} {
				if strings.Contains(all[spec.Name], not) {
					t.Errorf("%s: a model is shown %s: %s", spec.Name, not, all[spec.Name])
				}
			}
		}
	}
	for _, name := range []string{"spawn_agent", "task_assign"} {
		if !strings.Contains(all[name], `"acceptance":{"type":"string"}`) {
			t.Errorf("%s says again what delegate_task says: %s", name, all[name])
		}
	}
	if !strings.Contains(all["delegate_task"], `"tokens"`) {
		t.Error("no tool shows that a task can be bounded")
	}
	for name, arguments := range map[string]args{
		"file_search": {"pattern": "*", "limit": 3}, "content_search": {"pattern": "x", "limit": 3},
	} {
		if r := do(t, s, name, arguments); r.Status != loomv1.ToolStatus_TOOL_STATUS_OK {
			t.Errorf("%s %v: %s", name, arguments, r.Output)
		}
	}
	if _, err := tool.TeamCall(&loomv1.ToolCall{Id: "c1", Tool: "spawn_agent", Arguments: `{"role":"qa","goal":"g","acceptance":"a","tokens":5,"usd":1,"minutes":3}`}); err != nil {
		t.Errorf("a task that is bounded: %v", err)
	}
}

func TestTOOL02_Specs(t *testing.T) {
	s, _ := workspace(t, nil)
	var names []string
	for _, spec := range s.Specs(everything) {
		names = append(names, spec.Name)
		var schema struct {
			Type       string
			Properties map[string]any
			Required   []string
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema %s is not of an object (%v)", spec.Name, spec.Schema, err)
		}
		for _, name := range []string{"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "exclusiveMinimum", "pattern"} {
			if strings.Contains(string(spec.Schema), `"`+name+`":`) && schema.Properties[name] == nil {
				t.Errorf("%s: a model is shown %s: %s", spec.Name, name, spec.Schema)
			}
		}
		strict := s.Call(t.Context(), everything, 0, &loomv1.ToolCall{Id: "c1", Tool: spec.Name, Arguments: `{"surely_unknown": 1}`})
		if strict.Code != "tool/arguments" || !strings.Contains(strict.Output, "surely_unknown") {
			t.Errorf("%s takes an unknown argument: %s", spec.Name, strict.Output)
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
		{"rm", `{}`, "DENIED", "tool/unknown: tool: there is no tool of this name (got \"rm\"); you have file_read, file_edit\n"},
		{"shell", `{"command":"x"}`, "DENIED", "tool/denied: tool: your role may not use shell; you have file_read, file_edit\n"},
		{"file_read", ``, "ERROR", "tool/arguments: arguments: they are not one JSON object: EOF\n"},
		{"file_read", `{"path":"a`, "ERROR", "tool/arguments: arguments: they are not one JSON object: unexpected EOF\n"},
		{"file_read", `{"path":"a.txt"} {}`, "ERROR", "tool/arguments: arguments: they are not one JSON object: invalid character after top-level value\n"},
		{"file_read", `[]`, "ERROR", "tool/arguments: /: got array, want object\n"},
		{"file_read", `null`, "ERROR", "tool/arguments: /: got null, want object\n"},
		{"file_read", `{}`, "ERROR", "tool/arguments: /: missing property 'path'\n"},
		{"file_read", `{"path":""}`, "ERROR", "tool/arguments: /path: minLength: got 0, want 1\n"},
		{"file_read", `{"file":"a.txt","offset":"two","limit":0}`, "ERROR", "tool/arguments: /: missing property 'path'\n" +
			"tool/arguments: /: there is no such argument (got \"file\"); the arguments are limit, offset, path\ntool/arguments: /limit: minimum: got 0, want 1\ntool/arguments: /offset: got string, want integer\n"},
		{"file_read", `{"path":"a.txt","ofset":2}`, "ERROR", "tool/arguments: /: there is no such argument (got \"ofset\"); did you mean \"offset\"?\n"},
		{"file_edit", `{"path":"a.txt","old":"x","new":"y"}`, "ERROR", "tool/arguments: /: there is no such argument (got \"new\"); the arguments are edits, new_text, old_text, path, replace_all\n" +
			"tool/arguments: /: there is no such argument (got \"old\"); the arguments are edits, new_text, old_text, path, replace_all\n"},
		{"file_edit", `{"path":"a.txt","edits":[{"old_text":"x","new_text":"y","count":2}]}`, "ERROR", "tool/arguments: /edits/0: there is no such argument (got \"count\"); the arguments are new_text, old_text, replace_all\n"},
		{"file_read", `{"path":"a.txt","offset":1e300}`, "ERROR", ""},
		{"file_read", `{"path":"a.txt","offset":1.0}`, "", ""}, // an integer to JSON Schema
		{"file_read", `{"path":"a.txt","path":"../x"}`, "DENIED", ""},
		{"file_read", strings.Repeat(`[`, 20_000), "ERROR", ""},
		{"file_read", `{"path":"` + strings.Repeat("a", 2<<20) + `"}`, "ERROR", "tool/too-large: arguments: 2097163 bytes of arguments; at most 2097152 are taken\n"},
		{"file_read", "{\"path\":\"\xff\"}", "ERROR", "tool/arguments: arguments: they are not UTF-8\n"},
	} {
		c := &loomv1.ToolCall{Id: "c1", Tool: tt.tool, Arguments: tt.arguments}
		r := s.Call(context.Background(), []string{"file_read", "file_edit"}, 0, c)
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

// A tool that breaks down answers, and takes nobody with it.
type broken struct{ tool.Decisions }

func TestF17_BrokenTool(t *testing.T) {
	s := tool.New(tool.Workspace{Root: t.TempDir()}, broken{})
	if r := do(t, s, "decision_query", args{}); r.Code != "tool/failed" || r.Status != loomv1.ToolStatus_TOOL_STATUS_ERROR {
		t.Errorf("%v %s", r.Status, r.Output)
	}
}

// A set tells which of its tools lack what they need, and a call of one says what
// that is.
func TestTOOL02_UnusableTools(t *testing.T) {
	bare := tool.New(tool.Workspace{Root: t.TempDir(), Servers: []tool.LanguageServer{}}, nil)
	able := tool.New(tool.Workspace{Root: t.TempDir(), Exec: tool.Policy{Allow: true}, GitDir: "x", Servers: []tool.LanguageServer{{Command: []string{"sh"}}}}, &graph{})
	for name, want := range map[string]string{
		"shell": "tool/no-sandbox", "process": "tool/no-sandbox", "lsp_diagnostics": "tool/no-sandbox", "git_log": "tool/failed", "decision_log": "tool/failed", "web_fetch": "source/credentials",
		"file_read": "", "calculator": "",
	} {
		if got := len(bare.Unusable([]string{name})) == 1; got != (want != "") {
			t.Errorf("%s cannot be used: %t", name, got)
		}
		if got := len(able.Unusable([]string{name})) == 1; got != (name == "web_fetch") {
			t.Errorf("where there is all but sources, %s cannot be used: %t", name, got)
		}
		arguments := map[string]args{"shell": {"command": "true"}, "process": {"id": "x"}, "lsp_diagnostics": {"paths": []string{"a.go"}}, "decision_log": {"type": "goal", "title": "x"}, "web_fetch": {"url": "x"}}[name]
		if arguments == nil {
			arguments = args{}
		}
		if r := do(t, bare, name, arguments); want != "" && r.Code != want {
			t.Errorf("%s answers %s %s, want %s", name, r.Code, r.Output, want)
		}
	}
}
