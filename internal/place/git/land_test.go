package git

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestLOCK03_FromWorkspaceToTarget(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	base := f.head("main")
	change := f.propose(1, f.editing("a.txt", "one\n2\nthree\n"))
	if change.GetBase() != base {
		t.Errorf("the change sits on %s, want %s", change.GetBase(), base)
	}
	before := state(t, f.top)
	made := f.candidate(1, 5, change)
	if made.GetBase() != base || made.GetToken() != 5 || f.head(made.GetRef()) != made.GetCommit() {
		t.Errorf("candidate %v does not stand on %s at its ref", made, base)
	}
	if state(t, f.top) != before || f.head("main") != base {
		t.Error("a candidate changed the checkout or the target")
	}
	landing := f.land(1, 6, made)
	if landing.GetRef() != "refs/heads/main" || landing.GetTarget() != "main" || landing.GetToken() != 6 {
		t.Errorf("landing %v", landing)
	}
	if f.head("main") != made.GetCommit() || f.status() != "" || read(t, f.top, "a.txt") != "one\n2\nthree\n" {
		t.Errorf("main %s, status %q: the clean checkout did not follow", f.head("main"), f.status())
	}
	if f.head(made.GetRef()) != "" {
		t.Error("the candidate's ref is still there")
	}
	wantText(t, landing.GetCheckout(), "fast-forwarded")
	if out := f.user("fsck", "--strict"); strings.Contains(out, "error") {
		t.Errorf("fsck: %s", out)
	}
	if out := f.user("for-each-ref", "--format=%(refname)"); out != "refs/heads/main\nrefs/loom/fence/d1" {
		t.Errorf("refs left in the repository:\n%s", out)
	}
}

func TestLOCK04_P20_Attribution(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	req := f.request(1, 5, f.propose(1, f.editing("a.txt", "x\n")))
	req.Subject = "Fix it\nLoom-Token: 99"
	req.Body = "Why not.\n\nLoom-Execution: other-x1\nSigned-off-by: CEO <ceo@example.com>\nLoom-Bead: zzz"
	made, _, err := f.com.Candidate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	got := f.user("log", "-1", "--format=%an <%ae>|%cn|%s|%(trailers:only,unfold)", made.GetCommit())
	want := "backend-engineer <backend-engineer@loom.invalid>|Loom engineering-manager|Fix it Loom-Token: 99|" +
		"Loom-Bead: b1\nLoom-Execution: b1-x1\nLoom-Decision: g7\nLoom-Token: 5\nLoom-Patch: " + made.GetPatchDigest()
	if strings.TrimSpace(got) != want {
		t.Errorf("the commit says\n%s\nwant\n%s", got, want)
	}
}

func TestLOCK03_MovedTarget(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	made := f.candidate(1, 5, change)
	f.write("other.txt", "user\n")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "user")
	head := f.head("main")
	_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
	wantText(t, wantCode(t, err, "git/target-moved"), made.GetBase()[:12], head[:12])
	if f.head("main") != head {
		t.Error("main was moved all the same")
	}
	// The patch is the same on the new head, so the approval holds.
	again := f.candidate(1, 7, change)
	if again.GetBase() != head || again.GetPatchDigest() != made.GetPatchDigest() || again.GetCommit() == made.GetCommit() {
		t.Errorf("candidate %v, want one on %s with the same patch", again, head)
	}
	f.land(1, 8, again)
	if f.copies(1, "main") != 1 || f.status() != "" {
		t.Errorf("%d copies, status %q", f.copies(1, "main"), f.status())
	}
}

func TestF23_ConflictAndChangedPatch(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, tt := range []struct{ name, theirs, code, says string }{
		{"the same line", "one\nTWO\nthree\n", "git/conflict", `"a.txt"`},
		{"another line of the file", "one\ntwo\nthree\nfour\nfive\n", "git/patch-changed", `"a.txt"`},
		{"the same edit", "one\n2\nthree\n", "git/no-change", "already"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.write("a.txt", "one\ntwo\nthree\n4\n5\n6\n")
			f.user("commit", "-q", "-am", "longer")
			change := f.propose(1, f.editing("a.txt", "one\n2\nthree\n4\n5\n6\n"))
			f.write("a.txt", strings.TrimSuffix(tt.theirs, "four\nfive\n")+"4\n5\n6\n"+map[bool]string{true: "7\n"}[strings.HasSuffix(tt.theirs, "five\n")])
			f.user("commit", "-q", "-am", "theirs")
			_, _, err := f.com.Candidate(t.Context(), f.request(1, 5, change))
			wantText(t, wantCode(t, err, tt.code), tt.says)
			if f.head(candidateRef("b1")) != "" {
				t.Error("there is a candidate all the same")
			}
		})
	}
}

func TestF23_RebaseOfAWorkspace(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "one\nloom\nthree\n")
	write(t, w.Path(), "new.txt", "loom\n")
	write(t, w.Path(), "build.log", "ignored\n")
	before, _, err := w.Change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.write("dir/b.txt", "user\n")
	f.user("commit", "-q", "-am", "user")
	if conflicts, err := f.ws.Rebase(t.Context(), w); err != nil || len(conflicts) > 0 {
		t.Fatalf("Rebase: %v, %v", conflicts, err)
	}
	after, _, err := w.Change(t.Context())
	if err != nil || after.GetBase() != f.head("main") || after.GetPatchDigest() != before.GetPatchDigest() {
		t.Errorf("after a clean rebase: %v, %v; want the patch of %v", after, err, before)
	}
	if read(t, w.Path(), "dir/b.txt") != "user\n" || read(t, w.Path(), "build.log") != "ignored\n" {
		t.Error("the workspace lacks what the user made, or lost what was ignored")
	}
	f.write("a.txt", "one\nuser\nthree\n")
	f.user("commit", "-q", "-am", "clash")
	conflicts, err := f.ws.Rebase(t.Context(), w)
	if err != nil || len(conflicts) != 1 || conflicts[0] != "a.txt" {
		t.Fatalf("Rebase: %q, %v; want a conflict in a.txt", conflicts, err)
	}
	wantText(t, read(t, w.Path(), "a.txt"), "<<<<<<<", "loom", "user")
	write(t, w.Path(), "a.txt", "one\nboth\nthree\n")
	resolved, _, err := w.Change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.land(1, 6, f.candidate(1, 5, resolved))
	if f.user("show", "main:a.txt") != "one\nboth\nthree" || gitIn(t, w.Path(), "rev-parse", "HEAD") != resolved.GetBase() {
		t.Error("the resolution did not arrive, or the agent's own HEAD is elsewhere")
	}
}

func TestP6_BYD02_StaleHolderIsRefusedByNumber(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	stale := f.candidate(1, 5, change)
	other := f.propose(2, f.editing("dir/b.txt", "loom\n"))
	next := f.candidate(2, 6, other) // the next holder begins
	_, err := f.com.Land(t.Context(), f.landRequest(1, 5, stale))
	wantText(t, wantCode(t, err, "git/fenced"), "token 5", "6")
	_, _, err = f.com.Candidate(t.Context(), f.request(3, 5, f.propose(3, f.editing("c.txt", "c\n"))))
	wantCode(t, err, "git/fenced")
	if f.head("main") != stale.GetBase() || f.head(candidateRef("b3")) != "" {
		t.Error("a stale holder moved a ref")
	}
	f.land(2, 6, next)
	if n, err := f.repo.Fence(t.Context(), deployment); n != 6 || err != nil {
		t.Errorf("Fence = %d, %v; want 6", n, err)
	}
	if n, _ := f.repo.Fence(t.Context(), "another"); n != 0 {
		t.Errorf("the fence of another deployment is at %d", n)
	}
}

// The holder sleeps at the worst moments: after every check, just before the
// transaction that would move a ref.
func TestP6_HolderThatSleepsBeforeEachTransaction(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, at := range []string{"objects sent", "checkouts held", "before landing aside"} {
		t.Run(at, func(t *testing.T) {
			f := newFixture(t)
			if at == "before landing aside" {
				f.write("dir/b.txt", "mine\n")
			}
			woken := 0
			f.com.step = func(step string) {
				if step == at {
					woken++
					if _, err := f.repo.raise(t.Context(), deployment, 100); err != nil {
						t.Fatal(err)
					}
				}
			}
			change := f.propose(1, f.editing("a.txt", "loom\n"))
			before, head := state(t, f.top), f.head("main")
			made, _, err := f.com.Candidate(t.Context(), f.request(1, 5, change))
			if at != "objects sent" {
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.com.Land(t.Context(), f.landRequest(1, 6, made))
			}
			wantCode(t, err, "git/fenced")
			if woken != 1 || state(t, f.top) != before || f.head("main") != head || f.head(landedBranch) != "" {
				t.Errorf("woken %d times; a ref or the checkout changed", woken)
			}
			if exists(f.repo.common + "/index.lock") {
				t.Error("the lock of the checkout was left behind")
			}
		})
	}
}

var sleepers = flag.Int("sleepers", 3, "how many holders of the commit lock sleep through the end of their grant")

// lanes is how many repositories the sleepers are spread over: most of what one
// costs is waiting for the disk.
const lanes = 8

// Holder after holder sleeps through the end of its lease at the last moment,
// while the next one is granted the lock and lands. When it wakes, git itself
// refuses it, each time, and nothing of its change is on the target.
func TestP6_WhoSlept(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	refused := make([]int, min(lanes, *sleepers))
	t.Run("lanes", func(t *testing.T) {
		for lane := range refused {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				f.bare()
				for n := lane + 1; n <= *sleepers; n += len(refused) {
					refused[lane] += f.sleeper(n)
				}
			})
		}
	})
	total := 0
	for _, n := range refused {
		total += n
	}
	t.Logf("%d of %d who slept were refused", total, *sleepers)
}

// sleeper has holder number n sleep, and returns 1 if it was refused as it should.
func (f *fixture) sleeper(n int) int {
	late, next, token := 2*n, 2*n+1, uint64(10*n)
	made := f.candidate(late, token, f.propose(late, f.editing("late.txt", fmt.Sprint(n))))
	f.com.step = func(step string) {
		if step == "checkouts held" {
			f.com.step = func(string) {}
			f.ship(next, token+2, f.editing("next.txt", fmt.Sprint(n)))
		}
	}
	_, err := f.com.Land(f.t.Context(), f.landRequest(late, token+1, made))
	if fault.Code(err) == "git/fenced" && f.copies(late, "main") == 0 && f.copies(next, "main") == 1 {
		return 1
	}
	f.t.Errorf("holder %d has %d copies, the next one %d, and is told %v", n, f.copies(late, "main"), f.copies(next, "main"), err)
	return 0
}

// A holder whose lock is lost once the target has moved has landed: what it leaves
// is removed all the same, since nobody asks for this landing again.
func TestP6_LostWhileLandingLeavesNoCandidate(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	ctx, cancel := context.WithCancel(t.Context())
	f.com.step = func(step string) {
		if step == "target moved" {
			cancel()
		}
	}
	if _, err := f.com.Land(ctx, f.landRequest(1, 6, made)); err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == nil {
		t.Fatal("the lock was not lost")
	}
	if left := f.head(candidateRef("b1")); left != "" {
		t.Errorf("the candidate %s is left", left)
	}
}

func TestLOCK05_AskedAgain(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	made := f.candidate(1, 5, change)
	if again := f.candidate(1, 6, change); again.GetCommit() != made.GetCommit() || again.GetToken() != 5 {
		t.Errorf("asked again: %v, want %v", again, made)
	}
	landing := f.land(1, 6, made)
	if again := f.land(1, 7, made); again.GetCommit() != landing.GetCommit() || again.GetRef() != landing.GetRef() {
		t.Errorf("landed again: %v, want %v", again, landing)
	}
	if again := f.candidate(1, 8, change); again.GetCommit() != made.GetCommit() {
		t.Errorf("a candidate after the landing: %v, want the one that landed", again)
	}
	f.write("mine", "x")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "on top")
	if again := f.land(1, 9, made); again.GetCommit() != made.GetCommit() || f.copies(1, "main") != 1 {
		t.Errorf("landed again under a newer commit: %v", again)
	}
}

// TestLOCK05_ApprovedAgain has work whose verification failed handed in as it was, and
// approved once more: the commit names the approval that let it land.
func TestLOCK05_ApprovedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	first := f.candidate(1, 5, change)
	req := f.request(1, 6, change)
	req.Decision, req.Subject = "g8", "Seven days"
	again, _, err := f.com.Candidate(t.Context(), req)
	if err != nil || again.GetCommit() == first.GetCommit() || again.GetToken() != 6 {
		t.Fatalf("approved again: %v (%v), want another commit than %s", again, err, first.GetCommit())
	}
	landed := f.land(1, 6, again)
	if text := f.user("log", "-1", "--format=%B", landed.GetCommit()); !strings.HasPrefix(text, "Seven days\n") || !strings.Contains(text, "Loom-Decision: g8\n") {
		t.Errorf("what landed says\n%s", text)
	}
}

func TestP19_ForgedCandidateIsNotLanded(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	tree := f.user("rev-parse", "HEAD^{tree}")
	forged := f.user("commit-tree", tree, "-p", "HEAD", "-m", "x\n\nLoom-Bead: b1\nLoom-Execution: b1-x1\nLoom-Token: 5\nLoom-Patch: "+made.GetPatchDigest())
	bad := &loomv1.Candidate{Commit: forged, Base: made.GetBase(), PatchDigest: made.GetPatchDigest()}
	_, err := f.com.Land(t.Context(), f.landRequest(1, 6, bad))
	wantCode(t, err, "git/damaged")
	f.user("update-ref", candidateRef("b2"), forged)
	change := f.propose(2, f.editing("a.txt", "two\n"))
	if c := f.candidate(2, 7, change); c.GetCommit() == forged {
		t.Error("a forged candidate was taken for ours")
	}
}

// The person moves the target at the worst moments: after every check, just
// before the transaction.
func TestP6_PersonWhoIsFaster(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, at := range []string{"checkouts held", "before landing aside"} {
		t.Run(at, func(t *testing.T) {
			f := newFixture(t)
			if at == "before landing aside" {
				f.write("dir/b.txt", "mine\n")
			}
			made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
			theirs := f.user("commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "theirs")
			f.com.step = func(step string) {
				if step == at {
					f.user("update-ref", "refs/heads/main", theirs)
				}
			}
			before := state(t, f.top)
			_, err := f.com.Land(t.Context(), f.landRequest(1, 6, made))
			wantCode(t, err, "git/target-moved")
			if f.head("main") != theirs || f.head(landedBranch) != "" || state(t, f.top) != before {
				t.Error("something has moved all the same")
			}
		})
	}
}

// A commit of the person's cannot fall between the branch and the index.
// An edit in the last moment: git refuses to touch the file, and the branch
// goes back.

// A holder sleeps in its hooks while the next one does all of its work.
func TestP6_OvertakenInItsHooks(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	f.hook("pre-commit", "#!/bin/sh\nexit 0\n")
	one, two := f.propose(1, f.editing("a.txt", "one\n")), f.propose(2, f.editing("dir/b.txt", "two\n"))
	f.com.step = func(step string) {
		if step == "hook pre-commit" {
			f.com.step = func(string) {}
			f.candidate(2, 6, two)
		}
	}
	_, _, err := f.com.Candidate(t.Context(), f.request(1, 5, one))
	wantCode(t, err, "git/fenced")
	if f.head(candidateRef("b1")) != "" || f.head(candidateRef("b2")) == "" {
		t.Error("the wrong one of the two made a candidate")
	}
	f.com.step = func(step string) {
		if step == "hook pre-commit" { // the late one must not clear the stage of the next
			late := &stage{mirror: f.com.mirror, room: filepath.Join(f.data, "committer", "p", "4")}
			if err := late.clear(); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.candidate(3, 7, f.propose(3, f.editing("c.txt", "three\n")))
}
