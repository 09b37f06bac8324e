package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// whole are the files of a sketch that have their content.
var whole = []string{".gitignore", "npm-shrinkwrap.json", "package.json", "package-lock.json", ".yarnrc.yml"}

// Sketch makes a repository in dir, which must not exist or be empty, that has the
// files at the top of a commit: empty, but for .gitignore and those that say what
// npm and Yarn install. It shows what the commit's checkout would be without writing one.
func (r *Repository) Sketch(ctx context.Context, commit, dir string) error {
	out, err := r.git().run(ctx, "ls-tree", "-z", "--full-tree", commit)
	if err != nil {
		return err
	}
	var files []File
	for _, entry := range splitNUL(out) {
		meta, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(meta, "100") || name != filepath.Base(name) || strings.HasPrefix(name, ".git") && name != ".gitignore" {
			continue
		}
		f := File{Path: name}
		if slices.Contains(whole, name) {
			if f.Data, _, err = r.content(ctx, commit, name); err != nil {
				return err
			}
		}
		files = append(files, f)
	}
	return Create(ctx, dir, "main", "sketch", files)
}

// Spared reports whether a change would not have what a command makes in a sketch,
// a directory if name ends with a slash: git has it already, or ignores it by the
// files of the repository alone. It makes it.
func Spared(ctx context.Context, dir, name string) (bool, error) {
	made := name
	if strings.HasSuffix(name, "/") {
		made += "file"
	}
	if _, err := os.Lstat(filepath.Join(dir, made)); errors.Is(err, fs.ErrNotExist) {
		if err := writeFile(dir, File{Path: made}); err != nil {
			return false, err
		}
	}
	out, err := call{gitDir: filepath.Join(dir, ".git"), workTree: dir}.run(ctx, "ls-files", "--others", "--exclude-per-directory=.gitignore", "-z", "--", name)
	return len(out) == 0, err
}
