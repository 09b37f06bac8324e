package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
)

// look finds a revision in the registered repository, or in what executions saved.
func (f *fixture) look(rev string) *Revision {
	f.t.Helper()
	v, err := f.repo.Revision(f.t.Context(), f.data, "p", rev)
	if err != nil {
		f.t.Fatal(err)
	}
	return v
}

func TestUI01_ARevisionIsNamedAsPeopleNameIt(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	first := f.head("main")
	f.user("tag", "v1")
	f.write("a.txt", "one\nmine\nthree\n")
	f.user("stash")
	landing := f.ship(1, 5, f.editing("a.txt", "one\nloom\nthree\n"))
	for rev, want := range map[string]string{
		"main": landing.GetCommit(), "main~1": first, "main^": first, "v1": first, first: first, first[:8]: first, "HEAD": landing.GetCommit(),
	} {
		if got := f.look(rev); got.Commit != want {
			t.Errorf("%s is %s, want %s", rev, got.Commit, want)
		}
	}
	for _, rev := range []string{
		"", "stash", "refs/stash", "stash@{0}", "main@{1}", "main@{0}", ":/Fix", "--all", "main:a.txt", "main^{tree}", "main..v1", "@", first[:6], "b1-x9", "../main", "main\x00",
	} {
		if v, err := f.repo.Revision(t.Context(), f.data, "p", rev); fault.Code(err) != "git/unknown-branch" {
			t.Errorf("%q is %v, %v", rev, v, err)
		}
	}
}

func TestUI01_FilesOfAnyPosition(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	f.write("dir/run.sh", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(f.top, "dir/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside", filepath.Join(f.top, "link")); err != nil {
		t.Fatal(err)
	}
	f.user("add", "-A")
	f.user("commit", "-qm", "more")
	v := f.look("main")
	top, err := v.List(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range top {
		names = append(names, e.Name)
	}
	if !slices.Contains(names, "a.txt") || names[0] != "dir" || top[0].Kind != Directory {
		t.Errorf("the top has %v", names)
	}
	if i := slices.Index(names, "link"); i < 0 || top[i].Kind != Link {
		t.Errorf("the link is %v", names)
	}
	if list, err := v.List(ctx, "dir"); err != nil || len(list) != 2 || list[0].Executable || !list[1].Executable || list[1].Size != 10 {
		t.Errorf("dir has %v, %v", list, err)
	}
	if data, err := v.File(ctx, "link", 100); err != nil || string(data) != "../outside" {
		t.Errorf("the link leads to %q, %v", data, err)
	}
	if _, err := v.File(ctx, "a.txt", 3); fault.Code(err) != "git/too-large" {
		t.Errorf("a file that is too large: %v", err)
	}
	for _, path := range []string{"dir", "nothing", "../a.txt", "/a.txt", "./a.txt", "a.txt/", "*", "", "link/x", "a\x00b"} {
		if data, err := v.File(ctx, path, 100); fault.Code(err) != "git/unknown-line" {
			t.Errorf("%q is a file: %q, %v", path, data, err)
		}
		if path != "dir" && path != "" {
			if list, err := v.List(ctx, path); fault.Code(err) != "git/unknown-line" {
				t.Errorf("%q is a directory: %v, %v", path, list, err)
			}
		}
	}
}

func TestUI01_BlameLogAndCompare(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	first := f.head("main")
	landing := f.ship(1, 5, f.editing("a.txt", "one\nloom\nthree\n"))
	v, before := f.look("main"), f.look(first)
	spans, err := v.Blame(ctx, "a.txt")
	if err != nil || len(spans) != 3 || spans[1].From != 2 || spans[1].Lines != 1 || spans[1].Origin.Commit != landing.GetCommit() ||
		spans[0].Origin != spans[2].Origin || spans[2].Origin.Commit != first || spans[0].Origin.Author != "User" {
		t.Errorf("the lines come from %+v, %v", spans, err)
	}
	log, err := v.Log(ctx, "a.txt", "", 10)
	if err != nil || len(log) != 2 || log[0].Commit != landing.GetCommit() || log[1].Commit != first || log[0].Subject != "Fix the thing" {
		t.Errorf("the log is %+v, %v", log, err)
	}
	if rest, err := v.Log(ctx, "", log[0].Commit, 10); err != nil || len(rest) == 0 || rest[0].Commit != first {
		t.Errorf("behind the newest: %+v, %v", rest, err)
	}
	if _, err := v.Log(ctx, "", strings.Repeat("1", 40), 10); fault.Code(err) != "git/unknown-branch" {
		t.Errorf("behind a commit that is not there: %v", err)
	}
	list, diff, cut, err := v.Compare(ctx, before, "")
	if err != nil || cut || len(list) != 1 || list[0] != (Compared{Path: "a.txt", Added: 1, Removed: 1, Before: true, After: true}) || !strings.Contains(string(diff), "+loom\n") {
		t.Errorf("it differs in %+v, %q, %v", list, diff, err)
	}
	if list, diff, _, err := v.Compare(ctx, before, "b.txt"); err != nil || len(list)+len(diff) != 0 {
		t.Errorf("b.txt differs: %v, %q, %v", list, diff, err)
	}
	if _, err := v.Log(ctx, "a\x00b", "", 10); fault.Code(err) != "git/unknown-line" {
		t.Errorf("the log of no path: %v", err)
	}
	if _, _, _, err := v.Compare(ctx, before, "a\x00b"); fault.Code(err) != "git/unknown-line" {
		t.Errorf("no path compared: %v", err)
	}
	parent, err := before.Before(ctx)
	if err != nil || parent != nil {
		t.Fatalf("before the first is %v, %v", parent, err)
	}
	if list, _, _, err := before.Compare(ctx, nil, "a.txt"); err != nil || len(list) != 1 || list[0].Before {
		t.Errorf("the very first: %+v, %v", list, err)
	}
}

// What an execution has changed and nobody has committed is a position as well.
func TestUI01_SavedWorkIsAPosition(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	change := f.propose(7, f.editing("new.txt", "saved\n"))
	v := f.look("b7-x1")
	if v.Commit != change.Commit {
		t.Errorf("the work is %s, want %s", v.Commit, change.Commit)
	}
	if data, err := v.File(ctx, "new.txt", 100); err != nil || string(data) != "saved\n" {
		t.Errorf("the file is %q, %v", data, err)
	}
	f.write("later.txt", "x\n")
	f.user("add", "-A")
	f.user("commit", "-qm", "later")
	list, _, _, err := v.Compare(ctx, f.look("main"), "")
	if err != nil || len(list) != 2 || !list[0].Before || list[0].After || list[1].Path != "new.txt" || list[1].Before {
		t.Errorf("against the branch: %+v, %v", list, err)
	}
	list, _, _, err = f.look("main").Compare(ctx, v, "new.txt")
	if err != nil || len(list) != 1 || list[0].After {
		t.Errorf("the other way: %+v, %v", list, err)
	}
}
