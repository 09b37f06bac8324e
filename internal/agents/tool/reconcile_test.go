package tool_test

import (
	"context"
	"path/filepath"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestACT04_Reconcile(t *testing.T) {
	edit := func(old, now string) args { return args{"path": "f", "old_text": old, "new_text": now} }
	several := func(a, b, c, d string) args {
		return args{"path": "f", "edits": []args{{"old_text": a, "new_text": b}, {"old_text": c, "new_text": d}}}
	}
	for _, tt := range []struct {
		tool string
		args args
		file string // the content of f; "-" when there is none
		want string // "ran", "again" or "unknown"
	}{
		{"file_write", args{"path": "f", "content": "new"}, "new", "ran"},
		{"file_write", args{"path": "f", "content": "new"}, "old", "again"},
		{"file_write", args{"path": "f", "content": "new"}, "-", "again"},
		{"file_write", args{"path": "f", "content": ""}, "-", "again"},
		{"file_write", args{"path": "f", "content": ""}, "", "ran"},
		{"file_write", args{"path": "../f", "content": ""}, "", "again"}, // is refused again

		{"file_edit", edit("old", "new"), "a new b", "ran"},
		{"file_edit", edit("old", "new"), "a old b", "again"},
		{"file_edit", edit("old", "new"), "a old new b", "again"},
		{"file_edit", edit("old", "new"), "a b", "unknown"},
		{"file_edit", edit("old", "new"), "new new", "unknown"},
		{"file_edit", edit("old", "new"), "old old", "unknown"},
		{"file_edit", edit("old", "new"), "-", "again"},
		{"file_edit", edit("old", "old and more"), "a old b", "again"},
		{"file_edit", edit("old", "old and more"), "a old and more b", "ran"},
		{"file_edit", edit("old", "old old"), "old", "again"},
		{"file_edit", edit("old", "old old"), "old old", "ran"},
		{"file_edit", edit("older", "old"), "older", "again"},
		{"file_edit", edit("older", "old"), "old", "ran"},
		{"file_edit", edit("old", ""), "old", "again"},
		{"file_edit", edit("old", ""), "", "unknown"},
		{"file_edit", edit("old", "old"), "old", "again"}, // is refused again
		{"file_edit", several("a", "1", "b", "2"), "1 2", "ran"},
		{"file_edit", several("a", "1", "b", "2"), "a b", "again"},
		{"file_edit", several("a", "1", "b", "2"), "a 2", "unknown"},
		{"file_edit", several("a", "1", "b", ""), "1 ", "unknown"},
		{"file_edit", args{"path": "f", "old_text": "a", "new_text": "aa", "replace_all": true}, "aa", "unknown"},

		{"file_read", args{"path": "f"}, "x", "again"},
		{"content_search", args{"pattern": "f"}, "x", "again"},
		{"decision_log", args{"type": "option", "title": "x"}, "x", "again"},
		{"decision_vote", args{"decision": "d5", "option": "d3"}, "x", "again"},
		{"delegate_task", args{"role": "researcher", "goal": "look", "acceptance": "seen"}, "x", "again"},
		{"shell", args{"command": "make"}, "x", "unknown"},
		{"shell", args{"cmd": "make"}, "x", "again"}, // cannot have run
		{"no_such_tool", args{}, "x", "again"},
	} {
		s, root := workspace(t, nil)
		if tt.file != "-" {
			put(t, root, map[string]string{"f": tt.file})
		}
		r, settled := s.Reconcile(context.Background(), call(t, tt.tool, tt.args))
		got := "again"
		switch {
		case settled && r.Status == loomv1.ToolStatus_TOOL_STATUS_OK:
			got = "ran"
		case settled && r.Status == loomv1.ToolStatus_TOOL_STATUS_UNKNOWN:
			got = "unknown"
		case settled:
			got = r.Status.String()
		}
		if got != tt.want {
			t.Errorf("Reconcile %s %v with %q: %s, want %s (%s)", tt.tool, tt.args, tt.file, got, tt.want, r.Summary)
		}
		if got == "ran" && (len(r.Changed) != 1 || r.Changed[0] != "f") {
			t.Errorf("Reconcile %s %v: changed %q", tt.tool, tt.args, r.Changed)
		}
	}
}

// To make a call again that was settled as "again" ends as it would have, and
// once made it is settled: cut off at any point, a write is done once.
func TestACT04_CutOffAnywhere(t *testing.T) {
	c := call(t, "file_edit", args{"path": "f", "old_text": "two\n", "new_text": "two\nand a half\n"})
	s, root := workspace(t, map[string]string{"f": "one\ntwo\nthree\n"})
	for range 3 {
		if _, settled := s.Reconcile(context.Background(), c); !settled {
			ok(t, s.Call(context.Background(), everything, 0, c))
		}
		if got := get(t, root, "f"); got != "one\ntwo\nand a half\nthree\n" {
			t.Fatalf("the file is %q", got)
		}
	}
}

// The draft that a call leaves when its host dies is swept away by the call
// itself, made again, and by Reconcile.
func TestACT04_DraftIsSwept(t *testing.T) {
	c := call(t, "file_write", args{"path": "f", "content": "new"})
	s, root := workspace(t, nil)
	draft := s.Draft("f", c.Id)
	for name, resume := range map[string]func(){
		"again":     func() { ok(t, s.Call(context.Background(), everything, 0, c)) },
		"reconcile": func() { s.Reconcile(context.Background(), c) },
	} {
		put(t, root, map[string]string{draft: "ne"})
		resume()
		if left, _ := filepath.Glob(filepath.Join(root, ".loom-*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}
