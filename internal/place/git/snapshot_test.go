package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPROC05_DraftsAreNoWork has phases that write files side by side: what one
// of them has begun to write is in no change, wherever it lies, whatever it holds,
// and whether or not it is there any more; what only looks like it is.
func TestPROC05_DraftsAreNoWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write(".loom-of-theirs.draft", "the repository has it\n")
	f.user("add", "-f", ".loom-of-theirs.draft")
	f.user("commit", "-q", "-m", "a file of this name")
	w := f.workspace(1)
	drafts := []string{".loom-0a1b.draft", "dir/.loom-2c3d.draft", "new/deep/.loom-4e5f.draft"}
	for _, name := range drafts {
		write(t, w.Path(), name, "half a fi")
	}
	_, _, err := w.Change(t.Context())
	wantCode(t, err, "git/no-change")

	work := []string{".loom-of-theirs.draft", ".loom-note.draft.txt", "loom-0a1b.draft", ".loom.draft", "new/report.md"}
	for _, name := range work {
		write(t, w.Path(), name, "whole\n")
	}
	if err := os.Chmod(filepath.Join(w.Path(), drafts[0]), 0); err != nil { // it could not be read
		t.Fatal(err)
	}
	change, diff, err := w.Change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, file := range change.GetFiles() {
		got[file.GetPath()] = true
	}
	for _, name := range work {
		if !got[name] {
			t.Errorf("%s is missing", name)
		}
	}
	if len(got) != len(work) || strings.Contains(string(diff), "half a fi") {
		t.Errorf("the change has %v", got)
	}
	for _, name := range drafts {
		if err := os.Remove(filepath.Join(w.Path(), name)); err != nil {
			t.Errorf("the draft is gone from the workspace: %v", err)
		}
	}
	if again, _, err := w.Change(t.Context()); err != nil || again.GetTree() != change.GetTree() {
		t.Errorf("without the drafts it is another change: %v, %v", again, err)
	}
}
