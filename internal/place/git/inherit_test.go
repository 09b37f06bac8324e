package git

import (
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

func TestWF16_AForksWorkspaceBeginsWithTheWorkItWasForkedWith(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "of the first\n"))
	if _, err := f.ws.Inherit(t.Context(), execution(2), change.Commit); err != nil {
		t.Fatal(err)
	}
	f.land(3, 6, f.candidate(3, 5, f.propose(3, f.editing("dir/b.txt", "landed meanwhile\n"))))
	w := f.workspace(2)
	if got := read(t, w.Path(), "a.txt"); got != "of the first\n" || w.Base() != change.Base {
		t.Errorf("the fork begins with %q on %s, want the first's work on %s", got, w.Base(), change.Base)
	}
	own, _, err := w.Change(t.Context())
	if err != nil || own.PatchDigest != change.PatchDigest {
		t.Errorf("its change as it stands: %v, %v, want digest %s", own, err, change.PatchDigest)
	}

	// Who has work of their own keeps it.
	mine := f.propose(2, f.editing("a.txt", "of the fork\n"))
	if err := f.ws.Remove(t.Context(), execution(2), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ws.Inherit(t.Context(), execution(2), change.Commit); err != nil {
		t.Fatal(err)
	}
	if w = f.workspace(2); read(t, w.Path(), "a.txt") != "of the fork\n" || f.head("main") == mine.Base {
		t.Errorf("after it was removed and inherited again: %q", read(t, w.Path(), "a.txt"))
	}

	// What is gone, or never was, is no work to begin with.
	for _, commit := range []string{"0123456789012345678901234567890123456789", "no such commit"} {
		if there, err := f.ws.Inherit(t.Context(), execution(4), commit); there || err != nil {
			t.Errorf("Inherit(%q) = %t, %v", commit, there, err)
		}
	}
	if w := f.workspace(4); w.Base() != f.head("main") {
		t.Errorf("without anything to inherit the base is %s, want %s", w.Base(), f.head("main"))
	}
}
