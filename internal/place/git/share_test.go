package git

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

// elsewhere is another host's view of the fixture's repository.
func (f *fixture) elsewhere(t *testing.T) *Workspaces {
	t.Helper()
	repo, err := Open(t.Context(), f.top)
	if err != nil {
		t.Fatal(err)
	}
	ws, err := NewWorkspaces(filepath.Join(t.TempDir(), "git"), "shop", "main", repo)
	if err != nil {
		t.Fatal(err)
	}
	return ws
}

// TestP17_AnotherHostGoesOnWithTheWork covers ACT04 and LOCK03 over hosts.
func TestP17_AnotherHostGoesOnWithTheWork(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	before := state(t, f.top)
	write(t, w.Path(), "a.txt", "from the first host\n")
	write(t, w.Path(), "new.txt", "new\n")
	for range 2 { // the second time nothing changes
		if err := w.Share(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := state(t, f.top); after != before {
		t.Errorf("the user's checkout was %s and is %s", before, after)
	}

	other := f.elsewhere(t)
	if err := other.Follow(t.Context(), execution(1)); err != nil {
		t.Fatal(err)
	}
	theirs, err := other.Open(t.Context(), execution(1), bead(1))
	if err != nil {
		t.Fatal(err)
	}
	if theirs.Base() != w.Base() || read(t, theirs.Path(), "a.txt") != "from the first host\n" || read(t, theirs.Path(), "new.txt") != "new\n" {
		t.Errorf("the other host begins on %s, want %s, with %q", theirs.Base(), w.Base(), read(t, theirs.Path(), "a.txt"))
	}
	mine, _, err := w.Change(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if change, _, err := theirs.Change(t.Context()); err != nil || change.PatchDigest != mine.PatchDigest {
		t.Errorf("the change is another one: %v, %v", change, err)
	}

	// The other goes on; the first comes back late, and then follows.
	write(t, theirs.Path(), "a.txt", "from the second host\n")
	if err := theirs.Share(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, w.Path(), "a.txt", "too late\n")
	wantCode(t, w.Share(t.Context()), "git/taken")
	if err := f.ws.Follow(t.Context(), execution(1)); err != nil {
		t.Fatal(err)
	}
	if again := f.workspace(1); read(t, again.Path(), "a.txt") != "from the second host\n" {
		t.Errorf("the first host has %q", read(t, again.Path(), "a.txt"))
	}
}

// TestP17_NothingSharedChangesNothing covers hosts that are alone, and work
// that was never shared.
func TestP17_NothingSharedChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "mine\n")
	if err := f.ws.Follow(t.Context(), execution(1)); err != nil {
		t.Fatal(err)
	}
	if again := f.workspace(1); read(t, again.Path(), "a.txt") != "mine\n" {
		t.Error("work that nobody shared is gone")
	}
}

// atOnce are the workspaces of an execution on two hosts, both at work.
func atOnce(t *testing.T) (f *fixture, here, there *Worktree) {
	t.Helper()
	f = newFixture(t)
	here = f.workspace(1)
	there, err := f.elsewhere(t).Open(t.Context(), execution(1), bead(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Worktree{here, there, here} {
		exchange(t, w)
	}
	return f, here, there
}

func exchange(t *testing.T, w *Worktree) {
	t.Helper()
	if err := w.Exchange(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestPROC05_HostsExchangeWhatTheyDoAtOnce has two hosts work on one execution side by side:
// each gets what the other has added, changed and removed, and both have the same in the end.
func TestPROC05_HostsExchangeWhatTheyDoAtOnce(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f, here, there := atOnce(t)
	before := state(t, f.top)
	write(t, here.Path(), "here.md", "of the first\n")
	write(t, there.Path(), "there.md", "of the second\n")
	write(t, there.Path(), "a.txt", "changed by the second\n")
	if err := os.Remove(filepath.Join(here.Path(), "dir", "b.txt")); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Worktree{here, there, here} {
		exchange(t, w)
	}
	var digests []string
	for _, w := range []*Worktree{here, there} {
		for name, want := range map[string]string{"here.md": "of the first\n", "there.md": "of the second\n", "a.txt": "changed by the second\n"} {
			if got := read(t, w.Path(), name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if _, err := os.Stat(filepath.Join(w.Path(), "dir", "b.txt")); err == nil {
			t.Error("what the first has removed is there")
		}
		change, _, err := w.Change(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, change.PatchDigest)
		// Whoever judges it on a third host finds it by its id.
		if err := f.elsewhere(t).Checkout(t.Context(), change.Commit, filepath.Join(t.TempDir(), "look")); err != nil {
			t.Errorf("a third host: %v", err)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("the changes are %q", digests)
	}
	if after := state(t, f.top); after != before {
		t.Errorf("the user's checkout was %s and is %s", before, after)
	}
}

// Of a file that both have changed the later one's content is kept, where it does not merge;
// and what another has removed meanwhile does not come back.
func TestPROC05_OfTwoWritersOnTwoHostsTheLaterIsKept(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	_, here, there := atOnce(t)
	write(t, here.Path(), "a.txt", "of the first\n")
	write(t, here.Path(), "gone.md", "a draft\n")
	exchange(t, here)
	write(t, there.Path(), "a.txt", "of the second\n")
	for _, w := range []*Worktree{there, here} {
		exchange(t, w)
		if got := read(t, w.Path(), "a.txt"); got != "of the second\n" {
			t.Errorf("it is %q", got)
		}
	}
	if err := os.Remove(filepath.Join(there.Path(), "gone.md")); err != nil {
		t.Fatal(err)
	}
	for _, w := range []*Worktree{there, here, there} {
		exchange(t, w)
		if _, err := os.Stat(filepath.Join(w.Path(), "gone.md")); err == nil {
			t.Error("what was removed is there")
		}
	}
}

// Hosts that begin at once, while the target moves, work on one base: the first one's.
func TestPROC05_HostsThatBeginAtOnceHaveOneBase(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	here := f.workspace(1)
	f.land(3, 6, f.candidate(3, 5, f.propose(3, f.editing("dir/b.txt", "landed meanwhile\n"))))
	there, err := f.elsewhere(t).Open(t.Context(), execution(1), bead(1))
	if err != nil {
		t.Fatal(err)
	}
	if here.Base() == there.Base() {
		t.Fatal("the target has not moved")
	}
	exchange(t, here)
	exchange(t, there)
	if there.Base() != here.Base() || read(t, there.Path(), "dir/b.txt") == "landed meanwhile\n" {
		t.Errorf("they stand on %s and %s, with %q", here.Base(), there.Base(), read(t, there.Path(), "dir/b.txt"))
	}
}

// Many exchanges at once lose nothing of what either host has done.
func TestPROC05_ExchangesAtOnceLoseNothing(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	_, here, there := atOnce(t)
	var group sync.WaitGroup
	for who, w := range []*Worktree{here, there} {
		group.Go(func() {
			for n := range 8 {
				if err := os.WriteFile(filepath.Join(w.Path(), fmt.Sprintf("%d-%d.md", who, n)), []byte("x\n"), 0o600); err != nil {
					t.Error(err)
				}
				if err := w.Exchange(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	for _, w := range []*Worktree{here, there, here} {
		exchange(t, w)
	}
	for _, w := range []*Worktree{here, there} {
		if files, err := filepath.Glob(filepath.Join(w.Path(), "?-?.md")); err != nil || len(files) != 16 {
			t.Errorf("%d files, %v", len(files), err)
		}
	}
}
