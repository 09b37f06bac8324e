package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/proto/subject"
)

// tipRef marks what the mirror has of the registered repository.
const tipRef = "refs/loom/tip"

// mirror is Loom's own bare copy of what it needs of a registered repository.
// Only Loom writes its configuration, and only Loom's calls use it.
type mirror struct {
	dir     string // data directory
	project string
	repo    *Repository
	cone    Cone // what its work trees have
}

func newMirror(dir, project string, repo *Repository) (mirror, error) {
	if _, err := subject.Parse("project", project); err != nil {
		return mirror{}, err
	}
	dir, err := filepath.Abs(dir)
	return mirror{dir: dir, project: project, repo: repo}, err
}

func (m mirror) path() string { return filepath.Join(m.dir, "repos", m.project+".git") }
func (m mirror) git() call    { return call{gitDir: m.path()} }

// over returns a call on files in workTree with an index of Loom's own.
func (m mirror) over(workTree, index string) call {
	if workTree == "" || m.cone.Whole() {
		return call{gitDir: m.path(), workTree: workTree, index: index}
	}
	return call{gitDir: m.viewPath(), workTree: workTree, index: index, config: sparseConfig}
}

// sync brings the tip of a target branch and the tags into the mirror, and returns
// the tip.
func (m mirror) sync(ctx context.Context, target string) (string, error) {
	h, err := m.repo.heads(ctx, target)
	if err != nil {
		return "", err
	}
	if err := m.make(ctx); err != nil {
		return "", err
	}
	if err := m.bring(ctx, h.tip, tipRef); err != nil {
		return "", err
	}
	return h.tip, m.bringTags(ctx)
}

// bring copies a commit of the registered repository and sets ref to it. What
// ref points at is complete; an object that is merely there may not be.
func (m mirror) bring(ctx context.Context, commit, ref string) error {
	known, err := m.resolve(ctx, ref)
	if err != nil || known == commit {
		return err
	}
	if err := copyShallow(m.repo.common, m.path()); err != nil {
		return err
	}
	have, err := m.known(ctx)
	if err != nil {
		return err
	}
	if err := transfer(ctx, m.repo.git(), m.git(), asPack, []string{commit}, have...); err != nil {
		return err
	}
	return m.set(ctx, ref, commit)
}

// set moves a ref of the mirror.
func (m mirror) set(ctx context.Context, ref, oid string) error {
	unlock(m.path(), ref)
	_, err := m.git().run(ctx, "update-ref", "-m", "loom", ref, oid)
	return err
}

// known returns the newest commit of the mirror that the registered
// repository still has too.
func (m mirror) known(ctx context.Context) ([]string, error) {
	tip, err := m.resolve(ctx, tipRef)
	if err != nil || tip == "" {
		return nil, err
	}
	there, err := resolve(ctx, m.repo.git(), tip+"^{commit}")
	if err != nil || there == "" {
		return nil, err
	}
	return []string{tip}, nil
}

func (m mirror) resolve(ctx context.Context, ref string) (string, error) {
	return resolve(ctx, m.git(), ref+"^{commit}")
}

// make creates the mirror, and what its cone needs, if it is not there.
func (m mirror) make(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(m.path(), "HEAD")); err == nil {
		return m.view()
	}
	format, err := m.repo.git().line(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	parent := filepath.Dir(m.path())
	if err := durable.MakeAll(parent, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(parent, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if _, err := initialize(ctx, fresh, format, "--bare"); err != nil {
		return err
	}
	return errors.Join(install(fresh, m.path()), m.view())
}

// install moves a finished directory to its place, durably; another that came
// first wins.
func install(fresh, path string) error {
	if err := durable.Tree(fresh); err != nil {
		return err
	}
	err := durable.Rename(fresh, path)
	if _, statErr := os.Stat(path); err != nil && statErr == nil {
		return nil
	}
	return err
}

// initialize makes an empty repository in dir without any template, and returns
// its git directory. Its filters are off whatever a tree's attributes say, and
// it remembers every old ref.
func initialize(ctx context.Context, dir, format string, args ...string) (string, error) {
	args = append([]string{"init", "--quiet", "--template=", "--object-format=" + format}, args...)
	if _, err := (call{dir: dir}).run(ctx, append(args, dir)...); err != nil {
		return "", err
	}
	gitDir := dir
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		gitDir = filepath.Join(dir, ".git")
	}
	if err := os.MkdirAll(filepath.Join(gitDir, "info"), 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(gitDir, "info", "attributes"), []byte("* -filter\n"), 0o600); err != nil {
		return "", err
	}
	return gitDir, configure(gitDir, ownConfig)
}

const ownConfig = "[core]\n\tlogAllRefUpdates = always\n"

// configure adds to the configuration of a repository that is being made.
func configure(gitDir, text string) error {
	f, err := os.OpenFile(filepath.Join(gitDir, "config"), os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// formatOf returns the object format of a repository by the name of an object.
func formatOf(oid string) string {
	if len(oid) == 64 {
		return "sha256"
	}
	return "sha1"
}

// objects is the directory of the mirror's objects.
func (m mirror) objects() string { return filepath.Join(m.path(), "objects") }

// Objects returns the directory below the data directory dir from which the
// workspaces, checkouts and stages of a project borrow their objects, without
// symbolic links. Whoever runs git in one of them needs to read it, and nothing
// else of the data directory. It exists once the first of them does.
func Objects(dir, project string) (string, error) {
	m, err := newMirror(dir, project, nil)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(m.objects())
}

// borrow lets a repository read the mirror's objects, by the name that a sandbox
// shows them under, and ends its history where the mirror's ends.
func (m mirror) borrow(gitDir string) error {
	objects, err := filepath.EvalSymlinks(m.objects())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(gitDir, "objects", "info", "alternates"), []byte(objects+"\n"), 0o600); err != nil {
		return err
	}
	return copyShallow(m.path(), gitDir)
}
