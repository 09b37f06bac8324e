package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// commitHooks are the hooks that can refuse a commit, in the order in which
// git runs them.
var commitHooks = []string{"pre-commit", "prepare-commit-msg", "commit-msg"}

const (
	hookFiles = 10_000   // most files of a hooks directory
	hookBytes = 64 << 20 // most bytes of one
	hookDepth = 16
)

// hooks are the registered repository's, copied to where they run.
type hooks struct{ dir string }

// find returns a hook's path, and whether git would run it. A file that is
// not executable is no hook; there says that it exists.
func (h hooks) find(name string) (path string, runs, there bool) {
	path = filepath.Join(h.dir, name)
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return path, false, false
	}
	return path, info.Mode()&0o111 != 0, true
}

// first returns the name of a hook that would run, or "".
func (h hooks) first() string {
	for _, name := range commitHooks {
		if _, runs, _ := h.find(name); runs {
			return name
		}
	}
	return ""
}

// hooksPath returns what the registered repository itself says, "" for nothing.
func (r *Repository) hooksPath(ctx context.Context) (string, error) {
	for _, scope := range []string{"--worktree", "--local"} {
		path, err := r.local(ctx, scope, "core.hooksPath")
		if err != nil || path != "" {
			return expandHome(path), err
		}
	}
	return "", nil
}

// local reads one key from the registered repository's own configuration, and
// from no other.
func (r *Repository) local(ctx context.Context, scope, key string) (string, error) {
	value, err := call{gitDir: r.gitDir}.line(ctx, "config", scope, "--includes", "--get", key)
	if code := exitCode(err); code == 1 || scope == "--worktree" && code > 1 {
		return "", nil // absent, or no configuration of single work trees
	}
	return value, err
}

// HasHooks says whether a commit may have hooks to run. It is asked before anything
// is made ready for them: of hooks that lie among the files, the answer is yes.
func (r *Repository) HasHooks(ctx context.Context) (bool, error) {
	path, err := r.hooksPath(ctx)
	return path != "" || hooks{filepath.Join(r.common, "hooks")}.first() != "", err
}

func expandHome(path string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	home, err := os.UserHomeDir()
	if !ok || err != nil {
		return path
	}
	return filepath.Join(home, rest)
}

// gather copies the hooks that the repository is registered with to where nothing
// that they start may change them: a hook that runs what the change has brought
// must not lose the hooks behind it. Those under a relative core.hooksPath are taken as the target has them, never as the
// change would have them, with what the user's checkout adds to them untracked.
func (s *stage) gather(ctx context.Context) error {
	s.hooks = hooks{s.hookTree()}
	path, err := s.repo.hooksPath(ctx)
	if err != nil {
		return err
	}
	top := s.repo.top()
	switch {
	case path == "":
		return copyTree(filepath.Join(s.repo.common, "hooks"), s.hooks.dir)
	case filepath.IsAbs(path):
		return copyTree(path, s.hooks.dir)
	case top == "":
		return copyTree(filepath.Join(s.repo.common, path), s.hooks.dir)
	case !filepath.IsLocal(path) || filepath.Clean(path) == ".":
		return fault.New("git/unsupported", "core.hooksPath must lie in a directory of the repository").Got(path)
	}
	s.hooks.dir = filepath.Join(s.hookTree(), path)
	if err := copyTree(filepath.Join(top, path), s.hooks.dir); err != nil {
		return err
	}
	return s.tracked(ctx, strings.Split(filepath.Clean(path), "/")[0])
}

// top returns the registered checkout, "" for a bare repository.
func (r *Repository) top() string {
	if r.gitDir != r.common {
		return r.path
	}
	return r.main
}

func (s *stage) hookTree() string { return filepath.Join(s.room, "hooks") }

// tracked writes what the target has under one top directory over the copy.
func (s *stage) tracked(ctx context.Context, under string) error {
	files := s.over(s.hookTree(), filepath.Join(s.room, "hooks-index"))
	defer os.Remove(files.index)
	if err := os.MkdirAll(s.hookTree(), 0o700); err != nil {
		return err
	}
	if _, err := files.run(ctx, "read-tree", s.tip); err != nil {
		return err
	}
	paths, err := files.run(ctx, "ls-files", "-z", "--", under)
	if err != nil {
		return err
	}
	files.stdin = joinNUL(splitNUL(paths))
	_, err = files.run(ctx, "checkout-index", "-f", "-z", "--stdin")
	return err
}

// copyTree copies files with their modes. Symbolic links are followed, as they
// would be by who runs them; what is not there is nothing.
func copyTree(from, to string) error {
	c := copier{files: hookFiles, bytes: hookBytes}
	err := c.copy(from, to, hookDepth)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

type copier struct {
	files int
	bytes int64
}

func (c *copier) copy(from, to string, depth int) error {
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return c.copyDir(from, to, depth)
	case !info.Mode().IsRegular():
		return nil
	}
	c.files--
	c.bytes -= info.Size()
	if c.files < 0 || c.bytes < 0 {
		return fault.New("git/too-large", "the hooks directory has more than %d files or %d MiB", hookFiles, hookBytes>>20)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, info.Mode().Perm()|0o600)
}

func (c *copier) copyDir(from, to string, depth int) error {
	if depth == 0 {
		return fault.New("git/too-large", "the hooks directory is nested deeper than %d", hookDepth)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		err := c.copy(filepath.Join(from, e.Name()), filepath.Join(to, e.Name()), depth-1)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a dangling link is no hook
			return err
		}
	}
	return nil
}
