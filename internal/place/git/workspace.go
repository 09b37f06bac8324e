package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/proto/subject"
)

// Workspaces makes and removes the directories that agents work in. It may be
// used by several goroutines, for one execution by one at a time.
type Workspaces struct {
	mirror
	target string
	pool   *Pool
}

// NewWorkspaces returns the workspaces of a project under the data directory
// dir, for work that is meant for a target branch.
func NewWorkspaces(dir, project, target string, repo *Repository) (*Workspaces, error) {
	m, err := newMirror(dir, project, repo)
	return &Workspaces{m, target, &Pool{}}, err
}

// Pooled returns the same workspaces, whose files are taken from a pool and go back
// to it: where whatever is started in them has ended when they are removed.
func (ws *Workspaces) Pooled(p *Pool) *Workspaces { return &Workspaces{ws.mirror, ws.target, p} }

// Worktree is the workspace of one execution: a work tree on branch loom/BEAD
// with a .git directory of its own, which is there for the agent's convenience
// and which Loom never reads.
type Worktree struct {
	mirror
	execution, bead string
	base            string
}

// Path returns the directory of the work tree, absolute.
func (w *Worktree) Path() string { return w.workPath(w.execution) }

// Base returns the commit that the work began on.
func (w *Worktree) Base() string { return w.base }

func (m mirror) workPath(execution string) string {
	return filepath.Join(m.dir, "worktrees", execution)
}

func (m mirror) indexPath(execution string) string {
	return filepath.Join(m.dir, "index", execution)
}
func baseRef(execution string) string { return "refs/loom/base/" + execution }
func wipRef(execution string) string  { return "refs/loom/wip/" + execution }

// Open returns the workspace of an execution. The first time it is made at the
// newest tip of the target; afterwards, and after a crash, the same one is
// returned as it stands. One that has been removed comes back with the work
// that was saved, on the base it had.
func (ws *Workspaces) Open(ctx context.Context, execution, bead string) (*Worktree, error) {
	if err := checkTokens("execution", execution, "bead", bead); err != nil {
		return nil, err
	}
	if err := ws.make(ctx); err != nil {
		return nil, err
	}
	w := &Worktree{mirror: ws.mirror, execution: execution, bead: bead}
	var err error
	if w.base, err = ws.resolve(ctx, baseRef(execution)); err != nil {
		return nil, err
	}
	if w.base != "" && w.there() {
		if err := w.recallCone(); err != nil {
			return nil, err
		}
		return w, w.restoreIndex(ctx)
	}
	return w, ws.build(ctx, w)
}

// Inherit lets the workspace of an execution begin with the work that another
// saved as a commit, and keeps that commit. It changes nothing once the
// execution has a workspace or work of its own, or when the commit is gone, here
// and where hosts share it: then there is nothing to begin with.
func (ws *Workspaces) Inherit(ctx context.Context, execution, commit string) (there bool, err error) {
	if err := checkTokens("execution", execution); err != nil {
		return false, err
	}
	if err := ws.make(ctx); err != nil {
		return false, err
	}
	for _, ref := range []string{baseRef(execution), wipRef(execution)} {
		if own, err := ws.resolve(ctx, ref); err != nil || own != "" {
			return err == nil, err
		}
	}
	if !isObjectID(commit) {
		return false, nil
	}
	if err := ws.fetch(ctx, commit); errors.Is(err, errGone) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if found, err := ws.resolve(ctx, commit+"^"); err != nil || found == "" {
		return false, err
	}
	return true, ws.set(ctx, wipRef(execution), commit)
}

func (w *Worktree) there() bool {
	_, err := os.Lstat(w.Path())
	return err == nil
}

// restoreIndex makes the private index of a workspace anew if it was lost.
func (w *Worktree) restoreIndex(ctx context.Context) error {
	index := w.indexPath(w.execution)
	if _, err := os.Stat(index); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(index), 0o700); err != nil {
		return err
	}
	if _, err := w.over("", index).run(ctx, "read-tree", w.base); err != nil {
		return err
	}
	return w.leaveOut(ctx, index)
}

// build makes a workspace; its base ref, set last, says that it is whole.
func (ws *Workspaces) build(ctx context.Context, w *Worktree) error {
	content, err := ws.start(ctx, w)
	if err != nil {
		return err
	}
	if err := discard.All(w.Path()); err != nil {
		return err
	}
	if err := errors.Join(w.widen(ctx, w.base, content), w.rememberCone()); err != nil {
		return err
	}
	if err := w.populate(ctx, content, ws.pool); err != nil {
		return err
	}
	return w.set(ctx, baseRef(w.execution), w.base)
}

// start chooses the base and the content of a new workspace: what was saved of
// an earlier one, else the newest tip.
func (ws *Workspaces) start(ctx context.Context, w *Worktree) (content string, err error) {
	saved, err := ws.resolve(ctx, wipRef(w.execution))
	if err != nil {
		return "", err
	}
	if saved != "" {
		w.base, err = ws.git().line(ctx, "rev-parse", "--verify", saved+"^")
		return saved, err
	}
	if w.base == "" {
		w.base, err = ws.sync(ctx, ws.target)
	}
	return w.base, err
}

// populate writes content to the work tree and both indexes of the base. The files
// are the pool's until [Workspaces.Remove] gives them back.
func (w *Worktree) populate(ctx context.Context, content string, pool *Pool) error {
	index := w.indexPath(w.execution)
	for _, dir := range []string{filepath.Dir(w.Path()), filepath.Dir(index)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	for _, path := range []string{index, index + ".lock"} {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	files, err := pool.lay(ctx, w.mirror, content, w.Path(), false)
	if err != nil {
		return err
	}
	if err := w.furnishFrom(ctx, files.index); err != nil {
		return errors.Join(err, files.discard())
	}
	return pool.lend(ctx, files)
}

// furnishFrom gives the work tree its .git and its index, which are of the base, by
// the index of the files that stand there.
func (w *Worktree) furnishFrom(ctx context.Context, laid string) error {
	index := w.indexPath(w.execution)
	if err := copyIndex(laid, index); err != nil {
		return err
	}
	if _, err := w.over(w.Path(), index).run(ctx, "read-tree", "-i", "-m", w.base); err != nil {
		return err
	}
	return w.giveGit(ctx, w.Path(), index, "refs/heads/loom/"+w.bead, w.base)
}

// giveGit puts a new .git into a work tree that has none. It is finished
// elsewhere and moved, so that nothing that lies in the work tree is followed.
func (m mirror) giveGit(ctx context.Context, workTree, index, branch, commit string) error {
	fresh, err := os.MkdirTemp(filepath.Dir(m.path()), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	gitDir, err := initialize(ctx, fresh, formatOf(commit))
	if err != nil {
		return err
	}
	if err := m.furnish(gitDir, index, branch, commit); err != nil {
		return err
	}
	if err := m.lendTags(ctx, gitDir); err != nil {
		return err
	}
	if err := durable.Tree(gitDir); err != nil {
		return err
	}
	return os.Rename(gitDir, filepath.Join(workTree, ".git"))
}

// furnish gives a new git directory its objects, its index and its HEAD: on
// branch, or detached when that is empty.
func (m mirror) furnish(gitDir, index, branch, commit string) error {
	if err := m.borrow(gitDir); err != nil {
		return err
	}
	if err := configure(gitDir, agentConfig); err != nil {
		return err
	}
	if err := m.limit(gitDir); err != nil {
		return err
	}
	if err := copyIndex(index, filepath.Join(gitDir, "index")); err != nil {
		return err
	}
	if branch == "" {
		return os.WriteFile(filepath.Join(gitDir, "HEAD"), []byte(commit+"\n"), 0o600)
	}
	ref := filepath.Join(gitDir, branch)
	if err := os.MkdirAll(filepath.Dir(ref), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(ref, []byte(commit+"\n"), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "HEAD"), []byte("ref: "+branch+"\n"), 0o600)
}

// limit has the git of whoever works in a sparse checkout know that it is one.
func (m mirror) limit(gitDir string) error {
	if m.cone.Whole() {
		return nil
	}
	if err := configure(gitDir, "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = true\n"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(gitDir, "info", "sparse-checkout"), []byte(m.cone.patterns()), 0o600)
}

const agentConfig = "[user]\n\tname = Loom agent\n\temail = agent@loom.invalid\n"

// copyIndex copies an index with its time, by which git knows which entries
// may have changed in the same second. A lock that a killed git left on the
// copy is removed: only one call at a time has it.
func copyIndex(from, to string) error {
	if err := os.Remove(to + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// Checkout writes a commit to dir, which must not exist or be empty, with a
// detached .git of its own. The caller removes it with [discard.All].
func (ws *Workspaces) Checkout(ctx context.Context, commit, dir string) error {
	if err := ws.fetch(ctx, commit); err != nil {
		return err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fault.New("usage/argument", "the directory for a clean checkout is not empty").Got(dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return ws.checkout(ctx, commit, dir, "")
}

// errGone says that a commit is in neither repository.
var errGone = errors.New("the commit is gone")

// fetch makes sure that the mirror has a commit whole.
func (m mirror) fetch(ctx context.Context, commit string) error {
	if !isObjectID(commit) {
		return fault.New("usage/argument", "not the id of a commit").Got(commit)
	}
	if err := m.make(ctx); err != nil {
		return err
	}
	// An object that is here came in a pack, or was made here: it is whole.
	here, err := resolve(ctx, m.git(), commit+"^{commit}")
	if err != nil || here != "" {
		return err
	}
	there, err := resolve(ctx, m.repo.git(), commit+"^{commit}")
	if err != nil {
		return err
	}
	if there == "" {
		return fault.New("git/failed", "there is no such commit").Got(commit).Because(errGone)
	}
	return m.bring(ctx, commit, "refs/loom/seen/"+commit)
}

// checkout writes a commit of the mirror into an empty directory.
func (m mirror) checkout(ctx context.Context, commit, dir, branch string) error {
	index, err := os.CreateTemp(filepath.Dir(m.path()), ".index-")
	if err != nil {
		return err
	}
	index.Close()
	defer os.Remove(index.Name())
	if err := os.Remove(index.Name()); err != nil { // git wants none or a whole one
		return err
	}
	if err := m.over(dir, index.Name()).writeTree(ctx, commit); err != nil {
		return err
	}
	return m.giveGit(ctx, dir, index.Name(), branch, commit)
}

// checkTokens parses pairs of a word and an id.
func checkTokens(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if _, err := subject.Parse(pairs[i], pairs[i+1]); err != nil {
			return fmt.Errorf("git: %w", err)
		}
	}
	return nil
}

// isObjectID reports whether s is a full SHA-1 or SHA-256 name in hex.
func isObjectID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
