package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

// TestREAL04_SavedWorkHasAnEnd gives up what was saved of one execution: its refs
// here and where hosts share it, and what could not be a commit. Another whose id
// begins alike, and one that has a workspace, keep theirs.
func TestREAL04_SavedWorkHasAnEnd(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	for _, n := range []int{1, 11, 2} { // b1-x1, b11-x1, b2-x1
		w := f.workspace(n)
		write(t, w.Path(), "a.txt", "unfinished\n")
		if err := w.Share(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n != 2 {
			if err := f.ws.Remove(t.Context(), execution(n), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine, other := filepath.Join(f.data, "kept", "b1-x1-1"), filepath.Join(f.data, "kept", "b1-x1-1-x1-1")
	for _, dir := range []string{mine, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	saved, err := f.ws.Saved(t.Context())
	if want := []string{"b1-x1", "b11-x1", "b2-x1"}; err != nil || !slices.Equal(saved, want) {
		t.Fatalf("saved are %q, %v; want %q", saved, err, want)
	}
	for range 2 { // again changes nothing
		if err := f.ws.Forget(t.Context(), "b1-x1", "b2-x1", "b9-x1"); err != nil {
			t.Fatal(err)
		}
	}
	saved, err = f.ws.Saved(t.Context())
	if want := []string{"b11-x1", "b2-x1"}; err != nil || !slices.Equal(saved, want) {
		t.Errorf("after one was given up there are %q, %v; want %q", saved, err, want)
	}
	for execution, want := range map[string]bool{"b1-x1": false, "b11-x1": true, "b2-x1": true} {
		if got := f.head(sharedRef(execution)) != ""; got != want {
			t.Errorf("%s is shared: %t, want %t", execution, got, want)
		}
	}
	if exists(mine) || !exists(other) {
		t.Error("what was kept of the one is still there, or that of another is gone")
	}
}
