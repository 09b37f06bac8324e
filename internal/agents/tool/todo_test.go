package tool_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestTOOL01_TodoReplacesTheWholeList(t *testing.T) {
	s := tool.New(tool.Workspace{Root: t.TempDir()}, nil)
	item := func(text, status string) args { return args{"text": text, "status": status} }
	r := ok(t, do(t, s, "todo", args{"items": []args{item("read  the\ncode", "done"), item("mend it", "in_progress"), item("test it", "pending")}}))
	want := &loomv1.TodoList{Items: []*loomv1.TodoItem{
		{Text: "read the code", Status: loomv1.TodoStatus_TODO_STATUS_DONE},
		{Text: "mend it", Status: loomv1.TodoStatus_TODO_STATUS_IN_PROGRESS},
		{Text: "test it", Status: loomv1.TodoStatus_TODO_STATUS_PENDING},
	}}
	if diff := cmp.Diff(want, r.Todo, protocmp.Transform()); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
	if r.Output != "1 of 3 done\n" || r.Summary != "1 of 3 done, now mend it" {
		t.Errorf("output %q, summary %q", r.Output, r.Summary)
	}
	if r := ok(t, do(t, s, "todo", args{"items": []args{}})); r.Todo == nil || len(r.Todo.Items) != 0 {
		t.Errorf("an empty list is %v", r.Todo)
	}
	many := make([]args, 31)
	for i := range many {
		many[i] = item("step", "pending")
	}
	for want, a := range map[string]args{
		"tool/arguments: /items: maxItems: got 31, want 30":                      {"items": many},
		"tool/arguments: /items/0/status: value must be one of":                  {"items": []args{item("x", "completed")}},
		"tool/arguments: /items/1/text: it has 201 bytes; 1 to 200, on one line": {"items": []args{item("x", "done"), item(strings.Repeat("y", 201), "done")}},
		"tool/arguments: /items/0/text: it has 0 bytes; 1 to 200, on one line":   {"items": []args{item("\n", "done")}},
		"tool/arguments: /: missing property 'items'":                            {},
	} {
		if r := do(t, s, "todo", a); r.Todo != nil || !strings.HasPrefix(r.Output, want) {
			t.Errorf("todo %v:\n%s, want\n%s", a, r.Output, want)
		}
	}
}
