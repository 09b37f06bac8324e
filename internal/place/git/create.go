package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
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
	c := call{gitDir: filepath.Join(dir, ".git"), workTree: dir, env: person}
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
	_, err = c.run(ctx, "commit", "--quiet", "--no-verify", "--allow-empty", "--message", message)
	return err
}

// Import makes the given files, and no others, the content of a repository's
// checkout and of a new commit on its branch; a repository that is not there is
// made by [Create]. Where nothing is different there is no new commit. It is
// for repositories that Loom made itself: what the checkout holds otherwise is
// gone, .git excepted.
func Import(ctx context.Context, dir, branch, message string, files []File) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); errors.Is(err, fs.ErrNotExist) {
		return Create(ctx, dir, branch, message, files)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fault.New("git/failed", "not a path: %s", err).At(dir)
	}
	if err := empty(dir); err != nil {
		return fault.New("git/failed", "the checkout cannot be emptied: %s", err).At(dir)
	}
	for _, f := range files {
		if err := writeFile(dir, f); err != nil {
			return fault.New("git/failed", "file cannot be written: %s", err).At(f.Path)
		}
	}
	c := call{gitDir: filepath.Join(dir, ".git"), workTree: dir, env: person}
	if _, err := c.run(ctx, "add", "--all", "--", "."); err != nil {
		return err
	}
	if _, err := c.run(ctx, "diff", "--cached", "--quiet", "--exit-code"); err == nil {
		return nil
	}
	_, err = c.run(ctx, "commit", "--quiet", "--no-verify", "--message", message)
	return err
}

// empty removes everything from a checkout but its .git.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != ".git" && err == nil {
			err = discard.All(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// person is the author of what no agent made.
var person = []string{
	"GIT_AUTHOR_NAME=A person", "GIT_AUTHOR_EMAIL=person@example.com",
	"GIT_COMMITTER_NAME=A person", "GIT_COMMITTER_EMAIL=person@example.com",
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
