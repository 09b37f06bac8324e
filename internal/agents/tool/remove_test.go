package tool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/tool"
)

// A file goes that was made by mistake; what others deliver stays, whichever tool is to take
// it away, and so does what is no file of the workspace.
func TestTOOL01_AFileIsRemoved(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"draft.md": "x", "dir/report.md": "y", "old.md": "z\n"})
	if err := os.Symlink("draft.md", filepath.Join(root, "link.md")); err != nil {
		t.Fatal(err)
	}
	s := tool.New(tool.Workspace{Root: root, Kept: func(path string) string {
		if path == "dir/report.md" {
			return "phase report delivers it"
		}
		return ""
	}}, nil)
	if r := ok(t, do(t, s, "file_remove", args{"path": "./draft.md"})); r.Output != "removed draft.md\n" || len(r.Changed) != 1 || r.Changed[0] != "draft.md" {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(root, "draft.md")); err == nil {
		t.Error("it is still there")
	}
	for path, want := range map[string]string{
		"draft.md": "tool/not-found", "dir": "tool/failed", "../x": "tool/outside", "link.md": "tool/", "dir/report.md": "tool/denied: path: phase report delivers it",
	} {
		if r := do(t, s, "file_remove", args{"path": path}); !strings.HasPrefix(r.Output, want) {
			t.Errorf("%s: %q, want %s", path, r.Output, want)
		}
	}
	for _, patch := range []string{"*** Delete File: dir/report.md", "*** Update File: dir/report.md\n*** Move to: mine.md\n-y\n+z"} {
		if r := do(t, s, "apply_patch", args{"patch": "*** Begin Patch\n" + patch + "\n*** End Patch"}); r.Code != "tool/denied" {
			t.Errorf("%s: %q", patch, r.Output)
		}
	}
	if got := get(t, filepath.Join(root, "dir/report.md")); got != "y" {
		t.Errorf("it has %q", got)
	}
	c := call(t, "file_remove", args{"path": "old.md"})
	if _, known := s.Reconcile(t.Context(), c); known {
		t.Error("what was not carried out is said to have been")
	}
	ok(t, do(t, s, "file_remove", args{"path": "old.md"}))
	if r, known := s.Reconcile(t.Context(), c); !known || r.Output != "removed old.md\n" {
		t.Errorf("%+v, %t", r, known)
	}
	readOnly := tool.New(tool.Workspace{Root: root, ReadOnly: true}, nil)
	if r := do(t, readOnly, "file_remove", args{"path": "dir/report.md"}); r.Code != "tool/denied" {
		t.Errorf("in a checkout: %q", r.Output)
	}
}
