package git

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const deployment = "d1"

// fixture is a person's repository, and Loom beside it.
type fixture struct {
	t    testing.TB
	top  string // of the person's repository
	data string
	repo *Repository
	ws   *Workspaces
	com  *Committer
}

// template is made once and copied for each fixture.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "loom-git-template-")
	if err != nil {
		return "", err
	}
	for path, content := range map[string]string{
		"a.txt": "one\ntwo\nthree\n", "dir/b.txt": "bee\n", ".gitignore": "*.log\n",
	} {
		full := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(content), 0o644)); err != nil {
			return "", err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "first"}} {
		if out, err := tryGit(dir, args...); err != nil {
			return "", fmt.Errorf("git %q: %w\n%s", args, err, out)
		}
	}
	return dir, nil
})

// newFixture makes a repository with a main branch of three files.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, top: filepath.Join(t.TempDir(), "repo"), data: t.TempDir()}
	from, err := template()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(f.top, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	f.open(f.top)
	return f
}

func (f *fixture) open(path string) {
	f.t.Helper()
	var err error
	if f.repo, err = Open(f.t.Context(), path); err != nil {
		f.t.Fatal(err)
	}
	if f.ws, err = NewWorkspaces(f.data, "p", "main", f.repo); err != nil {
		f.t.Fatal(err)
	}
	if f.com, err = NewCommitter(f.data, "p", f.repo); err != nil {
		f.t.Fatal(err)
	}
}

// bare replaces the repository by a bare clone of it.
func (f *fixture) bare() {
	f.t.Helper()
	bare := f.top + ".git"
	f.user("clone", "-q", "--bare", f.top, bare)
	f.top = bare
	f.open(bare)
}

// user runs git as the person would.
func (f *fixture) user(args ...string) string {
	f.t.Helper()
	return gitIn(f.t, f.top, args...)
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %q in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "core.fsync=none"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=User", "GIT_AUTHOR_EMAIL=user@example.com",
		"GIT_COMMITTER_NAME=User", "GIT_COMMITTER_EMAIL=user@example.com")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (f *fixture) write(path, content string) { f.t.Helper(); write(f.t, f.top, path, content) }

func write(t testing.TB, root, path, content string) {
	t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, root, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, root, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// workspace opens the workspace of execution N of bead N.
func (f *fixture) workspace(n int) *Worktree {
	f.t.Helper()
	w, err := f.ws.Open(f.t.Context(), execution(n), bead(n))
	if err != nil {
		f.t.Fatal(err)
	}
	return w
}

func execution(n int) string { return fmt.Sprintf("b%d-x1", n) }
func bead(n int) string      { return fmt.Sprintf("b%d", n) }

// propose makes a change in workspace N.
func (f *fixture) propose(n int, edit func(root string)) *loomv1.Change {
	f.t.Helper()
	w := f.workspace(n)
	edit(w.Path())
	change, _, err := w.Change(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return change
}

// editing returns an edit that writes one file.
func (f *fixture) editing(path, content string) func(string) {
	return func(root string) { write(f.t, root, path, content) }
}

func (f *fixture) request(n int, token uint64, change *loomv1.Change) CandidateRequest {
	return CandidateRequest{
		Deployment: deployment, Bead: bead(n), Execution: execution(n), Decision: "g7", Token: token,
		Target: "main", Change: change, Author: Author{"backend-engineer", "backend-engineer@loom.invalid"},
		Subject: "Fix the thing", Body: "It was broken.", Hooks: HookPolicy{Allow: true},
	}
}

func (f *fixture) candidate(n int, token uint64, change *loomv1.Change) *loomv1.Candidate {
	f.t.Helper()
	c, _, err := f.com.Candidate(f.t.Context(), f.request(n, token, change))
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func (f *fixture) landRequest(n int, token uint64, c *loomv1.Candidate) LandRequest {
	return LandRequest{Deployment: deployment, Bead: bead(n), Execution: execution(n), Token: token, Target: "main", Candidate: c}
}

func (f *fixture) land(n int, token uint64, c *loomv1.Candidate) *loomv1.Landing {
	f.t.Helper()
	l, err := f.com.Land(f.t.Context(), f.landRequest(n, token, c))
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// ship takes one edit the whole way.
func (f *fixture) ship(n int, token uint64, edit func(string)) *loomv1.Landing {
	f.t.Helper()
	return f.land(n, token+1, f.candidate(n, token, f.propose(n, edit)))
}

// head returns the commit of a ref, "" for none.
func (f *fixture) head(ref string) string {
	out, err := tryGit(f.top, "rev-parse", "--verify", "-q", ref)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// copies counts the commits of execution N on a branch.
func (f *fixture) copies(n int, ref string) int {
	f.t.Helper()
	return len(strings.Fields(f.user("log", "--format=%H", "--grep=^Loom-Execution: "+execution(n)+"$", ref)))
}

// state is a digest of all that a person has in a checkout: HEAD's branch,
// index, and every file there with its mode, tracked or not.
func state(t testing.TB, top string) string {
	t.Helper()
	h := sha256.New()
	fmt.Fprintln(h, gitIn(t, top, "ls-files", "--stage", "-v"))
	fmt.Fprintln(h, gitIn(t, top, "rev-parse", "--symbolic-full-name", "HEAD"))
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			if d != nil && d.IsDir() && err == nil {
				return fs.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, _ := contentOf(path)
		fmt.Fprintf(h, "%q %v %x\n", path, info.Mode(), sha256.Sum256(content))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// status is what the person would see of it.
func (f *fixture) status() string { f.t.Helper(); return f.user("status", "--porcelain") }

// wantCode fails unless err has a code, and returns its text.
func wantCode(t testing.TB, err error, code string) string {
	t.Helper()
	if fault.Code(err) != code {
		t.Fatalf("got error %v (code %q), want code %q", err, fault.Code(err), code)
	}
	return err.Error()
}

// wantText fails unless text has all parts.
func wantText(t testing.TB, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not contain %q", text, p)
		}
	}
}

// hook installs an executable hook in the person's repository.
func (f *fixture) hook(name, script string) {
	f.t.Helper()
	dir := filepath.Join(f.repo.common, "hooks")
	executable(f.t, filepath.Join(dir, name), script)
}

func executable(t testing.TB, path, script string) {
	t.Helper()
	write(t, filepath.Dir(path), filepath.Base(path), script)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// touch gives a file another time and the same content.
func touch(t testing.TB, root, path string) {
	t.Helper()
	then := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, path), then, then); err != nil {
		t.Fatal(err)
	}
}

func digestOf(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
