package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

func (f *fixture) blame(rev, path string, number int, checkout bool) *Line {
	f.t.Helper()
	l, err := f.lineOf(rev, path, number, checkout)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// lineOf follows a line as the revision, or the checkout, counts it.
func (f *fixture) lineOf(rev, path string, number int, checkout bool) (*Line, error) {
	if checkout {
		own, err := f.repo.Counted(f.t.Context(), rev, path, number)
		if err != nil {
			return nil, err
		}
		if own != nil && own.Number == 0 {
			return &Line{Path: path, Text: own.Text}, nil
		}
		if own != nil {
			number = own.Number
		}
	}
	return f.repo.Blame(f.t.Context(), rev, path, number)
}

func TestBYD03_WhereALineComesFrom(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	first := f.head("main")
	landing := f.ship(1, 5, f.editing("a.txt", "one\nloom\nthree\n"))
	for _, tt := range []struct {
		number int
		commit string
	}{{1, first}, {2, landing.GetCommit()}, {3, first}} {
		l := f.blame("main", "a.txt", tt.number, false)
		if l.Origin.Commit != tt.commit || l.Origin.Time.IsZero() {
			t.Errorf("line %d comes from %+v, want %s", tt.number, l.Origin, tt.commit)
		}
	}
	got := f.blame("main", "a.txt", 2, false)
	want := Claim{Bead: "b1", Execution: "b1-x1", Decision: "g7", Token: 5, Patch: got.Origin.Claim.Patch, Kept: true}
	if got.Text != "loom" || *got.Origin.Claim != want || got.Origin.Author != "backend-engineer" || got.Origin.Committer != committerName || got.Origin.Subject != "Fix the thing" {
		t.Errorf("line 2 is %+v of %+v, claims %+v", got, got.Origin, got.Origin.Claim)
	}
	if l := f.blame("main", "a.txt", 1, false); l.Origin.Claim != nil || l.Origin.Author != "User" || l.Origin.Boundary {
		t.Errorf("line 1 is of %+v, want the first commit, a person's", l.Origin)
	}
	if l := f.blame(first, "a.txt", 2, false); l.Text != "two" || l.Origin.Commit != first {
		t.Errorf("line 2 was %+v of %+v", l, l.Origin)
	}
}

// A user counts lines in what the checkout shows.
func TestBYD03_LinesOfTheCheckout(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	landing := f.ship(1, 5, f.editing("a.txt", "one\nloom\nthree\n"))
	f.write("a.txt", "zero\nnull\none\nloom\n3\nfour\n")
	for number, is := range map[int]bool{1: false, 2: false, 3: true, 4: true, 5: false, 6: false} {
		l := f.blame("main", "a.txt", number, true)
		if (l.Origin != nil) != is {
			t.Errorf("line %d (%q) comes from %+v, want a commit: %t", number, l.Text, l.Origin, is)
		}
	}
	if l := f.blame("main", "a.txt", 4, true); l.Text != "loom" || l.Origin.Commit != landing.GetCommit() {
		t.Errorf("line 4 is %+v", l)
	}
	f.write("a.txt", "loom\nthree\nafter\n")
	if l := f.blame("main", "a.txt", 1, true); l.Origin == nil || l.Origin.Commit != landing.GetCommit() {
		t.Errorf("after a line was removed above: %+v", l)
	}
	if l := f.blame("main", "a.txt", 3, true); l.Origin != nil {
		t.Errorf("a line that was added at the end: %+v", l.Origin)
	}
	f.write("new.txt", "mine\n")
	if l := f.blame("main", "new.txt", 1, true); l.Origin != nil || l.Text != "mine" {
		t.Errorf("a line of a file that is not on main: %+v", l)
	}
	remove(t, f.top, "a.txt")
	if l := f.blame("main", "a.txt", 2, true); l.Origin == nil || l.Text != "loom" {
		t.Errorf("a file that the checkout lacks: %+v", l)
	}
}

// An amended commit keeps its trailers and loses what they vouch for.
func TestBYD03_P20_AmendedCommitsAreNotWhatTheyClaim(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	f.ship(1, 5, f.editing("a.txt", "one\nloom\nthree\n"))
	f.write("a.txt", "one\nloom, amended\nthree\n")
	f.user("commit", "-q", "--no-verify", "-a", "--amend", "--no-edit")
	l := f.blame("main", "a.txt", 2, false)
	if l.Origin.Claim == nil || l.Origin.Claim.Kept || l.Origin.Claim.Execution != "b1-x1" {
		t.Errorf("the amended commit is taken for Loom's: %+v", l.Origin.Claim)
	}
}

func TestBYD03_AShallowHistoryEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.write("dir/b.txt", "second\n")
	f.user("commit", "-q", "-am", "second")
	shallow := filepath.Join(t.TempDir(), "shallow")
	f.user("clone", "-q", "--depth=1", "file://"+f.top, shallow)
	f.top = shallow
	f.open(shallow)
	if l := f.blame("main", "a.txt", 1, false); !l.Origin.Boundary || l.Origin.Commit != f.head("main") {
		t.Errorf("a line from before the clone's history: %+v", l.Origin)
	}
}

func TestBYD03_WhatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	link(t, "/etc/hostname", filepath.Join(f.top, "out"))
	for _, tt := range []struct {
		rev, path string
		number    int
		code      string
	}{
		{"main", "a.txt", 4, "git/unknown-line"},
		{"main", "a.txt", 0, "git/unknown-line"},
		{"main", "b.txt", 1, "git/unknown-line"},
		{"main", "dir", 1, "git/unknown-line"},
		{"main", "../a.txt", 1, "git/unknown-line"},
		{"main", "*.txt", 1, "git/unknown-line"},
		{"main", "out", 1, "git/unknown-line"},
		{"nope", "a.txt", 1, "git/unknown-branch"},
		{"--all", "a.txt", 1, "git/unknown-branch"},
		{"main:a.txt", "a.txt", 1, "git/unknown-branch"},
	} {
		_, err := f.lineOf(tt.rev, tt.path, tt.number, true)
		if err == nil {
			t.Errorf("Blame(%s, %s, %d) found something", tt.rev, tt.path, tt.number)
			continue
		}
		wantCode(t, err, tt.code)
	}
	if err := os.Remove(filepath.Join(f.top, "out")); err != nil {
		t.Fatal(err)
	}
}

// What a person's configuration says of blame does not hide a commit.
func TestBYD03_M21_BlameObeysNoConfiguration(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f, c := newFixture(t), newCanary(t)
	landing := f.ship(1, 5, f.editing("a.txt", "one\nloom\nthree\n"))
	write(t, f.top, ".git/ignored", landing.GetCommit()+"\n")
	f.user("config", "blame.ignoreRevsFile", filepath.Join(f.top, ".git/ignored"))
	f.user("config", "diff.evil.textconv", c.path)
	write(t, f.top, ".gitattributes", attributes)
	f.user("replace", landing.GetCommit(), f.head("main~1"))
	write(t, f.top, "a.txt", "one more\none\nloom\nthree\n")
	if l := f.blame("main", "a.txt", 3, true); l.Origin == nil || l.Origin.Commit != landing.GetCommit() {
		t.Errorf("blamed %+v, want %s", l.Origin, landing.GetCommit())
	}
	c.check("blame")
}
