package git

import (
	"path/filepath"
	"testing"
)

func TestLOCK05_OneRepositoryByItsPaths(t *testing.T) {
	f := newFixture(t)
	linked, bare, clone := filepath.Join(t.TempDir(), "linked"), filepath.Join(t.TempDir(), "bare"), filepath.Join(t.TempDir(), "clone")
	for _, args := range [][]string{{"worktree", "add", "-q", linked, "-b", "side"}, {"clone", "-q", "--bare", f.top, bare}, {"clone", "-q", f.top, clone}} {
		if out, err := tryGit(f.top, args...); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	for other, same := range map[string]bool{
		f.top: true, filepath.Join(f.top, ".git"): true, linked: true, filepath.Join(f.top, ".git", "worktrees", "linked"): true,
		bare: false, clone: false, t.TempDir(): false, filepath.Join(f.top, "nothing"): false,
	} {
		if got := Same(f.top, other); got != same {
			t.Errorf("Same(%s): %t", other, got)
		}
	}
	if !Same(bare, bare) || Same(t.TempDir(), t.TempDir()) {
		t.Error("a bare repository is not itself, or two empty directories are one")
	}
}
