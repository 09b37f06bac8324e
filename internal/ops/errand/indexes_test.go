package errand

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/core/provenance"
)

// An index that a person has changed is theirs: the same run leaves it alone when it is
// repeated, and the next run has it for material, as it has not what nobody has changed.
func TestPROC05_AnIndexThatAPersonHasChangedIsTheirs(t *testing.T) {
	dir := t.TempDir()
	files := []File{{Path: "a.md", Written: filepath.Join(dir, "a.md")}}
	index := func(execution string) *provenance.Index {
		return &provenance.Index{
			Goal: "Is <it> so?", Execution: execution, Status: "completed", Began: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC),
			Files: []provenance.File{{Path: "a.md"}}, Attempts: []*provenance.Attempt{{ID: "a1", Models: []string{"m"}}},
		}
	}
	write := func(i *provenance.Index, want string) {
		t.Helper()
		if at, err := writeIndex(dir, i, files); err != nil || filepath.Base(at) != want {
			t.Fatalf("the index of %s is %s, %v; want %s", i.Execution, at, err, want)
		}
	}
	material := func(want ...string) {
		t.Helper()
		w := &workspace{dir: dir, before: map[string]string{}}
		read, err := w.read()
		var names []string
		for _, f := range read {
			names = append(names, f.Path)
		}
		if err != nil || !slices.Equal(names, want) || w.before["README.md"] == "" {
			t.Errorf("%q are material, %v; want %q", names, err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("a"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(index("p-1-x1"), "README.md")
	again := index("p-1-x1")
	again.Calls = 3
	write(again, "README.md")
	write(index("p-2-x1"), "README-p-2-x1.md")
	material("a.md")

	readme := filepath.Join(dir, "README.md")
	if err := os.WriteFile(readme, []byte("What I make of it."), 0o600); err != nil {
		t.Fatal(err)
	}
	write(index("p-1-x1"), "README-p-1-x1.md")
	if text, err := os.ReadFile(readme); err != nil || !strings.HasPrefix(string(text), "What I make of it.") {
		t.Errorf("the person's file is %q, %v", text, err)
	}
	material("README.md", "a.md")
}
