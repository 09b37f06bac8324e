package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// checkout is a work tree of the registered repository that somebody works in.
type checkout struct {
	repo     *Repository
	gitDir   string // its own: HEAD and index are here
	workTree string
	filters  []string // configuration that turns the repository's filters off
	locked   *os.File // while it is held
}

// git returns a call on the checkout with an index file that is not its own.
func (c checkout) git(index string) call {
	return call{gitDir: c.gitDir, workTree: c.workTree, index: index, config: c.filters, keep: c.locked}
}

// checkouts returns the work trees that have a branch checked out, sorted. A
// branch that is being rebased, or is checked out where it cannot be reached
// now, gives a reason to leave it alone instead.
func (r *Repository) checkouts(ctx context.Context, ref string) (places []checkout, busy string, err error) {
	filters, err := r.filters(ctx)
	if err != nil {
		return nil, "", err
	}
	dirs, err := r.gitDirs()
	if err != nil {
		return nil, "", err
	}
	for _, dir := range dirs {
		if r.rebasing(dir, ref) {
			return nil, "it is being rebased", nil
		}
		if readFile(filepath.Join(dir, "HEAD")) != "ref: "+ref {
			continue
		}
		top, reason := r.workTreeOf(dir)
		if reason != "" {
			return nil, reason, nil
		}
		if top != "" {
			places = append(places, checkout{repo: r, gitDir: dir, workTree: top, filters: filters})
		}
	}
	return places, "", nil
}

// gitDirs returns the git directories of all work trees, sorted.
func (r *Repository) gitDirs() ([]string, error) {
	linked, err := os.ReadDir(filepath.Join(r.common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	dirs := []string{r.common}
	for _, d := range linked {
		dirs = append(dirs, filepath.Join(r.common, "worktrees", d.Name()))
	}
	sort.Strings(dirs)
	return dirs, nil
}

// workTreeOf returns the top of a work tree by its git directory: "" for none
// and for one that has been deleted, a reason for one that is out of reach.
func (r *Repository) workTreeOf(dir string) (top, reason string) {
	const unreachable = "it is checked out in a place that cannot be reached now"
	if dir == r.common {
		return r.main, ""
	}
	link := readFile(filepath.Join(dir, "gitdir"))
	if !filepath.IsAbs(link) {
		link = filepath.Join(dir, link)
	}
	if _, err := os.Stat(link); err == nil {
		return filepath.Dir(link), ""
	}
	if _, err := os.Stat(filepath.Join(dir, "locked")); err == nil {
		return "", unreachable
	}
	return "", ""
}

func (r *Repository) rebasing(dir, ref string) bool {
	for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name"} {
		if readFile(filepath.Join(dir, name)) == ref {
			return true
		}
	}
	return false
}

// readFile returns a small file's text without the last newline, "" if there
// is none.
func readFile(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSuffix(string(data), "\n")
}

// filters returns configuration under which none of the filters that the
// repository names does anything.
func (r *Repository) filters(ctx context.Context) ([]string, error) {
	out, err := r.git().run(ctx, "config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if code := exitCode(err); code == 1 {
		return nil, nil
	}
	var off []string
	for _, key := range splitNUL(out) {
		value := ""
		if strings.HasSuffix(strings.ToLower(key), ".required") {
			value = "false"
		}
		off = append(off, key+"="+value)
	}
	return off, err
}

// inProgress are files in a git directory that tell of an unfinished command.
var inProgress = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer"}

// obstacle says why the checkout cannot go from one commit to another without
// touching what its user has there, or "".
func (c checkout) obstacle(ctx context.Context, scratch, from, to string) (string, error) {
	for _, name := range inProgress {
		if _, err := os.Lstat(filepath.Join(c.gitDir, name)); err == nil {
			return "a merge, rebase or the like is unfinished there", nil
		}
	}
	if err := c.refreshed(ctx, scratch); err != nil {
		return "", err
	}
	for _, look := range []func() (string, error){
		func() (string, error) { return c.edited(ctx, scratch, from) },
		func() (string, error) { return c.inTheWay(ctx, scratch, from, to) },
	} {
		if why, err := look(); why != "" || err != nil {
			return why, err
		}
	}
	_, err := c.git(scratch).run(ctx, "read-tree", "-m", "-u", "-n", from, to)
	if exitCode(err) > 0 {
		return "git would not fast-forward its checkout", nil
	}
	return "", err
}

// refreshed copies the user's index to scratch and brings the copy up to date.
func (c checkout) refreshed(ctx context.Context, scratch string) error {
	if err := copyIndex(filepath.Join(c.gitDir, "index"), scratch); err != nil {
		return err
	}
	_, err := c.git(scratch).run(ctx, "update-index", "-q", "--refresh", "--ignore-submodules")
	if exitCode(err) == 1 { // something needs to be updated: edited finds it
		return nil
	}
	return err
}

// edited says which tracked files are not as the last commit has them.
func (c checkout) edited(ctx context.Context, scratch, from string) (string, error) {
	staged, err := c.git(scratch).run(ctx, "diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=none", from)
	if err != nil {
		return "", err
	}
	changed, err := c.git(scratch).run(ctx, "diff-files", "--name-only", "-z", "--ignore-submodules=all")
	if err != nil {
		return "", err
	}
	paths := append(splitNUL(staged), splitNUL(changed)...)
	if len(paths) == 0 {
		return "", nil
	}
	sort.Strings(paths)
	return "its checkout has uncommitted changes (" + Named(unique(paths)) + ")", nil
}

// inTheWay says which files of the user, untracked or ignored, stand where the
// commit would put its own, and which of its files a filter stands for.
func (c checkout) inTheWay(ctx context.Context, scratch, from, to string) (string, error) {
	p, err := readPatch(ctx, c.repo.git(), from, to)
	if err != nil {
		return "", err
	}
	if paths := occupied(c.workTree, p); len(paths) > 0 {
		return "files that git does not track are in the way (" + Named(paths) + ")", nil
	}
	after := scratch + ".to"
	defer os.Remove(after)
	if _, err := c.git(after).run(ctx, "read-tree", to); err != nil {
		return "", err
	}
	for _, index := range []string{scratch, after} {
		filtered, err := c.repo.filtered(ctx, index, p.paths())
		if err != nil {
			return "", err
		}
		if len(filtered) > 0 {
			return "a filter stands for some of its files (" + Named(filtered) + ")", nil
		}
	}
	return "", nil
}

// occupied returns the added paths, or the parts of them, where something
// stands already that the patch does not take away itself.
func occupied(root string, p patch) []string {
	leaves := map[string]bool{}
	for _, e := range p {
		leaves[e.path] = e.deleted()
	}
	var found []string
	for _, e := range p {
		if e.added() && blocked(root, e.path, leaves) {
			found = append(found, e.path)
		}
	}
	return found
}

func blocked(root, path string, leaves map[string]bool) bool {
	parts := strings.Split(path, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		info, err := os.Lstat(filepath.Join(root, at))
		switch last := i == len(parts)-1; {
		case errors.Is(err, fs.ErrNotExist):
			return false
		case err != nil:
			return true
		case info.IsDir() && last:
			return !emptied(root, at, leaves)
		case !info.IsDir():
			return last || !leaves[at]
		}
	}
	return true
}

// emptied reports whether everything in a directory leaves with the patch.
func emptied(root, dir string, leaves map[string]bool) bool {
	err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if rel, _ := filepath.Rel(root, path); !leaves[rel] {
			return fs.ErrExist
		}
		return nil
	})
	return err == nil
}
