package agent

import (
	"context"

	"github.com/loomrun/loom/internal/place/git"
)

// Retire removes the worktree of an execution that has ended, and says whether it
// is gone: it stays as long as somebody still works in it. What it held is saved
// as [git.Workspaces.Remove] says, told to saved, and is there again when the execution
// goes on.
func (w *Worker) Retire(ctx context.Context, repo *Repository, execution string, saved func(*git.Saved) error) (gone bool, err error) {
	entry, done := w.trees.use(execution)
	defer done()
	return entry.unused(func() error { return repo.Workspaces.Pooled(w.kept()).Remove(ctx, execution, saved) })
}

// Trim removes checkouts of a project that are kept: those that nobody has wanted
// for some time, or all. It returns how many.
func (w *Worker) Trim(project string, all bool) (int, error) { return w.kept().Trim(project, all) }
