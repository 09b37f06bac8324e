package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/base/discard"
)

// poolOf returns a pool beside the fixture's data, and the workspaces that use it.
func poolOf(f *fixture) (*Pool, *Workspaces) {
	p := &Pool{Dir: filepath.Join(f.data, "pool")}
	return p, f.ws.Pooled(p)
}

func open(t testing.TB, ws *Workspaces, n int) *Worktree {
	t.Helper()
	w, err := ws.Open(t.Context(), execution(n), bead(n))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestREAL04_AWorktreeIsMadeOfTheLast has somebody work in a worktree, and leave
// there what git ignores, what git does not show and a repository of its own. The
// next worktree is made of the same files, is what git writes to an empty directory,
// and the work of the first is there when its execution goes on.
func TestREAL04_AWorktreeIsMadeOfTheLast(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	pool, ws := poolOf(f)
	w := open(t, ws, 1)
	path := filepath.Join(w.Path(), "dir", "b.txt")
	before, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(filepath.Join(w.Path(), "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, w.Path(), "a.txt", "evil\n")
	if err := os.Chtimes(filepath.Join(w.Path(), "a.txt"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	write(t, w.Path(), "x.log", "evil")
	write(t, w.Path(), "new.txt", "mine\n")
	write(t, w.Path(), ".git/info/exclude", "*")
	mkdir(t, filepath.Join(w.Path(), "empty"))
	if err := ws.Remove(t.Context(), execution(1), nil); err != nil {
		t.Fatal(err)
	}
	if kept := pool.kept["p"]; len(kept) != 1 {
		t.Fatalf("%d checkouts are kept, want 1", len(kept))
	}
	f.write("c.txt", "third\n")
	f.user("add", "c.txt")
	f.user("commit", "-q", "-m", "third")

	next := open(t, ws, 2)
	after, err := os.Lstat(filepath.Join(next.Path(), "dir", "b.txt"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("dir/b.txt was written again (%v)", err)
	}
	if got, want := files(t, next.Path()), files(t, open(t, f.ws, 3).Path()); !slices.Equal(got, want) {
		t.Errorf("the second has\n%q\nwant\n%q", got, want)
	}
	if changed := gitIn(t, next.Path(), "status", "--porcelain", "--ignored"); changed != "" {
		t.Errorf("git status says %q of a new worktree", changed)
	}
	again := open(t, ws, 1)
	if got := read(t, again.Path(), "new.txt") + read(t, again.Path(), "a.txt"); got != "mine\nevil\n" {
		t.Errorf("who goes on finds %q", got)
	}
	if exists(filepath.Join(again.Path(), "x.log")) {
		t.Error("who goes on finds what git ignores, from a checkout that another had")
	}
}

// files lists everything under a worktree but its .git.
func files(t *testing.T, root string) []string {
	t.Helper()
	return slices.DeleteFunc(everything(t, root), func(line string) bool { return strings.Contains(line, " .git") })
}

// TestREAL04_ADeathOnTheWayOfATree leaves a kept tree where a host that was killed
// leaves it: the next start has neither half a tree in use nor one that nobody knows of.
func TestREAL04_ADeathOnTheWayOfATree(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, leave := range map[string]func(t *testing.T, f *fixture, c *Clean, w *Worktree){
		"before it is moved to another commit": func(t *testing.T, _ *fixture, c *Clean, w *Worktree) {
			if err := os.Rename(c.dir, w.Path()); err != nil {
				t.Fatal(err)
			}
		},
		"before it has a .git": func(t *testing.T, f *fixture, c *Clean, w *Worktree) {
			if err := c.move(t.Context(), f.head("main"), w.Path()); err != nil {
				t.Fatal(err)
			}
		},
		"before it is known as a worktree": func(t *testing.T, f *fixture, c *Clean, w *Worktree) {
			if err := c.move(t.Context(), f.head("main"), w.Path()); err != nil {
				t.Fatal(err)
			}
			if err := c.giveGit(t.Context(), w.Path(), c.index, "refs/heads/loom/"+w.bead, f.head("main")); err != nil {
				t.Fatal(err)
			}
		},
		"half way back": func(t *testing.T, f *fixture, c *Clean, w *Worktree) {
			if err := c.move(t.Context(), f.head("main"), w.Path()); err != nil {
				t.Fatal(err)
			}
			mkdir(t, filepath.Join(f.data, "pool", "p", "99"))
			if err := os.Rename(filepath.Join(w.Path(), "dir"), filepath.Join(f.data, "pool", "p", "99", "dir")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			pool, ws := poolOf(f)
			open(t, ws, 1)
			if err := ws.Remove(t.Context(), execution(1), nil); err != nil {
				t.Fatal(err)
			}
			f.write("c.txt", "third\n")
			f.user("add", "c.txt")
			f.user("commit", "-q", "-m", "third")
			want := files(t, open(t, f.ws, 2).Path())
			leave(t, f, pool.take(shelf{project: "p"}, false), &Worktree{mirror: ws.mirror, execution: execution(3), bead: bead(3)})

			if err := discard.All(pool.Dir); err != nil { // as each start of a host does
				t.Fatal(err)
			}
			pool, ws = poolOf(f)
			w := open(t, ws, 3)
			if got := files(t, w.Path()); !slices.Equal(got, want) {
				t.Errorf("the worktree has\n%q\nwant\n%q", got, want)
			}
			if err := ws.Remove(t.Context(), execution(3), nil); err != nil {
				t.Fatal(err)
			}
			if trees, _ := filepath.Glob(filepath.Join(pool.Dir, "*", "*")); len(trees) != 1 || exists(w.Path()) {
				t.Errorf("%q are left, and the worktree: %t", trees, exists(w.Path()))
			}
		})
	}
}

// TestREAL04_KeptCheckoutsAreBounded keeps as many checkouts as were used at once, but
// after some time without use no more than two, and none where the disk is wanted;
// what is reserved for who holds the commit lock stays.
func TestREAL04_KeptCheckoutsAreBounded(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	pool, ws := poolOf(f)
	for n := range 4 {
		open(t, ws, n)
	}
	for n := range 4 {
		if err := ws.Remove(t.Context(), execution(n), nil); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, n int) {
		t.Helper()
		trees, _ := filepath.Glob(filepath.Join(pool.Dir, "p", "*"))
		if len(trees) != n || len(pool.kept["p"]) != n {
			t.Errorf("%s: %d checkouts lie there, %d are kept, want %d", when, len(trees), len(pool.kept["p"]), n)
		}
	}
	trim := func(all bool) {
		t.Helper()
		if _, err := pool.Trim("p", all); err != nil {
			t.Fatal(err)
		}
	}
	trim(false)
	want("at once", 4)
	for _, c := range pool.kept["p"] {
		c.returned = c.returned.Add(-2 * poolIdle)
	}
	trim(false)
	want("idle", poolRest)
	done, err := pool.Reserve(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	trim(true)
	want("reserved", 1)
	if c := pool.take(shelf{project: "p"}, false); c != nil {
		t.Error("what is reserved was taken by another")
	}
	done()
	trim(true)
	want("disk wanted", 0)
	if done, err = pool.Reserve(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	defer done()
	want("made for who asks for the lock", 1)
}

// TestREAL04_HooksLookAtAKeptTree makes two candidates with a checkout reserved for
// their hooks: none is written whole, what the hooks of the first have left is gone
// for those of the second, and without a sandbox no kept tree is lent.
func TestREAL04_HooksLookAtAKeptTree(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	if has, err := f.repo.HasHooks(t.Context()); has || err != nil {
		t.Errorf("before there are hooks: %t, %v", has, err)
	}
	f.hook("pre-commit", "#!/bin/sh\nset -e\ntest ! -e left.log\ntest ! -e dir/left.log\ntest \"$(cat dir/b.txt)\" = \"$(git show HEAD:dir/b.txt)\"\n"+
		"echo evil >left.log; echo evil >dir/left.log; ls -i dir/b.txt >$TMPDIR/../../../../seen-$(cat a.txt)\necho evil >>.git/info/exclude\n")
	if has, err := f.repo.HasHooks(t.Context()); !has || err != nil {
		t.Errorf("with a hook: %t, %v", has, err)
	}
	pool, ws := poolOf(f)
	done, err := pool.Reserve(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	candidate := func(n int, policy HookPolicy) {
		t.Helper()
		req := f.request(n, uint64(n), f.propose(n, f.editing("a.txt", fmt.Sprintln(n))))
		req.Hooks = policy
		req.Hooks.Trees = pool
		if _, _, err := f.com.Candidate(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	first := inodeOf(t, filepath.Join(pool.kept["p"][0].dir, "dir"), "b.txt")
	sandboxed := HookPolicy{Contain: contained(t)}
	candidate(1, sandboxed)
	candidate(2, sandboxed)
	for _, n := range []string{"1", "2"} {
		if seen := read(t, f.data, "seen-"+n); !strings.HasPrefix(strings.TrimSpace(seen), first+" ") {
			t.Errorf("the hooks of candidate %s saw the file %q, want inode %s", n, seen, first)
		}
	}
	candidate(3, allowed)
	if seen := read(t, f.data, "seen-3"); strings.HasPrefix(strings.TrimSpace(seen), first+" ") {
		t.Error("a hook without a sandbox got a kept tree")
	}
	if trees, _ := filepath.Glob(filepath.Join(pool.Dir, "p", "*")); len(trees) != 1 {
		t.Errorf("%q are kept, want one", trees)
	}
}

func inodeOf(t *testing.T, dir, name string) string {
	t.Helper()
	info, err := os.Lstat(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := stampOf(info)
	return strconv.FormatUint(s.inode, 10)
}
