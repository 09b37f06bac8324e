package git

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// remote gives the fixture a bare remote with its main branch, and returns the
// remote's path.
func (f *fixture) remote() string {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), "remote.git")
	f.user("clone", "-q", "--bare", f.top, path)
	f.landOn(path)
	return path
}

// landOn has the fixture's work land on a remote.
func (f *fixture) landOn(name string) {
	f.t.Helper()
	repo, err := f.repo.WithRemote(f.t.Context(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	f.repo = repo
	if f.ws, err = NewWorkspaces(f.data, "p", "main", repo); err != nil {
		f.t.Fatal(err)
	}
	if f.com, err = NewCommitter(f.data, "p", repo); err != nil {
		f.t.Fatal(err)
	}
}

// others push a commit to the remote, from a clone of their own.
func (f *fixture) others(remote, path, content string) {
	f.t.Helper()
	clone := filepath.Join(f.t.TempDir(), "others")
	gitIn(f.t, f.data, "clone", "-q", remote, clone)
	write(f.t, clone, path, content)
	gitIn(f.t, clone, "add", ".")
	gitIn(f.t, clone, "commit", "-q", "-m", "others")
	gitIn(f.t, clone, "push", "-q", "origin", "main")
}

func headOf(t testing.TB, repo, ref string) string {
	t.Helper()
	return gitIn(t, repo, "rev-parse", "--verify", ref)
}

// copiesIn counts the commits of execution 1 on a repository's main.
func copiesIn(t testing.TB, repo string) int {
	t.Helper()
	return len(strings.Fields(gitIn(t, repo, "log", "--format=%H", "--grep=^Loom-Execution: b1-x1$", "main")))
}

func TestLOCK03_LandsOnARemote(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	far := f.remote()
	f.others(far, "theirs.txt", "theirs\n")
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	if change.GetBase() != headOf(t, far, "main") {
		t.Errorf("the work began on %s, want the remote's newest %s", change.GetBase(), headOf(t, far, "main"))
	}
	landing := f.land(1, 6, f.candidate(1, 5, change))
	if landing.GetRemote() != far || landing.GetRef() != "refs/heads/main" {
		t.Errorf("landing %v", landing)
	}
	if got := headOf(t, far, "main"); got != landing.GetCommit() || f.head("main") != got {
		t.Errorf("the remote is at %s, main here at %s, want %s", got, f.head("main"), landing.GetCommit())
	}
	if f.status() != "" || read(t, f.top, "theirs.txt") != "theirs\n" || read(t, f.top, "a.txt") != "loom\n" {
		t.Errorf("the clean checkout did not follow: %q", f.status())
	}
	if got := gitIn(t, far, "cat-file", "blob", "refs/loom/fence/d1"); got != "token 6 move 1" {
		t.Errorf("the remote's fence says %q", got)
	}
	f.ship(2, 7, f.editing("a.txt", "loom again\n"))
	if headOf(t, far, "main") != f.head("main") || f.copies(2, "main") != 1 {
		t.Error("the second change is not on both")
	}
	if again := f.land(2, 9, &loomv1.Candidate{Commit: f.head("main"), Base: landing.GetCommit()}); again.GetCommit() != f.head("main") {
		t.Errorf("landed again: %v", again)
	}
}

func TestLOCK03_ARemoteByItsName(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	far := filepath.Join(t.TempDir(), "remote.git")
	f.user("clone", "-q", "--bare", f.top, far)
	f.user("remote", "add", "hub", far)
	f.landOn("hub")
	landing := f.ship(1, 5, f.editing("a.txt", "loom\n"))
	if landing.GetRemote() != "hub" || headOf(t, far, "main") != landing.GetCommit() {
		t.Errorf("landing %v, remote at %s", landing, headOf(t, far, "main"))
	}
	wantText(t, landing.GetCheckout(), "remote hub has it")
}

func TestLOCK01_BYD02_TheRemoteRefusesWhoWasOvertaken(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	far := f.remote()
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	before := headOf(t, far, "main")
	later := func() { // another host, with a repository of its own, begins with token 9
		other := newFixture(t)
		other.landOn(far)
		if _, err := other.com.Land(t.Context(), other.landRequest(2, 9, made)); err == nil {
			t.Error("another bead's candidate landed")
		}
		oid, err := other.repo.blob(t.Context(), fenceText(9))
		if err != nil {
			t.Fatal(err)
		}
		now, err := other.repo.fetched(t.Context(), fenceRef(deployment))
		if err != nil {
			t.Fatal(err)
		}
		if err := other.repo.push(t.Context(), refPush{fenceRef(deployment), oid, now[0]}); err != nil {
			t.Fatal(err)
		}
	}
	once := false
	f.com.step = func(s string) { // it sleeps after it has looked, and before it pushes
		if s == "remote fence raised" && !once {
			once = true
			later()
		}
	}
	_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
	wantText(t, wantCode(t, err, "git/fenced"), "6", "9")
	if !once || headOf(t, far, "main") != before || f.head("main") != before {
		t.Error("something moved all the same")
	}
}

func TestF23_TheRemoteMoved(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	far := f.remote()
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	made := f.candidate(1, 5, change)
	f.others(far, "theirs.txt", "theirs\n")
	_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
	wantCode(t, err, "git/target-moved")
	if copiesIn(t, far) != 0 || f.copies(1, "main") != 0 {
		t.Error("it landed all the same")
	}
	f.land(1, 8, f.candidate(1, 7, change))
	if copiesIn(t, far) != 1 || f.copies(1, "main") != 1 || read(t, f.top, "theirs.txt") != "theirs\n" {
		t.Error("it did not land once on both")
	}
}

func TestLOCK03_TheUsersOwnCommitsAreNotPushed(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	far := f.remote()
	f.write("own.txt", "not yet\n")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "own")
	own := f.head("main")
	landing := f.ship(1, 5, f.editing("a.txt", "loom\n"))
	if landing.GetRef() != landedBranch || f.head("main") != own || headOf(t, far, "main") != landing.GetCommit() {
		t.Errorf("landing %v", landing)
	}
	wantText(t, landing.GetCheckout(), "commits that the remote does not have", "git merge loom/landed")
	if out := gitIn(t, far, "log", "--format=%s", "main"); strings.Contains(out, "own") {
		t.Errorf("the remote has\n%s", out)
	}
}

func TestF28_TheRemotesHooksAreNotPassedOver(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	far := f.remote()
	executable(t, filepath.Join(far, "hooks", "pre-receive"), "#!/bin/sh\nwhile read a b ref; do case $ref in refs/heads/*) echo policy says no >&2; exit 1;; esac; done\n")
	before := f.head("main")
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
	wantText(t, wantCode(t, err, "git/push-refused"), "policy says no")
	if headOf(t, far, "main") != before || f.head("main") != before {
		t.Error("something moved all the same")
	}
}

func TestF28_Unreachable(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	far := f.remote()
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	before := f.head("main")
	away := far + ".away"
	if err := os.Rename(far, away); err != nil {
		t.Fatal(err)
	}
	_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
	wantText(t, wantCode(t, err, "git/remote"), "cannot be reached")
	if f.head("main") != before {
		t.Error("main here went ahead of the remote")
	}
	if w := f.workspace(2); w.Base() != before { // work goes on with what is known
		t.Errorf("a workspace on %s", w.Base())
	}
	if err := os.Rename(away, far); err != nil {
		t.Fatal(err)
	}
	if l := f.land(1, 7, made); headOf(t, far, "main") != l.GetCommit() {
		t.Error("it did not land afterwards")
	}
}

// wire is an ssh that loses answers: run as "wire HOST COMMAND" it takes the next
// word of a file for each push: "ok" lets it through, "after" cuts the
// connection when the push is done, "before" when it has not begun.
func wire(modes string) int {
	command := os.Args[len(os.Args)-1]
	if slices.Contains(os.Args, "-G") {
		return 1 // no, this is no OpenSSH
	}
	mode := "ok"
	if strings.HasPrefix(command, "git-receive-pack") {
		data, _ := os.ReadFile(modes)
		words := strings.Fields(string(data))
		if len(words) > 0 {
			mode = words[0]
			_ = os.WriteFile(modes, []byte(strings.Join(words[1:], " ")), 0o600)
		}
	}
	cmd := exec.Command("sh", "-c", command)
	cmd.Stderr = io.Discard
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		return 1
	}
	if mode == "ok" {
		go func() { _, _ = io.Copy(in, os.Stdin); in.Close() }()
		_, _ = io.Copy(os.Stdout, out)
		return map[bool]int{true: 0, false: 1}[cmd.Wait() == nil]
	}
	advertise(os.Stdout, out)
	if mode == "after" {
		go func() { _, _ = io.Copy(in, os.Stdin); in.Close() }()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
		return 1
	}
	in.Close()
	_ = cmd.Wait()
	return 1
}

// advertise passes on what a server says first: packets up to an empty one.
func advertise(to io.Writer, from io.Reader) {
	head := make([]byte, 4)
	for {
		if _, err := io.ReadFull(from, head); err != nil {
			return
		}
		n, err := strconv.ParseUint(string(head), 16, 16)
		if err != nil {
			return
		}
		body := &bytes.Buffer{}
		if n > 4 {
			_, _ = io.CopyN(body, from, int64(n-4))
		}
		_, _ = fmt.Fprintf(to, "%s%s", head, body)
		if n == 0 {
			return
		}
	}
}

func TestF28_P5_LostReplies(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		modes string // of the pushes: the first raises the fence
		code  string
	}{
		{"ok ok", ""},
		{"ok after", ""},
		{"ok before", ""},
		{"after ok", ""},
		{"before ok", ""},
		{"after after", ""},
		{"before before before ok ok", "git/remote"},
		{"before before before before before", "git/remote"},
		{"ok before before before", "git/remote"},
		{"ok before before after", ""},
	} {
		t.Run(tt.modes, func(t *testing.T) {
			f := newFixture(t)
			far := filepath.Join(t.TempDir(), "remote.git")
			f.user("clone", "-q", "--bare", f.top, far)
			modes := filepath.Join(t.TempDir(), "modes")
			t.Setenv("GIT_SSH_COMMAND", "env GORACE="+quick+" LOOM_GIT_SSH="+modes+" "+os.Args[0])
			f.landOn("ssh://far" + far)
			made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
			if err := os.WriteFile(modes, []byte(tt.modes), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
			if tt.code != "" {
				wantCode(t, err, tt.code)
				if f.copies(1, "main") != 0 {
					t.Error("main here is ahead of the remote")
				}
				if err := os.WriteFile(modes, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				_, err = f.com.Land(t.Context(), f.landRequest(1, 7, made))
			}
			if err != nil {
				t.Fatal(err)
			}
			if headOf(t, far, "main") != made.GetCommit() || copiesIn(t, far) != 1 || f.copies(1, "main") != 1 {
				t.Errorf("the remote is at %s with %d copies, want %s once", headOf(t, far, "main"), copiesIn(t, far), made.GetCommit())
			}
		})
	}
}

// A crash between any two steps leaves the remote with none or one.
func TestLOCK05_CrashesOnTheWayToARemote(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, step := range []string{
		"fence raised", "remote asked", "remote fence raised", "pushed", "delivered", "checkouts held", "target moved", "checkout followed",
	} {
		t.Run(step, func(t *testing.T) {
			f := newFixture(t)
			far := f.remote()
			made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
			req := f.landRequest(1, 6, made)
			f.crash(crashPlan{Step: step, Nth: 1, Land: &req, Remote: far})
			if n := copiesIn(t, far); n > 1 || n == 1 != slices.Contains([]string{"pushed", "delivered", "checkouts held", "target moved", "checkout followed"}, step) {
				t.Errorf("after the crash the remote has %d copies", n)
			}
			f.land(1, 7, made)
			if copiesIn(t, far) != 1 || f.copies(1, "main") != 1 || f.head("main") != headOf(t, far, "main") || f.status() != "" {
				t.Errorf("%d copies there, %d here, status %q", copiesIn(t, far), f.copies(1, "main"), f.status())
			}
		})
	}
}

func TestLOCK03_RemotesThatAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	c := newCanary(t)
	for _, name := range []string{"", "nowhere", "-x", "ext::" + c.path, "a\nb", "--upload-pack=" + c.path, "-u/x"} {
		_, err := f.repo.WithRemote(t.Context(), name)
		if err == nil {
			t.Errorf("remote %q was taken", name)
			continue
		}
		wantCode(t, err, "git/unsupported")
	}
	f.user("config", "remote.evil.url", "ext::"+c.path)
	if _, err := f.repo.WithRemote(t.Context(), "evil"); err == nil {
		t.Error("a transport that is a program was taken")
	}
	f.hook("pre-push", "#!/bin/sh\nexit 0\n")
	_, err := f.repo.WithRemote(t.Context(), f.top)
	wantText(t, wantCode(t, err, "git/unsupported"), "pre-push")
	c.check("remotes")
}

// What proves who Loom is reaches no call but those on a remote.
func TestSEC_CredentialsAreForTheRemoteAlone(t *testing.T) {
	f := newFixture(t)
	f.remote()
	for _, name := range credentials {
		t.Setenv(name, "secret-"+name)
	}
	has := func(c call, name string) bool {
		return slices.Contains(c.command(t.Context(), []string{"version"}).Env, name+"=secret-"+name)
	}
	for _, name := range credentials {
		if !has(f.repo.talk(), name) {
			t.Errorf("a push has no %s", name)
		}
		if has(f.repo.git(), name) || has(f.com.git(), name) {
			t.Errorf("an ordinary call has %s", name)
		}
	}
}
