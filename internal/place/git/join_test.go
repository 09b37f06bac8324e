package git

import (
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestACT03_ChangesAreJoined puts two changes together while the target moves, one
// of them twice, and one that began with both.
func TestACT03_ChangesAreJoined(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	a, b := f.propose(1, f.editing("a.txt", "of the first\n")), f.propose(2, f.editing("dir/b.txt", "of the second\n"))
	f.ship(3, 5, f.editing("c.txt", "landed meanwhile\n"))
	both, err := f.ws.Join(t.Context(), a, b, a)
	if err != nil || len(both.Conflicts) > 0 || both.Base != f.head("main") {
		t.Fatalf("Join: %+v, %v", both, err)
	}
	if again, err := f.ws.Join(t.Context(), a, b); err != nil || again.Commit != both.Commit {
		t.Errorf("joined again it is %+v, %v, want %s", again, err, both.Commit)
	}
	if _, err := f.ws.Inherit(t.Context(), execution(4), both.Commit); err != nil {
		t.Fatal(err)
	}
	later := f.propose(4, f.editing("a.txt", "of the first\nand more\n"))
	all, err := f.ws.Join(t.Context(), b, later)
	if err != nil || len(all.Conflicts) > 0 {
		t.Fatalf("with one that has both: %+v, %v", all, err)
	}
	w := f.workspace(5)
	write(t, w.Path(), "a.txt", "a leftover\n")
	for range 2 {
		if err := w.Adopt(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"a.txt": "of the first\nand more\n", "dir/b.txt": "of the second\n", "c.txt": "landed meanwhile\n"} {
		if got := read(t, w.Path(), path); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	if c, _, err := w.Change(t.Context()); err != nil || len(c.Files) != 2 || c.Tree != all.Tree || c.Base != all.Base {
		t.Errorf("the change: %v, %v", c, err)
	}
}

// TestACT03_ConflictsOfJoinedChangesAreNamed joins rivals, and one who begins with
// their marks and mends them.
func TestACT03_ConflictsOfJoinedChangesAreNamed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, rival := f.propose(1, f.editing("a.txt", "of the first\n")), f.propose(2, f.editing("a.txt", "of a rival\n"))
	bad, err := f.ws.Join(t.Context(), a, rival)
	if err != nil || !slices.Equal(bad.Conflicts, []string{"a.txt"}) {
		t.Fatalf("rivals: %+v, %v", bad, err)
	}
	if _, err := f.ws.Inherit(t.Context(), execution(3), bad.Commit); err != nil {
		t.Fatal(err)
	}
	if got := read(t, f.workspace(3).Path(), "a.txt"); !strings.Contains(got, "<<<<<<<") {
		t.Errorf("who begins with both has %q", got)
	}
	mended := f.propose(3, f.editing("a.txt", "of both\n"))
	if good, err := f.ws.Join(t.Context(), mended); err != nil || len(good.Conflicts) > 0 {
		t.Errorf("mended: %+v, %v", good, err)
	}
	if _, err := f.ws.Join(t.Context(), &loomv1.Change{Base: a.Base, Commit: strings.Repeat("0123", 10)}); err == nil {
		t.Error("a change that is gone is joined")
	}
}

// TestACT03_AWorkspacesOwnChange takes what an agent has before it is proposed.
func TestACT03_AWorkspacesOwnChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	if c, err := w.Own(t.Context()); err != nil || c != nil {
		t.Errorf("of one without changes: %v, %v", c, err)
	}
	f.editing("a.txt", "mine\n")(w.Path())
	c, err := w.Own(t.Context())
	if err != nil || c.GetBase() != w.Base() {
		t.Fatalf("Own: %v, %v", c, err)
	}
	if whole, _, err := w.Change(t.Context()); err != nil || whole.Commit != c.Commit {
		t.Errorf("it is %s, the change %v, %v", c.Commit, whole, err)
	}
}
