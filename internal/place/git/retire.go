package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/loomrun/loom/internal/base/discard"
)

// Saved is the work of an execution that is kept as a commit, and how much it changes.
type Saved struct {
	Commit         string
	Files          int
	Added, Removed uint64
}

// Remove saves the work of an execution under refs/loom/wip/EXECUTION and then
// removes its workspace. Work that cannot be a commit is moved to DIR/kept
// instead, and so is a .git in which the agent made objects of its own.
// Removing what is not there is no error.
//
// What is saved as a commit is told to saved before anything is removed: an error of
// it leaves the workspace as it is. What another host has gone on with is not told; nil
// is told nothing.
func (ws *Workspaces) Remove(ctx context.Context, execution string, saved func(*Saved) error) error {
	if err := checkTokens("execution", execution); err != nil {
		return err
	}
	if err := ws.make(ctx); err != nil {
		return err
	}
	base, err := ws.resolve(ctx, baseRef(execution))
	if err != nil {
		return err
	}
	w := &Worktree{mirror: ws.mirror, execution: execution, base: base}
	if base != "" && w.there() {
		if err := w.recallCone(); err != nil {
			return err
		}
		if err := w.restoreIndex(ctx); err != nil {
			return err
		}
		s, err := w.rescue(ctx)
		if err != nil {
			return err
		}
		_, ours, err := w.shared(ctx, execution)
		if err == nil && ours && s != nil && saved != nil {
			err = saved(s)
		}
		if err != nil {
			return err
		}
	}
	return w.erase(ctx, ws.pool)
}

// rescue saves the content; what it cannot save stays, under another name. It returns
// nil where nothing is saved as a commit.
func (w *Worktree) rescue(ctx context.Context) (*Saved, error) {
	tree, err := w.snapshot(ctx)
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, w.keep(w.Path())
	}
	p, err := readPatch(ctx, w.git(), w.base, tree)
	var s *Saved
	if err == nil && len(p) > 0 {
		s, err = w.savedAs(ctx, p, tree)
	}
	if err == nil && hasObjects(filepath.Join(w.Path(), ".git")) {
		err = w.keep(filepath.Join(w.Path(), ".git"))
	}
	return s, err
}

// savedAs keeps a tree as a commit, and tells how much it changes.
func (w *Worktree) savedAs(ctx context.Context, p patch, tree string) (*Saved, error) {
	commit, err := w.save(ctx, tree)
	if err != nil {
		return nil, err
	}
	files, err := p.files(ctx, w.git(), w.base, tree)
	if err != nil {
		return nil, err
	}
	s := &Saved{Commit: commit, Files: len(files)}
	for _, f := range files {
		s.Added, s.Removed = s.Added+uint64(f.Added), s.Removed+uint64(f.Removed)
	}
	return s, nil
}

// hasObjects reports whether a git directory holds more than it borrows.
func hasObjects(gitDir string) bool {
	found, _ := filepath.Glob(filepath.Join(gitDir, "objects", "??", "*"))
	packs, _ := filepath.Glob(filepath.Join(gitDir, "objects", "pack", "*.pack"))
	return len(found)+len(packs) > 0
}

// keep moves a directory to DIR/kept, under the first free name.
func (w *Worktree) keep(path string) error {
	dir := filepath.Join(w.dir, "kept")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for n := 1; ; n++ {
		to := filepath.Join(dir, fmt.Sprintf("%s-%d", w.execution, n))
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		return os.Rename(path, to)
	}
}

// erase forgets a workspace whose work is saved, and tidies the mirror.
func (w *Worktree) erase(ctx context.Context, pool *Pool) error {
	if _, err := w.git().run(ctx, "update-ref", "-d", baseRef(w.execution)); err != nil {
		return err
	}
	if err := pool.retake(ctx, w.Path()); err != nil {
		return err
	}
	for _, path := range []string{w.indexPath(w.execution), w.conePath()} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	if err := w.tidyViews(); err != nil {
		return err
	}
	tidy := w.git()
	tidy.config = []string{"gc.auto=6700", "gc.autoDetach=false"}
	_, err := tidy.run(ctx, "gc", "--auto", "--quiet")
	return err
}

// Saved lists the executions whose work the mirror keeps, whether they have a
// workspace or not.
func (ws *Workspaces) Saved(ctx context.Context) ([]string, error) {
	if err := ws.make(ctx); err != nil {
		return nil, err
	}
	out, err := ws.git().run(ctx, "for-each-ref", "--format=%(refname)", wipRef(""))
	if err != nil {
		return nil, err
	}
	list := strings.Fields(string(out))
	for i := range list {
		list[i] = strings.TrimPrefix(list[i], wipRef(""))
	}
	return list, nil
}

// Forget gives up the work that was saved of executions without a workspace, here
// and where hosts share it. Git then removes what nothing else refers to, in its
// own time. One with a workspace is left as it is, and forgetting what is not
// there is no error.
func (ws *Workspaces) Forget(ctx context.Context, executions ...string) error {
	if err := ws.make(ctx); err != nil {
		return err
	}
	for _, execution := range executions {
		if err := checkTokens("execution", execution); err != nil {
			return err
		}
		w := &Worktree{mirror: ws.mirror, execution: execution}
		if w.there() {
			continue
		}
		if err := w.forget(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *Worktree) forget(ctx context.Context) error {
	shared, err := w.repo.resolve(ctx, sharedRef(w.execution))
	if err != nil {
		return err
	}
	if shared != "" {
		if err := w.repo.transact(ctx, "loom: work that ended is given up", drop(sharedRef(w.execution), shared)); err != nil {
			return err
		}
	}
	for _, ref := range []string{seenRef(w.execution), wipRef(w.execution)} {
		unlock(w.path(), ref)
		if _, err := w.git().run(ctx, "update-ref", "-d", ref); err != nil {
			return err
		}
	}
	kept, err := filepath.Glob(filepath.Join(w.dir, "kept", w.execution+"-*"))
	if err != nil {
		return err
	}
	for _, path := range kept {
		if rest := strings.TrimPrefix(filepath.Base(path), w.execution+"-"); strings.Trim(rest, "0123456789") != "" {
			continue // of another execution, whose id begins with this one's
		}
		if err := discard.All(path); err != nil {
			return err
		}
	}
	return nil
}
