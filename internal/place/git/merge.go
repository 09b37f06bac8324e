package git

import (
	"context"
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/base/fault"
)

// merge applies what lies between two trees to a third, in the mirror, without
// any work tree and so without any attribute or merge driver. Paths in
// conflict are returned, with a tree that holds the usual marks.
//
// The three trees become commits without other history, so that the only base
// git can find is the one given, however the target's history was rewritten.
func (m mirror) merge(ctx context.Context, base, ours, theirs string) (tree string, conflicts []string, err error) {
	b, err := m.bare(ctx, base)
	if err != nil {
		return "", nil, err
	}
	o, err := m.bare(ctx, ours, b)
	if err != nil {
		return "", nil, err
	}
	t, err := m.bare(ctx, theirs, b)
	if err != nil {
		return "", nil, err
	}
	out, err := m.git().run(ctx, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", o, t)
	fields := splitNUL(out)
	switch {
	case exitCode(err) > 1 || exitCode(err) < 0:
		return "", nil, err
	case len(fields) == 0 || !isObjectID(fields[0]):
		return "", nil, fault.New("git/damaged", "git gave a merge that cannot be read").Got(string(out))
	}
	for _, path := range fields[1:] {
		if path != "" {
			conflicts = append(conflicts, path)
		}
	}
	return fields[0], conflicts, nil
}

// bare makes a commit of a tree that has only the given parents. Its date is
// fixed, so a merge that is repeated leaves nothing new behind.
func (m mirror) bare(ctx context.Context, treeish string, parents ...string) (string, error) {
	c := m.git()
	c.env = []string{"GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_DATE=@0 +0000"}
	args := []string{"commit-tree", treeish + "^{tree}", "-m", "merge"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return c.line(ctx, args...)
}

// Rebase moves the workspace to the newest tip of the target and takes the
// work along. Files in conflict are returned, with git's marks in them, for the
// agent to resolve. What was there before stays in the history of
// refs/loom/wip/EXECUTION. When the tip has not moved nothing happens. No
// process should be at work in the workspace meanwhile.
func (ws *Workspaces) Rebase(ctx context.Context, w *Worktree) (conflicts []string, err error) {
	tip, err := ws.sync(ctx, ws.target)
	if err != nil || tip == w.base {
		return nil, err
	}
	tree, err := w.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := w.save(ctx, tree); err != nil {
		return nil, err
	}
	merged, conflicts, err := ws.merge(ctx, w.base, tip, tree)
	if err != nil {
		return nil, err
	}
	return conflicts, w.move(ctx, tree, merged, tip)
}

// move changes the work tree from one content to another and its base to tip.
// Cut short before the base is set, it is done again from where it stands.
func (w *Worktree) move(ctx context.Context, from, to, tip string) error {
	index := w.indexPath(w.execution)
	scratch := index + ".move"
	defer os.Remove(scratch)
	if err := copyIndex(index, scratch); err != nil {
		return err
	}
	if err := w.widen(ctx, tip, to); err != nil { // what git would take away, for it lies outside
		return err
	}
	files := w.over(w.Path(), scratch)
	for _, args := range [][]string{
		{"read-tree", "-i", "-m", from},
		{"update-index", "-q", "--refresh"},
		{"read-tree", "-m", "-u", from, to},
		{"read-tree", "-i", "-m", tip},
	} {
		if _, err := files.run(ctx, args...); err != nil && args[0] != "update-index" {
			return err
		}
	}
	if err := os.Rename(scratch, index); err != nil {
		return err
	}
	w.base = tip
	if err := w.set(ctx, baseRef(w.execution), tip); err != nil {
		return err
	}
	return w.renewGit(ctx)
}

// renewGit puts a new .git in the place of the old one, which an agent may have
// turned into anything.
func (w *Worktree) renewGit(ctx context.Context) error {
	own := filepath.Join(w.Path(), ".git")
	if hasObjects(own) {
		if err := w.keep(own); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(own); err != nil {
		return err
	}
	return w.giveGit(ctx, w.Path(), w.indexPath(w.execution), "refs/heads/loom/"+w.bead, w.base)
}
