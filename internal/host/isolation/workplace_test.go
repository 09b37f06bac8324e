package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/place/git"
	"github.com/loomrun/loom/roles"
)

// usesGit is what a repository's commands and hooks ask of git, and a build that
// records the commit that it is of.
const usesGit = `set -e
git status --short
git log --format=%s
git diff HEAD~1 -- go.mod
git blame go.mod
git show --stat HEAD
git describe
out=$(mktemp -d)
go build -o $out/tool ./cmd/tool
go version -m $out/tool | grep vcs.revision=$(git rev-parse HEAD)
echo git works
`

// goProgram makes a repository of a Go program of two commits and an annotated tag on
// the first, with a hook that does what usesGit does.
func goProgram(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tool")
	err := git.Create(t.Context(), dir, "main", "first", []git.File{
		{Path: "go.mod", Data: []byte("module example.com/tool\n\ngo 1.21\n")},
		{Path: "cmd/tool/main.go", Data: []byte("package main\n\nfunc main() { println(\"tool\") }\n")},
		{Path: ".git/hooks/pre-commit", Data: []byte("#!/bin/sh\n" + usesGit), Exec: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	asUser(t, dir, "tag", "-a", "-m", "version one", "v1.0.0")
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/tool\n\ngo 1.22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asUser(t, dir, "commit", "-q", "--no-verify", "-am", "second")
	return dir
}

// asUser runs git as a person does.
func asUser(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=A person", "-c", "user.email=person@example.com"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// projectOf has the workspaces of a project and its committer, as a host has them.
func projectOf(t *testing.T, h *Commands, id, repository string) *agent.Repository {
	t.Helper()
	source, err := git.Open(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	workspaces, err := git.NewWorkspaces(filepath.Join(h.Data, "git"), id, "main", source)
	if err != nil {
		t.Fatal(err)
	}
	committer, err := git.NewCommitter(filepath.Join(h.Data, "git"), id, source)
	if err != nil {
		t.Fatal(err)
	}
	return &agent.Repository{Workspaces: workspaces, Committer: committer, Source: source}
}

// runIn runs a script in the sandbox of a project's commands, which may write dir,
// and returns what it printed and whether it succeeded.
func runIn(t *testing.T, h *Commands, project, dir, script string) (string, bool) {
	t.Helper()
	home := t.TempDir()
	env := append(toolEnv(), "HOME="+home, "GOPROXY=off")
	cmd, err := h.Exec(project, roles.Role{}, t.TempDir()).Contain(t.Context(), dir, []string{dir, home}, env, []string{"/bin/sh", "-c", script})
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// Git, and builds that ask it for their version, work in each place where an
// agent's commands run, and the user's own settings of git have no part in it.
func TestREAL01_GitWorksInEveryWorkspace(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	home := t.TempDir()
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" {
		t.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	t.Setenv("HOME", home)
	t.Setenv("GOFLAGS", "") // a user's -buildvcs=false goes to the tools, as all of them do
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\n\tfsmonitor = touch /tmp/asked\n[alias]\n\tstatus = !false\n[broken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	top := goProgram(t)
	r := projectOf(t, h, "tool", top)
	worktree, err := r.Workspaces.Open(t.Context(), "e1", "b1")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("REAL01 an agent's worktree", func(t *testing.T) { mustWork(t, h, worktree.Path(), "v1.0.0-1-g") })
	t.Run("REAL01 a clean checkout", func(t *testing.T) {
		checkout := filepath.Join(t.TempDir(), "tool")
		if err := r.Workspaces.Checkout(t.Context(), asUser(t, top, "rev-parse", "main"), checkout); err != nil {
			t.Fatal(err)
		}
		mustWork(t, h, checkout, "v1.0.0-1-g")
	})
	t.Run("REAL01 a tag that came later", func(t *testing.T) {
		asUser(t, top, "tag", "v1.1.0")
		asUser(t, top, "tag", "-a", "-m", "version two", "v2.0.0")
		asUser(t, top, "tag", "-d", "v1.0.0")
		later, err := r.Workspaces.Open(t.Context(), "e2", "b2")
		if err != nil {
			t.Fatal(err)
		}
		mustWork(t, h, later.Path(), "v2.0.0\n")
	})
	t.Run("REAL01 the committer's stage", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(worktree.Path(), "README"), []byte("a tool\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		change, _, err := worktree.Change(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, runs, err := r.Committer.Candidate(t.Context(), git.CandidateRequest{
			Deployment: "d1", Bead: "b1", Execution: "e1", Decision: "g1", Token: 1, Target: "main", Change: change,
			Author: git.Author{Name: "implementer", Email: "implementer@loom.invalid"}, Subject: "Say what it is",
			Hooks: git.HookPolicy{Contain: h.Exec("tool", roles.Role{}, t.TempDir()).Contain, Env: append(toolEnv(), "GOPROXY=off")},
		})
		if err != nil || len(runs) != 1 || !strings.Contains(runs[0].Output, "git works") {
			t.Fatalf("%v: %+v", err, runs)
		}
	})
}

func mustWork(t *testing.T, h *Commands, dir, says string) {
	t.Helper()
	if out, ok := runIn(t, h, "tool", dir, usesGit); !ok || !strings.Contains(out, says) {
		t.Errorf("%s", out)
	}
}

// A checkout of a repository whose own history is cut off ends its history there.
func TestREAL01_GitWorksOnAShallowClone(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	shallow := filepath.Join(t.TempDir(), "clone")
	asUser(t, t.TempDir(), "clone", "-q", "--depth=1", "file://"+goProgram(t), shallow)
	w, err := projectOf(t, h, "tool", shallow).Workspaces.Open(t.Context(), "e1", "b1")
	if err != nil {
		t.Fatal(err)
	}
	if out, ok := runIn(t, h, "tool", w.Path(), "git log --format=%s && git status --short && git blame go.mod >/dev/null"); !ok || out != "second\n" {
		t.Errorf("%s", out)
	}
}

// Commands read the objects of the project that they work on, and of nothing else
// in the data directory; they write none of them.
func TestREAL01_CommandsReadTheirOwnProjectsObjectsAlone(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	w, err := projectOf(t, h, "tool", goProgram(t)).Workspaces.Open(t.Context(), "e1", "b1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projectOf(t, h, "other", goProgram(t)).Workspaces.Open(t.Context(), "e2", "b2"); err != nil {
		t.Fatal(err)
	}
	own, other := filepath.Join(h.Data, "git", "repos", "tool.git"), filepath.Join(h.Data, "git", "repos", "other.git")
	for script, works := range map[string]bool{
		"ls " + own + "/objects/pack/*.pack":                    true,
		"touch " + own + "/objects/x":                           false,
		"rm -f " + own + "/objects/pack/*.pack":                 false,
		"cat " + own + "/config":                                false,
		"ls " + own + "/refs":                                   false,
		"ls " + other:                                           false,
		"ls " + filepath.Join(h.Data, "git", "worktrees", "e2"): false,
	} {
		if out, ok := runIn(t, h, "tool", w.Path(), script); ok != works {
			t.Errorf("%s: worked %t: %s", script, ok, out)
		}
	}
}

// What doctor tries in a workspace works where there is a sandbox.
func TestREAL01_DoctorTriesAWorkspace(t *testing.T) {
	longtest.Skip(t)
	h, dir := box(t)
	if !sandboxed(t, h, dir) {
		return
	}
	trials, err := TryWorkspace(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var tried []string
	for _, trial := range trials {
		if trial.Err != nil {
			t.Errorf("%s: %v", trial.What, trial.Err)
		}
		tried = append(tried, trial.What)
	}
	if said := strings.Join(tried, "\n"); !strings.Contains(said, "git blame go.mod") || !strings.Contains(said, "go build -buildvcs=true") {
		t.Errorf("only %q was tried", tried)
	}
}
