package git

import (
	"context"
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/fault"
)

// File is a file of a repository that is made by Create.
type File struct {
	Path string // relative, with slashes
	Data []byte
	Exec bool // executable
}

// Create makes a repository with a checkout in dir, which must not exist or be
// empty, whose branch has one commit with the given files. Files whose path
// begins with ".git/" are put there and not committed, hooks for example. The
// commit is "A person"'s: nothing of Loom's made it.
func Create(ctx context.Context, dir, branch, message string, files []File) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fault.New("git/not-a-repository", "directory is not empty").At(dir)
	}
	dir, err := filepath.Abs(dir) // git runs in it, and is told where it is
	if err != nil {
		return fault.New("git/failed", "not a path: %s", err).At(dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.New("git/failed", "directory cannot be made: %s", err).At(dir)
	}
	c := call{gitDir: filepath.Join(dir, ".git"), workTree: dir, env: []string{
		"GIT_AUTHOR_NAME=A person", "GIT_AUTHOR_EMAIL=person@example.com",
		"GIT_COMMITTER_NAME=A person", "GIT_COMMITTER_EMAIL=person@example.com",
	}}
	if _, err := (call{dir: dir}).run(ctx, "init", "--quiet", "--template=", "--initial-branch="+branch, dir); err != nil {
		return err
	}
	for _, f := range files {
		if err := writeFile(dir, f); err != nil {
			return fault.New("git/failed", "file cannot be written: %s", err).At(f.Path)
		}
	}
	if _, err := c.run(ctx, "add", "--all", "--", "."); err != nil {
		return err
	}
	_, err = c.run(ctx, "commit", "--quiet", "--no-verify", "--message", message)
	return err
}

func writeFile(dir string, f File) error {
	path := filepath.Join(dir, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if f.Exec {
		mode = 0o755
	}
	return os.WriteFile(path, f.Data, mode)
}

// Show returns a commit as text for people: who, when, why, the trailers, and
// its patch.
func (r *Repository) Show(ctx context.Context, commit string) (string, error) {
	out, err := r.git().run(ctx, "show", "--no-color", "--no-ext-diff", "--no-textconv", "--format=fuller", commit, "--")
	return string(out), err
}
