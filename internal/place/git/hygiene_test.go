package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

// canary is a program whose running leaves a file.
type canary struct {
	t    *testing.T
	path string // the program
	mark string // the file
}

func newCanary(t *testing.T) canary {
	dir := t.TempDir()
	c := canary{t, filepath.Join(dir, "evil"), filepath.Join(dir, "ran")}
	executable(t, c.path, "#!/bin/sh\necho \"$0 $*\" >>"+c.mark+"\ncat 2>/dev/null\n")
	return c
}

func (c canary) check(what string) {
	c.t.Helper()
	if exists(c.mark) {
		c.t.Errorf("%s: a program of the agent's was run: %s", what, read(c.t, filepath.Dir(c.mark), "ran"))
	}
}

// settings name the canary wherever git's configuration can name a program.
func (c canary) settings() [][2]string {
	return [][2]string{
		{"core.fsmonitor", c.path},
		{"core.sshCommand", c.path},
		{"core.editor", c.path},
		{"core.pager", c.path},
		{"core.hooksPath", filepath.Dir(c.path)},
		{"core.alternateRefsCommand", c.path},
		{"core.gitProxy", c.path},
		{"core.askPass", c.path},
		{"diff.external", c.path},
		{"diff.evil.command", c.path},
		{"diff.evil.textconv", c.path},
		{"filter.evil.clean", c.path},
		{"filter.evil.smudge", c.path},
		{"filter.evil.process", c.path},
		{"filter.evil.required", "true"},
		{"merge.evil.driver", c.path},
		{"credential.helper", c.path},
		{"gpg.program", c.path},
		{"uploadpack.packObjectsHook", c.path},
		{"gc.recentObjectsHook", c.path},
		{"alias.diff-tree", "!" + c.path},
		{"pager.diff-tree", c.path},
		{"log.showSignature", "true"},
	}
}

// attributes make every file go through what the settings name.
const attributes = "* filter=evil diff=evil merge=evil\n"

// story takes one change of workspace 1 the whole way, with a snapshot, a
// rebase, a clean checkout and a removal.
func (f *fixture) story(edit func(root string)) {
	f.t.Helper()
	w := f.workspace(1)
	write(f.t, w.Path(), "a.txt", "loom\n")
	edit(w.Path())
	if _, _, err := w.Change(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.write("dir/b.txt", "the user goes on\n")
	f.user("commit", "-q", "-m", "user", "dir/b.txt")
	if _, err := f.ws.Rebase(f.t.Context(), w); err != nil {
		f.t.Fatal(err)
	}
	write(f.t, w.Path(), "again.txt", "loom\n")
	change, _, err := w.Change(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	made := f.candidate(1, 5, change)
	if err := f.ws.Checkout(f.t.Context(), made.GetCommit(), filepath.Join(f.data, "clean")); err != nil {
		f.t.Fatal(err)
	}
	f.land(1, 6, made)
	if err := f.ws.Remove(f.t.Context(), execution(1), nil); err != nil {
		f.t.Fatal(err)
	}
}

func TestM21_NothingOfTheAgentsIsRun(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, plant := range map[string]func(c canary, root string){
		"configuration of its workspace": func(c canary, root string) {
			for _, kv := range c.settings() {
				gitIn(t, root, "config", kv[0], kv[1])
			}
			write(t, root, ".gitattributes", attributes)
		},
		"a .git file that names another repository": func(c canary, root string) {
			evil := evilRepository(t, c)
			remove(t, root, ".git")
			write(t, root, ".git", "gitdir: "+filepath.Join(evil, ".git")+"\n")
			write(t, root, ".gitattributes", attributes)
		},
		"a .git link to another repository": func(c canary, root string) {
			evil := evilRepository(t, c)
			remove(t, root, ".git")
			link(t, filepath.Join(evil, ".git"), filepath.Join(root, ".git"))
		},
		"a bare repository in the workspace": func(c canary, root string) {
			if err := os.CopyFS(filepath.Join(root, "sub"), os.DirFS(filepath.Join(evilRepository(t, c), ".git"))); err != nil {
				t.Fatal(err)
			}
		},
		"hooks in its workspace": func(c canary, root string) {
			for _, hook := range []string{"post-index-change", "reference-transaction", "pre-commit", "post-checkout"} {
				link(t, c.path, filepath.Join(root, ".git/hooks", hook))
			}
		},
		"attributes and modules in the change": func(c canary, root string) {
			write(t, root, ".gitattributes", attributes)
			write(t, root, ".gitmodules", "[submodule \"x\"]\npath = x\nurl = ext::"+c.path+"\nupdate = !"+c.path+"\n")
			write(t, root, ".gitconfig", "[core]\nfsmonitor = "+c.path+"\n")
			write(t, root, ".lfsconfig", "[lfs]\nurl = x\n")
		},
		"a program called git": func(c canary, root string) { link(t, c.path, filepath.Join(root, "git")) },
	} {
		t.Run(name, func(t *testing.T) {
			f, c := newFixture(t), newCanary(t)
			f.story(func(root string) { plant(c, root) })
			c.check(name)
		})
	}
}

func evilRepository(t *testing.T, c canary) string {
	evil := filepath.Join(t.TempDir(), "evil")
	if err := os.Mkdir(evil, 0o755); err != nil {
		t.Fatal(err)
	}
	gitIn(t, evil, "init", "-q")
	write(t, evil, "x", "x")
	gitIn(t, evil, "add", "x")
	gitIn(t, evil, "commit", "-q", "-m", "x")
	for _, kv := range c.settings() {
		gitIn(t, evil, "config", kv[0], kv[1])
	}
	return evil
}

// The user's own configuration is the user's; but its programs are not started
// on what an agent wrote.
func TestM21_NothingIsRunFromTheRegisteredRepository(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f, c := newFixture(t), newCanary(t)
	for _, kv := range c.settings() {
		if kv[0] != "core.hooksPath" { // hooks are run, as hooks
			f.user("config", kv[0], kv[1])
		}
	}
	for _, hook := range []string{"post-index-change", "reference-transaction", "post-checkout", "post-merge", "pre-auto-gc"} {
		f.hook(hook, "#!/bin/sh\ntouch "+c.mark+"\n")
	}
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "loom\n")
	write(t, w.Path(), ".gitattributes", attributes)
	change, _, err := w.Change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	landing := f.land(1, 6, f.candidate(1, 5, change))
	c.check("landing")
	if landing.GetRef() != landedBranch {
		t.Errorf("landing %v: a checkout with filters in it must be left alone", landing)
	}
}

func TestM21_TheProcessEnvironmentIsNotPassedOn(t *testing.T) {
	longtest.Skip(t)
	f, c := newFixture(t), newCanary(t)
	home := t.TempDir()
	var config strings.Builder
	for _, kv := range c.settings() {
		section, key, _ := strings.Cut(kv[0], ".")
		if sub, rest, ok := strings.Cut(key, "."); ok {
			section, key = section+" \""+sub+"\"", rest
		}
		config.WriteString("[" + section + "]\n" + key + " = \"" + kv[1] + "\"\n")
	}
	write(t, home, ".gitconfig", config.String())
	write(t, home, ".config/git/attributes", attributes)
	for k, v := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, ".config"), "GIT_CONFIG_GLOBAL": filepath.Join(home, ".gitconfig"),
		"GIT_CONFIG_SYSTEM": filepath.Join(home, ".gitconfig"), "GIT_EXTERNAL_DIFF": c.path, "GIT_SSH_COMMAND": c.path,
		"GIT_EDITOR": c.path, "GIT_PAGER": c.path, "GIT_ASKPASS": c.path, "GIT_PROXY_COMMAND": c.path,
		"GIT_DIR": "/nonexistent", "GIT_WORK_TREE": "/nonexistent", "GIT_INDEX_FILE": "/nonexistent",
		"GIT_OBJECT_DIRECTORY": "/nonexistent", "GIT_COMMITTER_NAME": "Mallory", "GIT_AUTHOR_NAME": "Mallory",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": c.path,
		"GIT_TRACE2": filepath.Join(home, "trace"), "GIT_TRACE": filepath.Join(home, "trace"),
	} {
		t.Setenv(k, v)
	}
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "loom\n")
	write(t, w.Path(), ".gitattributes", attributes)
	change, _, err := w.Change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := f.candidate(1, 5, change)
	c.check("environment")
	if exists(filepath.Join(home, "trace")) {
		t.Error("git traced")
	}
	who, err := f.repo.git().line(t.Context(), "log", "-1", "--format=%an|%cn", made.GetCommit())
	if err != nil || who != "backend-engineer|"+committerName {
		t.Errorf("%s, %v", who, err)
	}
}

// The settings that the other tests count on being ignored do run when git is
// used as an agent would use it: the canary is alive.
func TestM21_TheCanarySings(t *testing.T) {
	t.Parallel()
	c := newCanary(t)
	evil := evilRepository(t, c)
	write(t, evil, ".gitattributes", attributes)
	write(t, evil, "x", "changed")
	_, _ = tryGit(evil, "status")
	if !exists(c.mark) {
		t.Error("git status did not start anything: these tests prove nothing")
	}
}

func TestM21_NestedRepositoryIsNeverEntered(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f, c := newFixture(t), newCanary(t)
	w := f.workspace(1)
	if err := os.CopyFS(filepath.Join(w.Path(), "nested"), os.DirFS(evilRepository(t, c))); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.Change(t.Context())
	wantText(t, wantCode(t, err, "git/unsupported"), "nested/")
	write(t, w.Path(), ".gitignore", "nested\n")
	if _, _, err := w.Change(t.Context()); err != nil {
		t.Error(err)
	}
	remove(t, w.Path(), ".gitignore")
	if err := f.ws.Remove(t.Context(), execution(1), nil); err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(f.data, "kept", execution(1)+"-1", "nested", "x")) {
		t.Error("work that could not be saved was dropped")
	}
	c.check("nested repository")
}

// A submodule that an agent fills is not entered either, and is no part of a
// change.
func TestM21_Submodule(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f, c := newFixture(t), newCanary(t)
	evil := evilRepository(t, c)
	f.user("update-index", "--add", "--cacheinfo", "160000,"+f.head("main")+",sub")
	f.user("commit", "-q", "-m", "a submodule")
	w := f.workspace(1)
	remove(t, w.Path(), "sub")
	if err := os.CopyFS(filepath.Join(w.Path(), "sub"), os.DirFS(evil)); err != nil {
		t.Fatal(err)
	}
	write(t, w.Path(), "a.txt", "loom\n")
	change, _, err := w.Change(t.Context())
	if err != nil || len(change.GetFiles()) != 1 {
		t.Fatalf("%v, %v; want a.txt alone", change, err)
	}
	f.land(1, 6, f.candidate(1, 5, change))
	c.check("submodule")
	if f.head("main") == change.GetBase() {
		t.Error("it did not land")
	}
}

// An agent must not be able to hide a change from the person who approves it.
func TestP9_TheDiffShowsWhatAttributesWouldHide(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "hidden?\n")
	write(t, w.Path(), ".gitattributes", "*.txt -diff binary\n")
	change, diff, err := w.Change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, string(diff), "+hidden?", "-two")
	if len(change.GetFiles()) != 2 || change.GetFiles()[1].GetAdded() != 1 || change.GetFiles()[1].GetRemoved() != 3 {
		t.Errorf("files %v", change.GetFiles())
	}
}

// Also not to look whether a file of the person's checkout has changed.
func TestM21_FiltersSleepWhileLoomLooks(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f, c := newFixture(t), newCanary(t)
	f.write(".gitattributes", "a.txt filter=evil\n")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "a filter")
	for _, kv := range c.settings() {
		if strings.HasPrefix(kv[0], "filter.") {
			f.user("config", kv[0], kv[1])
		}
	}
	change := f.propose(1, f.editing("dir/b.txt", "loom\n"))
	touch(t, f.top, "a.txt")
	landing := f.land(1, 6, f.candidate(1, 5, change))
	c.check("looking")
	if landing.GetRef() != "refs/heads/main" || read(t, f.top, "dir/b.txt") != "loom\n" {
		t.Errorf("landing %v", landing)
	}
}
