package console_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/cli/console"
)

// TestCLI01_ABranchIsCutFromAPath has an @ in paths and slashes in branches.
func TestCLI01_ABranchIsCutFromAPath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"shop", "we @ird", "x@main"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ in, path, branch string }{
		{"shop", "shop", ""},
		{"shop@main", "shop", "main"},
		{"shop@feature/x", "shop", "feature/x"},
		{"shop@a@b", "shop", "a@b"},
		{"we @ird", "we @ird", ""},
		{"we @ird@feature/x", "we @ird", "feature/x"},
		{"x@main", "x@main", ""},
		{"x@main@main", "x@main", "main"},
		{"gone@main", "gone", "main"},
		{"g@ne/shop", "g@ne/shop", ""},
	} {
		path, branch := console.CutBranch(filepath.Join(dir, tt.in))
		if path != filepath.Join(dir, tt.path) || branch != tt.branch {
			t.Errorf("%q is %q and %q, want %q and %q", tt.in, path, branch, tt.path, tt.branch)
		}
	}
}
