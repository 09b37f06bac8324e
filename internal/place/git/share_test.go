package git

import (
	"path/filepath"
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
