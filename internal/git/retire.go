package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Remove saves the work of an execution under refs/loom/wip/EXECUTION and then
// removes its workspace. Work that cannot be a commit is moved to DIR/kept
// instead, and so is a .git in which the agent made objects of its own.
// Removing what is not there is no error.
func (ws *Workspaces) Remove(ctx context.Context, execution string) error {
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
		if err := w.restoreIndex(ctx); err != nil {
			return err
		}
		if err := w.rescue(ctx); err != nil {
			return err
		}
	}
	return w.erase(ctx)
}

// rescue saves the content; what it cannot save stays, under another name.
func (w *Worktree) rescue(ctx context.Context) error {
	tree, err := w.snapshot(ctx)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		return w.keep(w.Path())
	}
	p, err := readPatch(ctx, w.git(), w.base, tree)
	if err == nil && len(p) > 0 {
		_, err = w.save(ctx, tree)
	}
	if err == nil && hasObjects(filepath.Join(w.Path(), ".git")) {
		err = w.keep(filepath.Join(w.Path(), ".git"))
	}
	return err
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
func (w *Worktree) erase(ctx context.Context) error {
	if _, err := w.git().run(ctx, "update-ref", "-d", baseRef(w.execution)); err != nil {
		return err
	}
	if err := removeAll(w.Path()); err != nil {
		return err
	}
	if err := os.RemoveAll(w.indexPath(w.execution)); err != nil {
		return err
	}
	tidy := w.git()
	tidy.config, tidy.timeout = []string{"gc.auto=6700", "gc.autoDetach=false"}, bulkTimeout
	_, err := tidy.run(ctx, "gc", "--auto", "--quiet")
	return err
}
