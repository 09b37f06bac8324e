package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var everything = []string{
	"file_read", "file_write", "file_edit", "file_remove", "apply_patch", "file_search", "content_search", "directory_list",
	"shell", "process", "lsp_diagnostics", "git_status", "git_diff", "git_log", "git_show", "git_blame", "decision_log", "decision_query", "decision_vote", "decision_ballot", "memory_keep", "memory_search",
	"calculator", "spreadsheet", "document_write", "chart_data", "comparison_matrix", "template_fill", "data_analysis",
	"web_fetch", "web_search", "web_feed", "wikipedia", "arxiv", "openalex", "sec_edgar", "alpha_vantage", "fred", "world_bank", "reference_data", "todo", "output_read",
	"delegate_task", "spawn_agent", "task_assign", "sub_agent", "agent_list", "agent_watch", "agent_stop", "team_write", "ask_user",
}

type args map[string]any

// call makes a tool call of arguments.
func call(t testing.TB, name string, a args) *loomv1.ToolCall {
	t.Helper()
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return &loomv1.ToolCall{Id: "c1", Tool: name, Arguments: string(data)}
}

func do(t testing.TB, s *tool.Set, name string, a args) tool.Result {
	t.Helper()
	return s.Call(context.Background(), everything, 0, call(t, name, a))
}

// put writes files below dir, by slashed paths.
func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func get(t testing.TB, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// workspace is a directory with files and the tools on it.
func workspace(t testing.TB, files map[string]string) (*tool.Set, string) {
	t.Helper()
	root := t.TempDir()
	put(t, root, files)
	return tool.New(tool.Workspace{Root: root}, nil), root
}

func ok(t testing.TB, r tool.Result) tool.Result {
	t.Helper()
	if r.Status != loomv1.ToolStatus_TOOL_STATUS_OK {
		t.Fatalf("%s (%s): %s", r.Status, r.Summary, r.Output)
	}
	return r
}

// says fails unless the output has all the words.
func says(t testing.TB, r tool.Result, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.Output, w) {
			t.Errorf("output lacks %q:\n%s", w, r.Output)
		}
	}
}
