package git

import "path/filepath"

// GitDir returns the git directory that Loom keeps of the workspace, which no
// agent can write, and Index the index that belongs to it. They are for
// reading.
func (w *Worktree) GitDir() string { return w.path() }

// GitDir returns the git directory of all work trees of the project: nobody who works
// in one of them can write it. It is there once a checkout was made.
func (ws *Workspaces) GitDir() string { return ws.path() }

// CopyIndex writes the index of a checkout in dir to a file, before anybody has
// worked in it: git compares the files with the copy as it would with the index.
func CopyIndex(dir, to string) error { return copyIndex(filepath.Join(dir, ".git", "index"), to) }

// Index returns Loom's index of the workspace.
func (w *Worktree) Index() string { return w.indexPath(w.execution) }
