package git

// GitDir returns the git directory that Loom keeps of the workspace, which no
// agent can write, and Index the index that belongs to it. They are for
// reading.
func (w *Worktree) GitDir() string { return w.path() }

// Index returns Loom's index of the workspace.
func (w *Worktree) Index() string { return w.indexPath(w.execution) }
