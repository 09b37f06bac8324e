package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
)

// exchanges is how often an exchange is tried that others were quicker than, or under
// which files changed.
const exchanges = 20

// Exchange brings together what several hosts do at once for an execution, under
// refs/loom/wip/EXECUTION of the registered repository: the work tree gets what others
// have shared since it last did, and they find what it has. Of a file that both have
// changed, and that does not merge, this one's content is kept, as the later of two
// writers has it in one work tree. What is shared stands on the base that was shared
// first, and the work tree moves to it; until then nobody should be at work in it.
// Content that cannot be a commit stays on this host.
func (w *Worktree) Exchange(ctx context.Context) error {
	var err error
	for range exchanges {
		var done bool
		if done, err = w.exchange(ctx); done || ctx.Err() != nil {
			return err
		}
	}
	return errors.Join(fault.New("git/failed", "what others have done for %s cannot be brought into its workspace", w.execution), err)
}

// exchange is one try. An error of one that is not done may pass.
func (w *Worktree) exchange(ctx context.Context) (done bool, err error) {
	if w.base, err = w.resolve(ctx, baseRef(w.execution)); err != nil {
		return true, err
	}
	there, err := w.repo.resolve(ctx, sharedRef(w.execution))
	if err != nil {
		return true, err
	}
	tree, err := w.snapshot(ctx)
	if fault.Code(err) == "git/unsupported" {
		return true, nil
	}
	if err != nil {
		return false, err // a file may have gone while it was read
	}
	merged, base, err := w.mingle(ctx, tree, there)
	if err != nil {
		return true, err
	}
	if base != w.base {
		err = w.move(ctx, tree, merged, base)
	} else if merged != tree {
		err = w.take(ctx, tree, merged)
	}
	if err != nil {
		return false, err // a file was changed meanwhile
	}
	commit, err := w.save(ctx, merged)
	if err != nil {
		return true, err
	}
	if commit != there {
		if err := transfer(ctx, w.git(), w.repo.git(), asLoose, []string{commit}, w.base); err != nil {
			return true, err
		}
		if err := w.repo.transact(ctx, "loom: work in progress of "+w.execution, set(sharedRef(w.execution), commit, there)); err != nil {
			return false, err // another host was quicker
		}
	}
	return true, w.set(ctx, seenRef(w.execution), commit)
}

// mingle returns the content of a work tree with what was shared since it last saw that,
// and the base that both are to have.
func (w *Worktree) mingle(ctx context.Context, tree, there string) (merged, base string, err error) {
	seen, err := w.resolve(ctx, seenRef(w.execution))
	if err != nil || there == "" || there == seen {
		return tree, w.base, err
	}
	if err := w.fetch(ctx, there); err != nil {
		return "", "", err
	}
	if seen == "" {
		seen = w.base
	}
	merged, conflicts, err := w.merge(ctx, seen, tree, there)
	if err != nil {
		return "", "", err
	}
	if len(conflicts) > 0 {
		if merged, err = w.keeping(ctx, merged, tree, conflicts); err != nil {
			return "", "", err
		}
	}
	base, err = w.git().line(ctx, "rev-parse", "--verify", there+"^")
	return merged, base, err
}

// keeping returns a merged tree in which paths are as another one has them.
func (w *Worktree) keeping(ctx context.Context, merged, ours string, paths []string) (string, error) {
	p, err := readPatch(ctx, w.git(), merged, ours)
	if err != nil {
		return "", err
	}
	var info bytes.Buffer
	for _, e := range p {
		if slices.Contains(paths, e.path) {
			fmt.Fprintf(&info, "%s %s\t%s\x00", e.newMode, e.newBlob, e.path)
		}
	}
	scratch := w.indexPath(w.execution) + ".exchange"
	defer os.Remove(scratch)
	_ = os.Remove(scratch + ".lock") // a git that was cut off may have left it
	index := call{gitDir: w.path(), index: scratch}
	if _, err := index.run(ctx, "read-tree", merged); err != nil {
		return "", err
	}
	update := index
	update.stdin = &info
	if _, err := update.run(ctx, "update-index", "-z", "--index-info"); err != nil {
		return "", err
	}
	return index.line(ctx, "write-tree")
}

// take changes the files of the work tree from one content to another. Its base, its
// index and its .git stay, so that others can be at work in it.
func (w *Worktree) take(ctx context.Context, from, to string) error {
	scratch := w.indexPath(w.execution) + ".exchange"
	defer os.Remove(scratch)
	if err := copyIndex(w.indexPath(w.execution), scratch); err != nil {
		return err
	}
	if err := w.widen(ctx, w.base, to); err != nil {
		return err
	}
	files := w.over(w.Path(), scratch)
	if _, err := files.run(ctx, "read-tree", "-i", "-m", from); err != nil {
		return err
	}
	_, _ = files.run(ctx, "update-index", "-q", "--refresh") //nolint:errcheck // it says that files differ; what follows finds out
	_, err := files.run(ctx, "read-tree", "-m", "-u", from, to)
	return err
}

// Offer has other hosts find a commit of the work tree by its id.
func (w *Worktree) Offer(ctx context.Context, commit string) error {
	there, err := resolve(ctx, w.repo.git(), commit+"^{commit}")
	if err != nil || there != "" {
		return err
	}
	return transfer(ctx, w.git(), w.repo.git(), asLoose, []string{commit}, w.base)
}
