package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
)

// The identity that commits: authors are agents, this is who applies their work.
const (
	committerName  = "Loom engineering-manager"
	committerEmail = "engineering-manager@loom.invalid"
)

// oldestGit is the first git with "merge-tree --write-tree".
var oldestGit = [2]int{2, 38}

var versionPattern = regexp.MustCompile(`^git version (\d+)\.(\d+)`)

// Available returns nil when git can be started and is new enough, else a
// host/no-git error that says which version is needed.
func Available(ctx context.Context) error {
	_, err := Version(ctx)
	return err
}

// Version returns what git says of itself, for example "git version 2.39.5",
// or the error of [Available].
func Version(ctx context.Context) (string, error) {
	out, err := call{}.line(ctx, "version")
	if err != nil {
		return "", err
	}
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return "", noGit().Got(out)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < oldestGit[0] || major == oldestGit[0] && minor < oldestGit[1] {
		return "", noGit().Got(m[0])
	}
	return out, nil
}

func noGit() *fault.Error {
	return fault.New("host/no-git", "git %d.%d or newer is needed in PATH", oldestGit[0], oldestGit[1]).
		Want("install git and try again")
}

// Repository is a registered repository: a person's own, with or without a
// checkout. It may be used by several goroutines.
type Repository struct {
	path   string // as registered, absolute
	gitDir string // of the registered path; a linked worktree has its own
	common string // where refs and objects are
	main   string // the main checkout, empty for a bare repository
	remote *remote

	settled *settled // what is on the disk under its name
}

// Open finds the repository whose top or git directory is path; a directory
// inside of one is refused. Uncommitted work in it is fine. A path that is no
// repository gives git/not-a-repository; a partial clone, whose objects are
// elsewhere, git/unsupported.
func Open(ctx context.Context, path string) (*Repository, error) {
	r := &Repository{settled: &settled{seen: map[string]time.Time{}}}
	var err error
	if r.path, err = filepath.Abs(path); err == nil {
		r.path, err = filepath.EvalSymlinks(r.path)
	}
	if err != nil {
		return nil, notARepository(path).Because(plain(err))
	}
	if err := r.discover(ctx); err != nil {
		return nil, err
	}
	if _, err := r.git().line(ctx, "config", "--get-regexp", `^(extensions\.partialclone|remote\..*\.promisor)$`); err == nil {
		return nil, fault.New("git/unsupported", "the repository is a partial clone").At(path).
			Want(`fetch what is missing first, with "git fetch --refetch --no-filter"`)
	}
	return r, nil
}

func (r *Repository) discover(ctx context.Context) error {
	if info, err := os.Stat(r.path); err != nil || !info.IsDir() {
		return notARepository(r.path)
	}
	find := call{dir: r.path, env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(r.path)}}
	out, err := find.line(ctx, "rev-parse", "--absolute-git-dir", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return notRepositoryOr(r.path, err)
	}
	dirs := strings.SplitN(out, "\n", 2)
	if len(dirs) != 2 {
		return notARepository(r.path).Got(out)
	}
	r.gitDir, r.common = dirs[0], dirs[1]
	r.main, err = r.mainCheckout(ctx)
	return err
}

// mainCheckout returns the top of the main work tree. Linked ones are found
// when they matter, see checkouts.
func (r *Repository) mainCheckout(ctx context.Context) (string, error) {
	common := call{gitDir: r.common}
	if top, err := common.line(ctx, "config", "--get", "core.worktree"); err == nil {
		return filepath.Join(r.common, top), nil
	}
	bare, err := common.line(ctx, "config", "--type=bool", "--get", "core.bare")
	switch {
	case err != nil && exitCode(err) != 1:
		return "", err
	case bare == "true":
		return "", nil
	case filepath.Base(r.common) == ".git":
		return filepath.Dir(r.common), nil
	case r.gitDir == r.common && r.common != r.path:
		return r.path, nil // a separate git directory
	}
	return "", nil
}

func notRepositoryOr(path string, err error) error {
	if fault.Code(err) == "git/failed" {
		return notARepository(path).Because(errors.Unwrap(err))
	}
	return err
}

func notARepository(path string) *fault.Error {
	return fault.New("git/not-a-repository", "this is not the top of a git repository").Got(path).
		Want("name the directory that holds .git, or a bare repository")
}

// plain takes the path out of an error of the file system: the caller names it.
func plain(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// Path returns where the repository was registered, absolute.
func (r *Repository) Path() string { return r.path }

// git returns a call on the registered repository's refs and objects.
func (r *Repository) git() call { return call{gitDir: r.common} }

// Branch resolves the name of a branch, and its newest commit. An empty name
// means the branch that is checked out. It returns git/unknown-branch when there
// is no such branch, none is checked out, or it has no commit yet.
func (r *Repository) Branch(ctx context.Context, name string) (resolved, head string, err error) {
	if name == "" {
		if name, err = r.currentBranch(ctx); err != nil {
			return "", "", err
		}
	}
	name = strings.TrimPrefix(name, "refs/heads/")
	if name == "loom" || strings.HasPrefix(name, "loom/") {
		return "", "", fault.New("git/unsupported", "branches under loom/ are Loom's own").Got(name)
	}
	head, err = r.resolve(ctx, "refs/heads/"+name)
	if err == nil && head == "" {
		err = r.unknownBranch(ctx, name)
	}
	return name, head, err
}

func (r *Repository) currentBranch(ctx context.Context) (string, error) {
	ref, err := call{gitDir: r.gitDir}.line(ctx, "symbolic-ref", "-q", "HEAD")
	if exitCode(err) == 1 {
		return "", fault.New("git/unknown-branch", "no branch is checked out").Want("name the target branch")
	}
	return ref, err
}

func (r *Repository) unknownBranch(ctx context.Context, name string) error {
	if current, err := r.currentBranch(ctx); err == nil && current == "refs/heads/"+name {
		return fault.New("git/unknown-branch", "the branch has no commit yet").Got(name).
			Want("make a first commit, then register the repository")
	}
	e := fault.New("git/unknown-branch", "there is no such branch").Got(name)
	out, err := r.git().run(ctx, "for-each-ref", "--count=5", "--format=%(refname:lstrip=2)", "refs/heads/")
	if names := strings.Fields(string(out)); err == nil && len(names) > 0 {
		return e.Want("there are: %s", strings.Join(names, ", "))
	}
	return e
}

// resolve returns the commit that a full ref name points at, or "".
func (r *Repository) resolve(ctx context.Context, ref string) (string, error) {
	return resolve(ctx, r.git(), ref+"^{commit}")
}

// resolve returns the object that an expression names, or "" for none.
func resolve(ctx context.Context, c call, expression string) (string, error) {
	oid, err := c.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", expression)
	if code := exitCode(err); code == 1 {
		return "", nil
	}
	return oid, err
}

// ancestor reports whether old is in the history of young; an empty old is not.
func ancestor(ctx context.Context, c call, old, young string) (bool, error) {
	if old == "" || young == "" {
		return false, nil
	}
	_, err := c.run(ctx, "merge-base", "--is-ancestor", old, young)
	if exitCode(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// landedBranch is where commits wait while the target's checkout is in use.
const landedBranch = "refs/heads/loom/landed"

// heads are where the next change goes.
type heads struct {
	target string // newest commit of the target branch
	landed string // newest commit of loom/landed, or ""
	tip    string // what a candidate is made on
}

// heads reads them. The tip is the target's head, or that of loom/landed as
// long as it is ahead of the target: work that waits for its user is not lost
// from sight. With a remote the tip is the remote's.
func (r *Repository) heads(ctx context.Context, target string) (heads, error) {
	name, head, err := r.Branch(ctx, target)
	if err != nil {
		return heads{}, err
	}
	h := heads{target: head, tip: head}
	if h.landed, err = r.resolve(ctx, landedBranch); err != nil {
		return h, err
	}
	if r.remote != nil {
		h.tip, err = r.newest(ctx, name)
		return h, err
	}
	ahead, err := ancestor(ctx, r.git(), h.target, h.landed)
	if ahead {
		h.tip = h.landed
	}
	return h, err
}

// Tip returns the commit that the next change is made on: the target's newest,
// or that of loom/landed while it is ahead of the target.
func (r *Repository) Tip(ctx context.Context, target string) (string, error) {
	h, err := r.heads(ctx, target)
	return h.tip, err
}

func (r *Repository) String() string { return fmt.Sprintf("repository %q", r.path) }
