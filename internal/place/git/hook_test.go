package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
)

// tryCandidate edits a.txt in workspace 1 and asks for its candidate.
func (f *fixture) tryCandidate(policy HookPolicy) ([]HookRun, error) {
	f.t.Helper()
	req := f.request(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	req.Hooks = policy
	made, runs, err := f.com.Candidate(f.t.Context(), req)
	if (made != nil) != (err == nil) {
		f.t.Fatalf("Candidate = %v, %v", made, err)
	}
	if ref := f.head(candidateRef("b1")); (ref != "") != (err == nil) {
		f.t.Errorf("the candidate's ref is at %q after error %v", ref, err)
	}
	return runs, err
}

var allowed = HookPolicy{Allow: true, Timeout: 20 * time.Second}

func TestP19_HooksRunInOrderOnTheChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	log := filepath.Join(t.TempDir(), "log")
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"} {
		f.hook(name, `#!/bin/sh
echo "$(basename $0) $* [$(cat a.txt)] $(git diff --cached --name-only) $(git symbolic-ref HEAD) $GIT_AUTHOR_NAME" >>`+log+"\n")
	}
	runs, err := f.tryCandidate(allowed)
	if err != nil || len(runs) != 3 {
		t.Fatalf("%v, %v", runs, err)
	}
	const rest = " [loom] a.txt refs/heads/loom/b1 backend-engineer\n"
	want := "pre-commit " + rest + "prepare-commit-msg .git/COMMIT_EDITMSG message" + rest + "commit-msg .git/COMMIT_EDITMSG" + rest
	if got := read(t, filepath.Dir(log), "log"); got != want {
		t.Errorf("hooks saw\n%s\nwant\n%s", got, want)
	}
}

func TestF24_F25_F26_HooksThatRefuse(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, tt := range []struct {
		name, hook, script string
		code               string // "" when the candidate is made
		says               string
	}{
		{"pass", "pre-commit", "#!/bin/sh\nexit 0\n", "", ""},
		{"no interpreter line", "pre-commit", "exit 0\n", "", ""},
		{"fail", "pre-commit", "#!/bin/sh\necho no such luck >&2\nexit 3\n", "git/hook-failed", "exit status 3:\nno such luck"},
		{"fail without interpreter line", "pre-commit", "exit 4\n", "git/hook-failed", "exit status 4"},
		{"no such interpreter", "pre-commit", "#!/nonexistent\n", "git/hook-failed", "could not run"},
		{"killed by a signal", "pre-commit", "#!/bin/sh\nkill -9 $$\n", "git/hook-failed", "could not run"},
		{"message refused", "commit-msg", "#!/bin/sh\ngrep -q Broken $1\n", "git/hook-failed", "commit-msg"},
		{"reads standard input", "pre-commit", "#!/bin/sh\ncat\n", "", ""},
		{"rewrites a file", "pre-commit", "#!/bin/sh\necho more >>a.txt\n", "git/hook-changed", `"a.txt"`},
		{"rewrites another file", "prepare-commit-msg", "#!/bin/sh\necho more >>dir/b.txt\n", "git/hook-changed", `"dir/b.txt"`},
		{"stages a change", "pre-commit", "#!/bin/sh\necho more >>a.txt; git add a.txt\n", "git/hook-changed", `"a.txt"`},
		{"stages a new file", "commit-msg", "#!/bin/sh\necho x >new; git add new\n", "git/hook-changed", `"new"`},
		{"stages and puts the file back", "pre-commit", "#!/bin/sh\necho x >a.txt; git add a.txt; echo loom >a.txt\n", "git/hook-changed", `"a.txt"`},
		{"removes a file", "pre-commit", "#!/bin/sh\nrm dir/b.txt\n", "git/hook-changed", `"dir/b.txt"`},
		{"breaks the index", "pre-commit", "#!/bin/sh\necho x >.git/index\n", "git/hook-changed", "index"},
		{"leaves an untracked file", "pre-commit", "#!/bin/sh\necho x >built.o\n", "", ""},
		{"configures its clone", "pre-commit", "#!/bin/sh\ngit config core.fsmonitor /bin/false; git config core.bare true\n", "", ""},
		{"empties the message", "commit-msg", "#!/bin/sh\n: >$1\n", "git/hook-failed", "empty message"},
		{"makes the message a link", "commit-msg", "#!/bin/sh\nrm $1; ln -s /etc/passwd $1\n", "git/hook-failed", "message"},
		{"leaves a process behind", "pre-commit", "#!/bin/sh\nsleep 100 >/dev/null 2>&1 &\nexit 0\n", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.hook(tt.hook, tt.script)
			before := state(t, f.top)
			runs, err := f.tryCandidate(allowed)
			if fault.Code(err) != tt.code {
				t.Fatalf("%v, %v; want code %q", runs, err, tt.code)
			}
			if err != nil {
				wantText(t, err.Error(), tt.says)
			}
			if len(runs) != 1 || runs[0].Name != tt.hook || state(t, f.top) != before {
				t.Errorf("runs %v, or the user's checkout changed", runs)
			}
			if err == nil && f.user("show", candidateRef("b1")+":a.txt") != "loom" {
				t.Error("the candidate is not what was approved")
			}
			if exists(filepath.Join(f.data, "committer", "p", "5")) {
				t.Error("the stage was not removed")
			}
		})
	}
}

func TestF25_HookThatHangs(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	pid := filepath.Join(t.TempDir(), "pid")
	f.hook("pre-commit", "#!/bin/sh\necho begun\nsleep 1000 &\necho $! >"+pid+"\nwait\n")
	began := time.Now()
	runs, err := f.tryCandidate(HookPolicy{Allow: true, Timeout: 500 * time.Millisecond})
	wantText(t, wantCode(t, err, "git/hook-timeout"), "pre-commit", "500ms", "begun")
	if took := runs[0].Took; took > 500*time.Millisecond+grace+time.Second {
		t.Errorf("it took %v to stop it (%v in all)", took, time.Since(began))
	}
	if child := strings.TrimSpace(read(t, filepath.Dir(pid), "pid")); alive(child) {
		t.Errorf("process %s of the hook is still alive", child)
	}
}

// A hook of a host that was killed runs on; the next holder ends it.
func TestF25_HookThatOutlivesItsHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	orphan := exec.Command("sleep", "1000")
	orphan.Env = []string{stageMark + "=" + filepath.Join(f.com.dir, "committer", f.com.project, "4")}
	if err := errors.Join(os.MkdirAll(orphan.Env[0][len(stageMark)+1:], 0o700), orphan.Start()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- orphan.Wait() }()
	if _, err := f.tryCandidate(allowed); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		_ = orphan.Process.Kill()
		t.Error("what a hook of an earlier holder left is still alive")
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestF24_OutputIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hook("pre-commit", "#!/bin/sh\necho first\nhead -c 3000000 /dev/zero | tr '\\0' x\necho last\nexit 1\n")
	runs, err := f.tryCandidate(allowed)
	wantCode(t, err, "git/hook-failed")
	if n := len(runs[0].Output); n > 2*hookOutput+100 {
		t.Errorf("%d bytes were kept", n)
	}
	wantText(t, runs[0].Output, "first\n", "last\n", "bytes left out")
}

func TestP19_NoSandboxNoHook(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hook("commit-msg", "#!/bin/sh\nexit 0\n")
	_, err := f.tryCandidate(HookPolicy{})
	wantText(t, wantCode(t, err, "tool/no-sandbox"), "commit-msg")
	if err := os.Chmod(filepath.Join(f.repo.common, "hooks", "commit-msg"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, err := f.tryCandidate(HookPolicy{}) // git would not run it either
	if err != nil || len(runs) != 1 || !runs[0].Skipped {
		t.Errorf("%v, %v; want one hook that is skipped", runs, err)
	}
}

func TestP19_WhereHooksAre(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	refuse := "#!/bin/sh\nexit 1\n"
	for name, install := range map[string]func(f *fixture){
		"the default directory": func(f *fixture) { f.hook("pre-commit", refuse) },
		"a link to a script of the repository": func(f *fixture) {
			executable(t, filepath.Join(f.top, "scripts/check.sh"), refuse)
			link(t, "../../scripts/check.sh", filepath.Join(f.repo.common, "hooks/pre-commit"))
		},
		"core.hooksPath, absolute": func(f *fixture) {
			dir := t.TempDir()
			executable(t, filepath.Join(dir, "pre-commit"), refuse)
			f.user("config", "core.hooksPath", dir)
		},
		"core.hooksPath, relative and tracked": func(f *fixture) {
			executable(t, filepath.Join(f.top, ".githooks/pre-commit"), refuse)
			f.user("add", ".")
			f.user("commit", "-q", "-m", "hooks")
			f.user("config", "core.hooksPath", ".githooks")
		},
		"core.hooksPath, relative, untracked, and reading a tracked file beside it": func(f *fixture) {
			write(t, f.top, ".husky/pre-commit", "exit 1\n")
			f.user("add", ".")
			f.user("commit", "-q", "-m", "hooks")
			executable(t, filepath.Join(f.top, ".husky/_/pre-commit"),
				"#!/bin/sh\ns=$(dirname \"$(dirname \"$0\")\")/$(basename \"$0\")\n[ ! -f \"$s\" ] && exit 0\nsh -e \"$s\"\n")
			f.user("config", "core.hooksPath", ".husky/_")
		},
		"core.hooksPath in a file that is included": func(f *fixture) {
			dir := t.TempDir()
			executable(t, filepath.Join(dir, "pre-commit"), refuse)
			write(t, dir, "more", "[core]\nhooksPath = "+dir+"\n")
			f.user("config", "include.path", filepath.Join(dir, "more"))
		},
		"a bare repository": func(f *fixture) {
			f.bare()
			f.hook("pre-commit", refuse)
		},
		"core.hooksPath, relative, bare": func(f *fixture) {
			f.bare()
			executable(t, filepath.Join(f.top, "guards/pre-commit"), refuse)
			f.user("config", "core.hooksPath", "guards")
		},
		"configuration of one work tree": func(f *fixture) {
			dir := t.TempDir()
			executable(t, filepath.Join(dir, "pre-commit"), refuse)
			f.user("config", "extensions.worktreeConfig", "true")
			f.user("config", "--worktree", "core.hooksPath", dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			install(f)
			_, err := f.tryCandidate(allowed)
			wantCode(t, err, "git/hook-failed")
		})
	}
}

// The ways round a hook that an agent has: none of them is on the way to main.
func TestP19_WaysRoundAHook(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, try := range map[string]func(f *fixture, root string){
		"--no-verify": func(f *fixture, root string) { gitIn(t, root, "commit", "-q", "-a", "--no-verify", "-m", "x") },
		"core.hooksPath in its own clone": func(f *fixture, root string) {
			gitIn(t, root, "config", "core.hooksPath", "/dev/null")
		},
		"a hook of its own": func(f *fixture, root string) {
			executable(t, filepath.Join(root, ".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n")
		},
		"the tracked hook, rewritten by the change": func(f *fixture, root string) {
			executable(t, filepath.Join(root, ".githooks/pre-commit"), "#!/bin/sh\nexit 0\n")
		},
		"the tracked hook, removed by the change": func(f *fixture, root string) { remove(t, root, ".githooks") },
		"the tracked hook, without its mode": func(f *fixture, root string) {
			if err := os.Chmod(filepath.Join(root, ".githooks/pre-commit"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"plumbing": func(f *fixture, root string) {
			c := gitIn(t, root, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "x")
			gitIn(t, root, "update-ref", "refs/heads/main", c)
		},
		"a file called like the hook's helper": func(f *fixture, root string) {
			executable(t, filepath.Join(root, "git"), "#!/bin/sh\nexit 0\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			executable(t, filepath.Join(f.top, ".githooks/pre-commit"), "#!/bin/sh\ngit rev-parse HEAD && echo refused && exit 1\n")
			f.user("add", ".")
			f.user("commit", "-q", "-m", "hooks")
			f.user("config", "core.hooksPath", ".githooks")
			head := f.head("main")
			w := f.workspace(1)
			write(t, w.Path(), "a.txt", "loom\n")
			try(f, w.Path())
			_, err := f.tryCandidate(allowed)
			wantText(t, wantCode(t, err, "git/hook-failed"), "refused")
			if f.head("main") != head {
				t.Error("main was moved")
			}
		})
	}
}

// A hook that runs what the change has brought, as one that runs the tests does,
// does not lose the hooks behind it: what the change does to the hooks of its stage
// is done to copies that nobody runs.
func TestP19_M20_AHookThatRunsTheChangeKeepsTheOthers(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, trick := range map[string]string{
		"replaced":     "printf '#!/bin/sh\nexit 0\n' > .git/hooks/commit-msg",
		"removed":      "rm -f .git/hooks/commit-msg",
		"without mode": "chmod 644 .git/hooks/commit-msg",
		"all replaced": "rm -rf .git/hooks && mkdir .git/hooks",
		"its own copy": "for f in $HOOKS/commit-msg $TMPDIR/*/commit-msg; do [ ! -e $f ] || printf '#!/bin/sh\nexit 0\n' > $f; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.hook("pre-commit", "#!/bin/sh\nHOOKS=$(dirname $0) exec sh ./tests.sh\n")
			f.hook("commit-msg", "#!/bin/sh\necho not this one\nexit 1\n")
			write(t, f.workspace(1).Path(), "tests.sh", trick+"\n")
			if name != "its own copy" { // without a sandbox a hook can change whatever its user can
				_, err := f.tryCandidate(allowed)
				wantText(t, wantCode(t, err, "git/hook-failed"), "commit-msg", "not this one")
			}
			_, err := f.tryCandidate(HookPolicy{Contain: contained(t)})
			wantText(t, wantCode(t, err, "git/hook-failed"), "commit-msg", "not this one")
		})
	}
}

// contained stands in for a sandbox: it says so when a program lies where a sandbox would
// not show it.
func contained(t *testing.T) func(context.Context, string, []string, []string, []string) (*exec.Cmd, error) {
	return func(ctx context.Context, dir string, write, env, argv []string) (*exec.Cmd, error) {
		if !slices.ContainsFunc(write, func(w string) bool { return strings.HasPrefix(argv[0], w+"/") }) {
			t.Errorf("%s is run, which lies in none of %q", argv[0], write)
		}
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, env
		return cmd, nil
	}
}

func TestLOCK04_HooksMayAddTrailersButNotOurs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.hook("commit-msg", "#!/bin/sh\nsed -i '/^Loom-/d' $1\nprintf 'Change-Id: I1\\nLoom-Token: 99\\n' >>$1\n")
	if _, err := f.tryCandidate(allowed); err != nil {
		t.Fatal(err)
	}
	got := f.user("log", "-1", "--format=%(trailers:key=Change-Id)%(trailers:key=Loom-Token)", candidateRef("b1"))
	if strings.TrimSpace(got) != "Loom-Token: 5" && !strings.Contains(got, "Loom-Token: 5") {
		t.Errorf("trailers %q", got)
	}
	if strings.Contains(got, "99") {
		t.Errorf("a hook forged the token: %q", got)
	}
}

func TestLOCK04_SignedWhenTheRepositoryWantsIt(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	dir := t.TempDir()
	executable(t, filepath.Join(dir, "gpg"), `#!/bin/sh
cat >/dev/null
echo "[GNUPG:] SIG_CREATED D" >&2
echo "-----BEGIN PGP SIGNATURE-----"
echo "$*" | tr -d ' ' | cut -c1-40
echo "-----END PGP SIGNATURE-----"
`)
	f.user("config", "commit.gpgSign", "true")
	_, err := f.tryCandidate(allowed)
	wantCode(t, err, "git/unsupported")
	f.user("config", "user.signingKey", "KEY1")
	f.user("config", "gpg.program", filepath.Join(dir, "gpg"))
	if _, err := f.tryCandidate(allowed); err != nil {
		t.Fatal(err)
	}
	wantText(t, f.user("cat-file", "commit", candidateRef("b1")), "gpgsig -----BEGIN PGP SIGNATURE-----", "KEY1")
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}
