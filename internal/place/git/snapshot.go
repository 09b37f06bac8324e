package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Change records the content of the work tree, tracked and untracked but not
// ignored, as a commit that refs/loom/wip/EXECUTION keeps, and returns it with
// its unified diff. The Diff of the message is the caller's to set. The same
// content on the same base gives the same commit and the same digest.
//
// It returns git/no-change when nothing differs from the base, and
// git/unsupported for what cannot be a part of a patch: another repository
// inside, a submodule, a file that a filter (Git LFS, git-crypt) stands for.
func (w *Worktree) Change(ctx context.Context) (*loomv1.Change, []byte, error) {
	tree, err := w.snapshot(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := readPatch(ctx, w.git(), w.base, tree)
	if err != nil {
		return nil, nil, err
	}
	if err := w.check(ctx, p, tree); err != nil {
		return nil, nil, err
	}
	commit, err := w.save(ctx, tree)
	if err != nil {
		return nil, nil, err
	}
	files, err := p.files(ctx, w.git(), w.base, tree)
	if err != nil {
		return nil, nil, err
	}
	diff, err := p.text(ctx, w.git(), w.base, tree)
	return &loomv1.Change{
		Base: w.base, Commit: commit, Tree: tree, PatchDigest: p.digest(), Files: files,
	}, diff, err
}

// check refuses what a patch cannot carry.
func (w *Worktree) check(ctx context.Context, p patch, tree string) error {
	if len(p) == 0 {
		return fault.New("git/no-change", "the workspace is as it was at the beginning")
	}
	for _, e := range p {
		if e.oldMode == gitlinkMode || e.newMode == gitlinkMode {
			return fault.New("git/unsupported", "the change touches a submodule").Got(e.path)
		}
	}
	filtered, err := w.repo.filtered(ctx, w.indexPath(w.execution), p.paths())
	if err == nil && len(filtered) == 0 {
		filtered, err = w.newlyLarge(ctx, p, tree)
	}
	if err == nil && len(filtered) > 0 {
		err = fault.New("git/unsupported", "the change touches files that a filter (Git LFS, git-crypt) stands for: %s", Named(filtered)).
			Want("leave them out of the change")
	}
	return err
}

// newlyLarge returns the files that the change itself gives to Git LFS: without
// it they would be committed whole.
func (w *Worktree) newlyLarge(ctx context.Context, p patch, tree string) ([]string, error) {
	after := w.indexPath(w.execution) + ".after"
	defer os.Remove(after)
	_ = os.Remove(after + ".lock") // a git that was cut off may have left it
	if _, err := w.over("", after).run(ctx, "read-tree", tree); err != nil {
		return nil, err
	}
	var present []string
	for _, e := range p {
		if !e.deleted() {
			present = append(present, e.path)
		}
	}
	c := w.repo.git() // the mirror's own attributes turn filters off
	c.env = []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(w.path(), "objects")}
	values, err := filterOf(ctx, c, after, present)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(present, func(path string) bool { return values[path] != "lfs" }), nil
}

// filtered returns those paths that the attributes in an index give a filter.
func (r *Repository) filtered(ctx context.Context, index string, paths []string) ([]string, error) {
	values, err := filterOf(ctx, r.git(), index, paths)
	var found []string
	for _, path := range paths {
		if values[path] != "" {
			found = append(found, path)
		}
	}
	return found, err
}

// filterOf returns the filters of paths that have one. The index is of objects
// that the call can read.
func filterOf(ctx context.Context, c call, index string, paths []string) (map[string]string, error) {
	c.index, c.stdin = index, joinNUL(paths)
	out, err := c.run(ctx, "check-attr", "-z", "--cached", "--stdin", "filter")
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	fields := splitNUL(out)
	for i := 0; i+2 < len(fields); i += 3 {
		if v := fields[i+2]; v != "unspecified" && v != "unset" {
			found[fields[i]] = v
		}
	}
	return found, nil
}

// save keeps a tree as the execution's work in progress. Its dates are the
// base's, so that the commit is the same however often it is made.
func (w *Worktree) save(ctx context.Context, tree string) (string, error) {
	date, err := w.git().line(ctx, "show", "-s", "--format=@%ct +0000", w.base)
	if err != nil {
		return "", err
	}
	c := w.git()
	c.env = []string{"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
	commit, err := c.line(ctx, "commit-tree", tree, "-p", w.base, "-m", "loom: work in progress of "+w.execution)
	if err != nil {
		return "", err
	}
	return commit, w.set(ctx, wipRef(w.execution), commit)
}

// Keep notes what the work tree has and returns a function that puts it back: what
// was built in the meantime and is not ignored goes, what was changed is as it was.
// Ignored files stay.
func (w *Worktree) Keep(ctx context.Context) (putBack func(context.Context) error, err error) {
	kept, err := w.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		now, err := w.snapshot(ctx)
		if err != nil || now == kept {
			return err
		}
		return w.move(ctx, now, kept, w.base)
	}, nil
}

// snapshot writes the content of the work tree as a tree of the mirror. It
// begins with a copy of the index of the base, which no agent can reach, so that
// what it finds depends on the content alone, and lists paths itself: git's own
// commands would look into directories that call themselves repositories.
//
// A file is read only where the index does not vouch for it: where its times,
// size, inode or mode are others than when the index was written, or where it
// was changed so shortly before that the same second may hold a later change. A
// process can set the time of a file's content, but not the time at which it did
// so, which is compared too.
func (w *Worktree) snapshot(ctx context.Context) (string, error) {
	scratch := w.indexPath(w.execution) + ".snapshot"
	defer os.Remove(scratch)
	if err := copyIndex(w.indexPath(w.execution), scratch); err != nil {
		return "", err
	}
	files := w.over(w.Path(), scratch)
	files.config = append(slices.Clip(files.config), "core.fsync=objects,derived-metadata,reference") // the index is thrown away
	if err := w.gitlinks(ctx, files); err != nil {
		return "", err
	}
	present, gone, err := w.changed(ctx, files)
	if err != nil {
		return "", err
	}
	others, err := untracked(ctx, files)
	if err != nil {
		return "", err
	}
	if err := w.replaces(ctx, files, others); err != nil {
		return "", err
	}
	if err := files.update(ctx, gone, "--force-remove"); err != nil {
		return "", err
	}
	if err := files.update(ctx, append(present, others...), "--add", "--replace"); err != nil {
		return "", err
	}
	return files.line(ctx, "write-tree")
}

// update feeds paths to update-index.
func (c call) update(ctx context.Context, paths []string, flags ...string) error {
	if len(paths) == 0 {
		return nil
	}
	c.stdin = joinNUL(paths)
	_, err := c.run(ctx, append(append([]string{"update-index"}, flags...), "-z", "--stdin")...)
	return err
}

// changed lists the tracked files that may differ from the index: those that
// still stand, and those that no longer do.
func (w *Worktree) changed(ctx context.Context, files call) (present, gone []string, err error) {
	out, err := files.run(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules=all")
	if err != nil {
		return nil, nil, err
	}
	look := lookout{root: w.Path(), dirs: map[string]bool{}}
	for _, path := range splitNUL(out) {
		switch there, err := look.at(path); {
		case err != nil:
			return nil, nil, err
		case there:
			present = append(present, path)
		default:
			gone = append(gone, path)
		}
	}
	return present, gone, nil
}

// gitlinks refuses what stands in the place of a submodule.
func (w *Worktree) gitlinks(ctx context.Context, files call) error {
	out, err := files.run(ctx, "ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	look := lookout{root: w.Path(), dirs: map[string]bool{}}
	for _, line := range splitNUL(out) {
		meta, path, _ := strings.Cut(line, "\t")
		if !strings.HasPrefix(meta, gitlinkMode) {
			continue
		}
		if there, err := look.at(path); there || err != nil {
			return fault.New("git/unsupported", "the change puts something in the place of a submodule").Got(path)
		}
	}
	return nil
}

// drafts are files that a tool writes before they take their place: one that
// another phase is writing may be gone at any moment, and none is work.
const drafts = ".loom-*.draft"

func untracked(ctx context.Context, files call) ([]string, error) {
	out, err := files.run(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--exclude="+drafts)
	if err != nil {
		return nil, err
	}
	others := splitNUL(out)
	for _, path := range others {
		if strings.HasSuffix(path, "/") {
			return nil, fault.New("git/unsupported", "there is another git repository in the workspace").Got(path).
				Want("remove its .git, or add it to .gitignore")
		}
	}
	return others, nil
}

// lookout tells which tracked paths are files in a work tree, never through a
// symbolic link.
type lookout struct {
	root string
	dirs map[string]bool // whether a directory is a real one
}

// at reports whether path is a file or a symbolic link; a device, a socket or
// a pipe in its place is an error.
func (l lookout) at(path string) (bool, error) {
	if !l.real(filepath.Dir(path)) {
		return false, nil
	}
	info, err := os.Lstat(filepath.Join(l.root, path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fault.New("git/failed", "a file of the workspace cannot be read").Got(path).Because(plain(err))
	case info.IsDir():
		return false, nil
	case info.Mode().IsRegular() || info.Mode()&fs.ModeSymlink != 0:
		return true, nil
	}
	return false, fault.New("git/unsupported", "this is neither a file nor a symbolic link").Got(path)
}

func (l lookout) real(dir string) bool {
	if dir == "." {
		return true
	}
	known, ok := l.dirs[dir]
	if !ok {
		info, err := os.Lstat(filepath.Join(l.root, dir))
		known = err == nil && info.IsDir() && l.real(filepath.Dir(dir))
		l.dirs[dir] = known
	}
	return known
}
