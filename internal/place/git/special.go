package git

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Plain refuses, as git/unsupported, a work tree with pipes, sockets or devices in it.
// No patch has them, but commands run in the tree itself wait for them without end:
// a build opens a pipe named x.go as it does every other file. It opens nothing.
func (w *Worktree) Plain(ctx context.Context) error {
	const told = 5
	var found []string
	err := filepath.WalkDir(w.Path(), func(path string, d fs.DirEntry, _ error) error { // what cannot be listed, nobody opens
		if d != nil && d.Type()&^(fs.ModeDir|fs.ModeSymlink) != 0 && len(found) < told {
			rel, err := filepath.Rel(w.Path(), path)
			found = append(found, rel)
			return err
		}
		return ctx.Err()
	})
	if err != nil || len(found) == 0 {
		return err
	}
	slices.Sort(found)
	return fault.New("git/unsupported", "these are pipes, sockets or devices, which commands wait for without end").
		Got(strings.Join(found, ", ")).Want("remove them")
}
