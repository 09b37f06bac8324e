package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"
)

// crashPlan is what a child process does before it dies.
type crashPlan struct {
	Top, Data, Step string
	Remote          string
	Nth             int // dies at the Nth such step, from 1
	Candidate       *CandidateRequest
	Land            *LandRequest
}

// quick has a child end at once: under the race detector it would stay for a second.
const quick = "atexit_sleep_ms=0"

const crashed = 99 // exit status of a child that died where it should

func TestMain(m *testing.M) {
	neutral = append(neutral, "core.fsync=none") // tests kill processes, not the machine
	if os.Getenv("GORACE") == "" {
		_ = os.Setenv("GORACE", quick)
	}
	if modes := os.Getenv("LOOM_GIT_SSH"); modes != "" {
		os.Exit(wire(modes))
	}
	if plan := os.Getenv("LOOM_GIT_CRASH"); plan != "" {
		os.Exit(die(plan))
	}
	if plan := os.Getenv("LOOM_GIT_TRAIN"); plan != "" {
		os.Exit(dieOnTrain(plan))
	}
	code := m.Run()
	if dir, err := template(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// die runs a plan up to its step and ends the process there and then.
func die(plan string) int {
	var p crashPlan
	if err := json.Unmarshal([]byte(plan), &p); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	repo, err := Open(ctx, p.Top)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if p.Remote != "" {
		if repo, err = repo.WithRemote(ctx, p.Remote); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	com, err := NewCommitter(p.Data, "p", repo)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	com.step = func(step string) {
		if step == p.Step {
			if p.Nth--; p.Nth == 0 {
				os.Exit(crashed)
			}
		}
	}
	if p.Candidate != nil {
		_, _, err = com.Candidate(ctx, *p.Candidate)
	} else {
		_, err = com.Land(ctx, *p.Land)
	}
	fmt.Println("the step was not reached:", err)
	return 0
}

// crash runs a plan in a child and fails unless it dies where it should.
func (f *fixture) crash(p crashPlan) {
	f.t.Helper()
	p.Top, p.Data = f.top, f.data
	text, err := json.Marshal(p)
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOOM_GIT_CRASH="+string(text))
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != crashed {
		f.t.Fatalf("child: %v\n%s", err, out)
	}
}

// steps records the steps of a whole run of a story.
func steps(t *testing.T, prepare func(*fixture)) (candidate, land []string) {
	t.Helper()
	f := newFixture(t)
	f.hook("pre-commit", "#!/bin/sh\nexit 0\n")
	prepare(f)
	var seen []string
	f.com.step = func(s string) { seen = append(seen, s) }
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	candidate, seen = seen, nil
	f.land(1, 6, made)
	return candidate, seen
}

func TestLOCK05_CrashBetweenAnyTwoSteps(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, story := range map[string]struct {
		prepare func(*fixture)
		ref     string
	}{
		"clean": {func(*fixture) {}, "main"},
		"dirty": {func(f *fixture) { f.write("dir/b.txt", "mine\n") }, "loom/landed"},
		"bare":  {func(f *fixture) { f.bare() }, "main"},
		"twice": {func(f *fixture) { f.user("worktree", "add", "-q", "-f", f.top+"-2", "main") }, "main"},
	} {
		candidate, land := steps(t, story.prepare)
		if name == "clean" || name == "dirty" {
			for _, step := range candidate {
				if name == "dirty" && step != "candidate published" {
					continue
				}
				t.Run(name+"/candidate/"+step, func(t *testing.T) {
					t.Parallel()
					crashCandidate(t, story.prepare, story.ref, step)
				})
			}
		}
		count := map[string]int{}
		for _, step := range land {
			count[step]++
			t.Run(fmt.Sprintf("%s/land/%s/%d", name, step, count[step]), func(t *testing.T) {
				t.Parallel()
				crashLand(t, story.prepare, story.ref, step, count[step])
			})
		}
	}
}

func crashCandidate(t *testing.T, prepare func(*fixture), ref, step string) {
	f := newFixture(t)
	f.hook("pre-commit", "#!/bin/sh\nexit 0\n")
	prepare(f)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	before, head := state(t, f.top), f.head("main")
	req := f.request(1, 5, change)
	f.crash(crashPlan{Step: step, Nth: 1, Candidate: &req})
	if state(t, f.top) != before || f.head("main") != head {
		t.Error("a crash while making a candidate touched the checkout or the target")
	}
	published := f.head(candidateRef("b1"))
	made := f.candidate(1, 6, change)
	if published != "" && made.GetCommit() != published {
		t.Errorf("a second commit %s was made beside %s", made.GetCommit(), published)
	}
	f.land(1, 7, made)
	if f.copies(1, ref) != 1 {
		t.Errorf("%d copies on %s", f.copies(1, ref), ref)
	}
}

func crashLand(t *testing.T, prepare func(*fixture), ref, step string, nth int) {
	f := newFixture(t)
	prepare(f)
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	req := f.landRequest(1, 6, made)
	f.crash(crashPlan{Step: step, Nth: nth, Land: &req})
	if n := f.copiesIfAny(1, ref); n > 1 {
		t.Fatalf("%d copies right after the crash", n)
	}
	landing := f.land(1, 7, made)
	if f.copies(1, ref) != 1 || landing.GetCommit() != made.GetCommit() || landing.GetRef() != "refs/heads/"+ref {
		t.Errorf("%d copies on %s, landing %v", f.copies(1, ref), ref, landing)
	}
	if ref == "main" && f.repo.main != "" && f.status() != "" {
		t.Errorf("status after recovery: %q", f.status())
	}
	if exists(filepath.Join(f.repo.common, "index.lock")) {
		t.Error("the user's index is still locked")
	}
	f.ship(2, 8, f.editing("next.txt", "next\n"))
}

func (f *fixture) copiesIfAny(n int, ref string) int {
	if f.head(ref) == "" {
		return 0
	}
	return f.copies(n, ref)
}

// A crash while git writes files leaves some whole, some cut short.
func TestLOCK05_CrashWhileTheCheckoutIsWritten(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	edit := func(root string) {
		write(t, root, "a.txt", "one\ntwo\nthree\nfour\nfive\n")
		write(t, root, "new/n.txt", "a new file\n")
		write(t, root, "new/m.txt", "another\n")
		remove(t, root, "dir/b.txt")
	}
	for name, tt := range map[string]struct {
		leave func(*fixture)
		ref   string // where it ends
		clean bool
	}{
		"nothing written":       {func(f *fixture) {}, "main", true},
		"one whole":             {func(f *fixture) { f.write("a.txt", "one\ntwo\nthree\nfour\nfive\n") }, "main", true},
		"one cut short":         {func(f *fixture) { f.write("a.txt", "one\ntw") }, "main", true},
		"a new one empty":       {func(f *fixture) { f.write("new/n.txt", "") }, "main", true},
		"a new one whole":       {func(f *fixture) { f.write("new/n.txt", "a new file\n"); remove(t, f.top, "dir/b.txt") }, "main", true},
		"removed, not yet made": {func(f *fixture) { remove(t, f.top, "a.txt") }, "main", true},
		"edited by the user since": {func(f *fixture) {
			f.write("new/n.txt", "a new")
			f.write("a.txt", "mine\n")
		}, "loom/landed", false},
		"untracked by the user since": {func(f *fixture) {
			f.write("a.txt", "one\ntwo\nthree\nfour\n")
			f.write("new/n.txt", "mine\n")
		}, "loom/landed", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			made := f.candidate(1, 5, f.propose(1, edit))
			req := f.landRequest(1, 6, made)
			f.crash(crashPlan{Step: "target moved", Nth: 1, Land: &req})
			tt.leave(f)
			landing := f.land(1, 7, made)
			if landing.GetRef() != "refs/heads/"+tt.ref || f.copies(1, tt.ref) != 1 {
				t.Fatalf("landing %v", landing)
			}
			if tt.clean && f.status() != "" {
				t.Errorf("status %q", f.status())
			}
			if !tt.clean && (f.head("main") != made.GetBase() || read(t, f.top, userFile(name)) != "mine\n" || exists(f.top+"/new/m.txt")) {
				t.Errorf("main %s, status %q: the user's edit or main was not kept", f.head("main"), f.status())
			}
			if name == "untracked by the user since" && f.status() != "?? new/" {
				t.Errorf("status %q: what the landing had written was not put back", f.status())
			}
		})
	}
}

func userFile(name string) string {
	if name == "edited by the user since" {
		return "a.txt"
	}
	return "new/n.txt"
}

// The next landing finishes what another one left, even one that is not tried
// again.
func TestLOCK05_AnotherLandingFinishesIt(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	req := f.landRequest(1, 6, made)
	f.crash(crashPlan{Step: "target moved", Nth: 1, Land: &req})
	if landing := f.ship(2, 7, f.editing("c.txt", "c\n")); landing.GetRef() != "refs/heads/main" || f.status() != "" {
		t.Errorf("landing %v, status %q", landing, f.status())
	}
}

func TestF27_LocksThatAKilledGitLeft(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	for _, lock := range []string{
		filepath.Join(f.repo.common, fenceRef(deployment)+".lock"),
		filepath.Join(f.repo.common, candidateRef("b1")+".lock"),
		filepath.Join(f.com.path(), tipRef+".lock"),
		filepath.Join(f.com.path(), wipRef(execution(1))+".lock"),
		f.com.indexPath(execution(1)) + ".snapshot.lock",
		filepath.Join(f.data, "committer", "p", "5", "tree", ".git", "index.lock"),
		filepath.Join(f.data, "committer", "p", "5", "index.lock"),
		filepath.Join(f.data, "committer", "p", "3", "index.lock"),
	} {
		write(t, filepath.Dir(lock), filepath.Base(lock), "")
		long := time.Unix(1e9, 0) // no process is as old
		if err := os.Chtimes(lock, long, long); err != nil {
			t.Fatal(err)
		}
	}
	f.write("c.txt", "moves the tip\n")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "c")
	if again := f.propose(1, func(string) {}); again.GetPatchDigest() != change.GetPatchDigest() {
		t.Error("the change is another one")
	}
	f.land(1, 6, f.candidate(1, 5, change))
	if rooms, err := os.ReadDir(filepath.Join(f.data, "committer", "p")); f.copies(1, "main") != 1 || err != nil || len(rooms) != 0 {
		t.Errorf("it did not land, or stages were left: %v, %v", rooms, err)
	}
}

// A lock that is in the way stays for as long as a git lives that was there when
// it was made, and goes when it is dead.
func TestF27_ALockGoesOnProofAlone(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	suspect := exec.Command("git", "-C", f.top, "cat-file", "--batch")
	in, err := suspect.StdinPipe()
	if err == nil {
		err = suspect.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(f.repo.common, fenceRef(deployment)+".lock")
	write(t, filepath.Dir(lock), filepath.Base(lock), "")
	_, err = f.com.Land(t.Context(), f.landRequest(1, 6, made))
	wantText(t, wantCode(t, err, "git/failed"), deployment+".lock")
	if f.copies(1, "main") != 0 || !exists(lock) {
		t.Fatalf("%d copies landed past a lock whose git may live; it is there: %t", f.copies(1, "main"), exists(lock))
	}
	if err := errors.Join(in.Close(), suspect.Wait()); err != nil {
		t.Fatal(err)
	}
	then := time.Unix(1e9, 0) // no process is as old
	if err := os.Chtimes(lock, then, then); err != nil {
		t.Fatal(err)
	}
	f.land(1, 7, made)
	if f.copies(1, "main") != 1 || exists(lock) {
		t.Errorf("%d copies; the lock is there: %t", f.copies(1, "main"), exists(lock))
	}
}

// A lock on the user's own branch is not Loom's to remove.
func TestF27_LockOfTheUser(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	lock := filepath.Join(f.repo.common, "refs/heads/main.lock")
	write(t, filepath.Dir(lock), "main.lock", "")
	before := state(t, f.top)
	_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
	wantText(t, wantCode(t, err, "git/failed"), "main.lock")
	if state(t, f.top) != before || !exists(lock) || exists(filepath.Join(f.repo.common, "index.lock")) {
		t.Error("the checkout changed, or a lock is not as it was")
	}
	remove(t, f.repo.common, "refs/heads/main.lock")
	f.land(1, 7, made)
}
