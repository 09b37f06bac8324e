package agent

import "context"

// Retire removes the worktree of an execution that has ended, and says whether it
// is gone: it stays as long as somebody still works in it. What it held is saved
// as [git.Workspaces.Remove] says, and is there again when the execution goes on.
func (w *Worker) Retire(ctx context.Context, repo *Repository, execution string) (gone bool, err error) {
	entry, done := w.trees.use(execution)
	defer done()
	return entry.unused(func() error { return repo.Workspaces.Pooled(w.kept()).Remove(ctx, execution) })
}

// Trim removes checkouts of a project that are kept: those that nobody has wanted
// for some time, or all. It returns how many.
func (w *Worker) Trim(project string, all bool) (int, error) { return w.kept().Trim(project, all) }
