package git

import (
	"context"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Joined is what several changes are together, on the newest tip of the target.
type Joined struct {
	Base, Commit, Tree string
	// Conflicts are the files that have git's conflict marks in Tree.
	Conflicts []string
}

// Join puts changes one after the other on the newest tip of the target, in the
// mirror alone: no workspace is touched. A change that is given twice adds
// nothing; one that began with another should be given without that. The same
// changes on the same tip are the same commit.
func (ws *Workspaces) Join(ctx context.Context, changes ...*loomv1.Change) (*Joined, error) {
	tip, err := ws.sync(ctx, ws.target)
	if err != nil {
		return nil, err
	}
	j := &Joined{Base: tip, Tree: tip}
	for _, c := range changes {
		if err := ws.fetch(ctx, c.GetCommit()); err != nil {
			return nil, err
		}
		tree, conflicts, err := ws.merge(ctx, c.GetBase(), j.Tree, c.GetCommit())
		if err != nil {
			return nil, err
		}
		j.Tree, j.Conflicts = tree, append(j.Conflicts, conflicts...)
	}
	j.Commit, err = ws.bare(ctx, j.Tree, tip)
	return j, err
}

// Own returns what a workspace has as a change without a list of files; nil when
// it is as it was at the beginning.
func (w *Worktree) Own(ctx context.Context) (*loomv1.Change, error) {
	tree, err := w.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	p, err := readPatch(ctx, w.git(), w.base, tree)
	if err != nil || len(p) == 0 {
		return nil, err
	}
	commit, err := w.save(ctx, tree)
	return &loomv1.Change{Base: w.base, Commit: commit, Tree: tree}, err
}

// Differs lists the paths that a change of the workspace would have now, sorted.
func (w *Worktree) Differs(ctx context.Context) ([]string, error) {
	tree, err := w.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	p, err := readPatch(ctx, w.git(), w.base, tree)
	return p.paths(), err
}

// Adopt makes a workspace what was joined. What was there before stays in the
// history of refs/loom/wip/EXECUTION. Cut short, it is done again from where it
// stands; to adopt the same again does nothing. No process should be at work in
// the workspace meanwhile.
func (w *Worktree) Adopt(ctx context.Context, j *Joined) error {
	tree, err := w.snapshot(ctx)
	if err != nil || tree == j.Tree && w.base == j.Base {
		return err
	}
	if _, err := w.save(ctx, tree); err != nil {
		return err
	}
	return w.move(ctx, tree, j.Tree, j.Base)
}
