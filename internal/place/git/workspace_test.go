package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestLOCK03_WorkspaceIsTheSameUntilItIsRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	if got := gitIn(t, w.Path(), "status", "--porcelain", "--branch"); got != "## loom/b1" {
		t.Errorf("git status in a new workspace: %q", got)
	}
	if w.Base() != f.head("main") || gitIn(t, w.Path(), "rev-parse", "HEAD") != w.Base() {
		t.Errorf("base %s, want %s", w.Base(), f.head("main"))
	}
	write(t, w.Path(), "a.txt", "loom\n")
	f.write("later.txt", "x")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "later")
	again := f.workspace(1)
	if again.Base() != w.Base() || read(t, again.Path(), "a.txt") != "loom\n" {
		t.Error("opened again, it is not as it was left")
	}
	if other := f.workspace(2); other.Base() != f.head("main") || other.Path() == w.Path() {
		t.Errorf("another execution works at %s on %s", other.Path(), other.Base())
	}
	if out := f.user("for-each-ref") + f.user("worktree", "list"); strings.Contains(out, "loom") {
		t.Errorf("workspaces show in the user's repository: %s", out)
	}
}

func TestP17_RemoveSavesTheWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "unfinished\n")
	write(t, w.Path(), "new.txt", "unfinished\n")
	write(t, w.Path(), "sealed/x.txt", "read-only\n")
	if err := os.Chmod(filepath.Join(w.Path(), "sealed"), 0o500); err != nil {
		t.Fatal(err)
	}
	gitIn(t, w.Path(), "commit", "-q", "-am", "of the agent's own") // an object that is nowhere else
	if err := f.ws.Remove(t.Context(), execution(1), nil); err != nil {
		t.Fatal(err)
	}
	if exists(w.Path()) || !exists(filepath.Join(f.data, "kept", execution(1)+"-1", "objects")) {
		t.Error("the workspace is still there, or the agent's own commits are not kept")
	}
	wip, err := f.ws.resolve(t.Context(), wipRef(execution(1)))
	if err != nil || wip == "" {
		t.Fatalf("%q, %v", wip, err)
	}
	if err := f.ws.Remove(t.Context(), execution(1), nil); err != nil {
		t.Errorf("removed twice: %v", err)
	}
	back := f.workspace(1)
	if back.Base() != w.Base() || read(t, back.Path(), "a.txt")+read(t, back.Path(), "new.txt") != "unfinished\nunfinished\n" {
		t.Error("opened again, the saved work is not there")
	}
	if change, _, err := back.Change(t.Context()); err != nil || change.GetCommit() != wip {
		t.Errorf("%v, %v; want the commit %s that was saved", change, err, wip)
	}
}

func TestP17_WorkspaceAfterACrash(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, breakIt := range map[string]func(f *fixture, w *Worktree){
		"while it was made": func(f *fixture, w *Worktree) {
			if _, err := f.ws.git().run(t.Context(), "update-ref", "-d", baseRef(execution(1))); err != nil {
				t.Fatal(err)
			}
			remove(t, w.Path(), "dir")
		},
		"its index is lost":         func(f *fixture, w *Worktree) { remove(t, f.data, "index") },
		"its directory is lost":     func(f *fixture, w *Worktree) { remove(t, w.Path(), "") },
		"its .git is lost":          func(f *fixture, w *Worktree) { remove(t, w.Path(), ".git") },
		"git was killed in a write": func(f *fixture, w *Worktree) { write(t, f.data, "index/"+execution(1)+".lock", "") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			breakIt(f, f.workspace(1))
			w := f.workspace(1)
			write(t, w.Path(), "new.txt", "x")
			change, _, err := w.Change(t.Context())
			if err != nil || len(change.GetFiles()) != 1 || change.GetFiles()[0].GetPath() != "new.txt" {
				t.Errorf("%v, %v; want new.txt alone", change, err)
			}
		})
	}
}

func TestP17_LostIndexDoesNotCostWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "work\n")
	remove(t, f.data, "index")
	if err := f.ws.Remove(t.Context(), execution(1), nil); err != nil {
		t.Fatal(err)
	}
	if read(t, f.workspace(1).Path(), "a.txt") != "work\n" {
		t.Error("the work is gone")
	}
}

func TestP18_CheckoutIsCleanEachTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	write(t, w.Path(), "new.txt", "x")
	write(t, w.Path(), "junk.log", "ignored")
	made := f.candidate(1, 5, f.propose(1, func(string) {}))
	for n := range 2 {
		dir := filepath.Join(f.data, fmt.Sprint("verify", n))
		if err := f.ws.Checkout(t.Context(), made.GetCommit(), dir); err != nil {
			t.Fatal(err)
		}
		if exists(filepath.Join(dir, "junk.log")) || read(t, dir, "new.txt") != "x" || gitIn(t, dir, "status", "--porcelain") != "" {
			t.Error("the checkout is not the commit")
		}
		if gitIn(t, dir, "rev-parse", "HEAD") != made.GetCommit() {
			t.Error("its HEAD is another commit")
		}
		wantCode(t, f.ws.Checkout(t.Context(), made.GetCommit(), dir), "usage/argument")
		if err := discard.All(dir); err != nil || exists(dir) {
			t.Errorf("Discard: %v", err)
		}
	}
	wantCode(t, f.ws.Checkout(t.Context(), strings.Repeat("0", 40), t.TempDir()), "git/failed")
	wantCode(t, f.ws.Checkout(t.Context(), "--all", t.TempDir()), "usage/argument")
	f.write("u", "u")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "unknown to the mirror")
	if err := f.ws.Checkout(t.Context(), f.head("HEAD"), t.TempDir()); err != nil {
		t.Errorf("a commit of the registered repository: %v", err)
	}
}

func TestLOCK03_ChangeDependsOnContentAlone(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	edit := func(root string) {
		write(t, root, "a.txt", "same\n")
		write(t, root, "new.txt", "same\n")
	}
	one := f.propose(1, edit)
	w := f.workspace(2)
	write(t, w.Path(), "new.txt", "first another\n")
	if _, _, err := w.Change(t.Context()); err != nil {
		t.Fatal(err)
	}
	gitIn(t, w.Path(), "add", "-A")
	gitIn(t, w.Path(), "commit", "-q", "-m", "as the agent likes")
	two := f.propose(2, edit)
	if one.GetPatchDigest() != two.GetPatchDigest() || one.GetTree() != two.GetTree() {
		t.Errorf("the same content gives %v and %v", one, two)
	}
	if again := f.propose(1, edit); again.GetCommit() != one.GetCommit() {
		t.Errorf("the same workspace gives commits %s and %s", one.GetCommit(), again.GetCommit())
	}
	if three := f.propose(2, f.editing("new.txt", "Same\n")); three.GetPatchDigest() == two.GetPatchDigest() {
		t.Error("an edit of the same length in the same second was not seen")
	}
	remove(t, w.Path(), "new.txt")
	write(t, w.Path(), "a.txt", "one\ntwo\nthree\n")
	_, _, err := w.Change(t.Context())
	wantCode(t, err, "git/no-change")
}

// awkward makes files of every sort under every sort of name.
func awkward(t *testing.T, root string) {
	for _, name := range []string{
		"with space", "-leading", "--force", "ünï/cødé \u4e16", "tab\there", "new\nline", `quo"te`, `back\slash`,
		":(glob)magic", "*", "?.go", "trailing ", ".hidden", "dir/.gitkeep", "a/b/c/d/e/f", "#hash", "$(touch x)", "HEAD",
	} {
		write(t, root, name, "content of "+name+"\n")
	}
	write(t, root, "empty", "")
	write(t, root, "binary", "\x00\x01\xff\xfe")
	write(t, root, "crlf", "one\r\ntwo\r\n")
	write(t, root, "no newline", "end")
	executable(t, filepath.Join(root, "run.sh"), "#!/bin/sh\n")
	link(t, "a.txt", filepath.Join(root, "link"))
	link(t, "nowhere/at all", filepath.Join(root, "dangling"))
	link(t, "dir", filepath.Join(root, "dirlink"))
}

func TestLOCK03_EverySortOfFile(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	first := f.propose(1, func(root string) { awkward(t, root) })
	if n := len(first.GetFiles()); n != 26 {
		t.Errorf("%d files, want 26", n)
	}
	f.land(1, 6, f.candidate(1, 5, first))
	if f.status() != "" || read(t, f.top, "new\nline") != "content of new\nline\n" || read(t, f.top, "binary") != "\x00\x01\xff\xfe" {
		t.Errorf("status %q", f.status())
	}
	second := f.propose(2, func(root string) {
		remove(t, root, "--force")                     // deleted
		remove(t, root, "new\nline")                   // renamed
		write(t, root, "new\nname", "x")               //
		remove(t, root, "a/b")                         // a directory that becomes a file
		write(t, root, "a/b", "file")                  //
		remove(t, root, "dirlink")                     // a link that becomes a directory
		write(t, root, "dirlink/x", "x")               //
		remove(t, root, "dir")                         // a directory that becomes a link
		link(t, "dirlink", filepath.Join(root, "dir")) //
		write(t, root, "empty", "no more")
		if err := os.Chmod(filepath.Join(root, "run.sh"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	status := map[string]string{}
	for _, file := range second.GetFiles() {
		status[file.GetPath()] = file.GetStatus()
	}
	want := map[string]string{
		"--force": "deleted", "new\nline": "deleted", "new\nname": "added", "a/b": "added",
		"a/b/c/d/e/f": "deleted", "dirlink": "deleted", "dirlink/x": "added", "dir": "added", "dir/b.txt": "deleted",
		"dir/.gitkeep": "deleted", "empty": "modified", "run.sh": "modified",
	}
	if fmt.Sprint(status) != fmt.Sprint(want) {
		t.Errorf("files\n%v\nwant\n%v", status, want)
	}
	landing := f.land(2, 8, f.candidate(2, 7, second))
	if landing.GetRef() != "refs/heads/main" || f.status() != "" {
		t.Errorf("landing %v, status %q", landing, f.status())
	}
}

// A change may be as large as it wants: people are shown the beginning of its diff,
// and are told that it is one.
func TestREAL09_ALargeDiffIsCut(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	for _, tt := range []struct {
		name string
		edit func(root string)
		cut  bool
	}{
		{"a small file", f2("a.txt", line), false},
		{"a large file", f2("large.txt", strings.Repeat(line, 700_000)), true},
		{"one line", f2("large.txt", strings.Repeat("x", 2*ShownDiff)), true},
		{"many files", func(root string) {
			for n := range 300 {
				write(t, root, fmt.Sprintf("many/%d", n), strings.Repeat(line, 30))
			}
		}, true},
	} {
		f := newFixture(t)
		w := f.workspace(1)
		tt.edit(w.Path())
		change, diff, err := w.Change(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if cut := strings.Contains(string(diff), "\n... the rest is left out, beyond 768 KiB; the change is of "); cut != tt.cut || len(diff) > ShownDiff+200 {
			t.Errorf("%s: a diff of %d bytes is cut: %t, want %t", tt.name, len(diff), cut, tt.cut)
		}
		if !strings.HasPrefix(string(diff), "diff --git ") || !strings.HasSuffix(string(diff), "\n") {
			t.Errorf("%s: the diff begins with %.40q and ends with %q", tt.name, diff, diff[len(diff)-40:])
		}
		if landing := f.land(1, 2, f.candidate(1, 1, change)); landing.GetRef() != "refs/heads/main" {
			t.Errorf("%s: %v", tt.name, landing)
		}
	}
}

func TestLOCK03_WhatCannotBeAChange(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, tt := range []struct {
		name  string
		edit  func(root string)
		code  string
		names string
	}{
		{"nothing", func(string) {}, "git/no-change", ""},
		{"ignored files only", f2("x.log", "x"), "git/no-change", ""},
		{"touched only", func(root string) { touch(t, root, "a.txt") }, "git/no-change", ""},
		{"a pipe in a file's place", func(root string) {
			remove(t, root, "a.txt")
			if err := syscall.Mkfifo(filepath.Join(root, "a.txt"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "git/unsupported", `"a.txt"`},
		{"a file that a filter stands for", f2("big.bin", "content"), "git/unsupported", `"big.bin"`},
		{"a submodule removed", func(root string) { remove(t, root, "sub") }, "git/no-change", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			f.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			f.write("big.bin", "version https://git-lfs.github.com/spec/v1\n")
			f.user("add", ".")
			f.user("update-index", "--add", "--cacheinfo", "160000,"+f.head("main")+",sub")
			f.user("commit", "-q", "-m", "attributes")
			w := f.workspace(1)
			tt.edit(w.Path())
			_, _, err := w.Change(t.Context())
			wantText(t, wantCode(t, err, tt.code), tt.names)
			if wip, _ := f.ws.resolve(t.Context(), wipRef(execution(1))); wip != "" {
				t.Error("something was recorded all the same")
			}
		})
	}
}

// f2 returns an edit that writes a file.
func f2(path, content string) func(string) {
	return func(root string) { _ = os.WriteFile(filepath.Join(root, path), []byte(content), 0o644) }
}

func TestLOCK03_UnusualRepositories(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, change := range map[string]func(f *fixture){
		"SHA-256": func(f *fixture) {
			remove(t, f.top, ".git")
			f.user("init", "-q", "-b", "main", "--object-format=sha256")
			f.user("add", ".")
			f.user("commit", "-q", "-m", "first")
			f.open(f.top)
		},
		"shallow": func(f *fixture) {
			for n := range 3 {
				f.write("n", fmt.Sprint(n))
				f.user("add", "n")
				f.user("commit", "-q", "-m", fmt.Sprint(n))
			}
			shallow := f.top + "-shallow"
			f.user("clone", "-q", "--depth=2", "file://"+f.top, shallow)
			f.top = shallow
			f.open(shallow)
		},
		"packed and collected": func(f *fixture) { f.user("gc", "-q"); f.user("pack-refs", "--all") },
		"borrowing objects": func(f *fixture) {
			shared := f.top + "-shared"
			f.user("clone", "-q", "--shared", f.top, shared)
			f.top = shared
			f.open(shared)
		},
		"a separate git directory": func(f *fixture) {
			f.user("init", "-q", "--separate-git-dir="+f.top+"-dir")
			f.open(f.top)
		},
		"a split index":     func(f *fixture) { f.user("update-index", "--split-index") },
		"sparse":            func(f *fixture) { f.user("sparse-checkout", "set", "--no-cone", "/*", "!/dir/") },
		"line endings":      func(f *fixture) { f.user("config", "core.autocrlf", "input") },
		"a path with space": func(f *fixture) { move(t, f, f.top+" with 'space'") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			change(f)
			if status := f.status(); status != "" {
				t.Fatalf("status before: %q", status)
			}
			landing := f.ship(1, 5, f.editing("a.txt", "loom\n"))
			if landing.GetRef() != "refs/heads/main" || f.status() != "" || read(t, f.top, "a.txt") != "loom\n" {
				t.Errorf("landing %v, status %q", landing, f.status())
			}
			f.ship(2, 7, f.editing("b.txt", "loom\n"))
			if f.user("fsck") != "" && strings.Contains(f.user("fsck"), "error") {
				t.Errorf("fsck: %s", f.user("fsck"))
			}
		})
	}
}

func move(t *testing.T, f *fixture, to string) {
	if err := os.Rename(f.top, to); err != nil {
		t.Fatal(err)
	}
	f.top = to
	f.open(to)
}

func TestLOCK03_EndedContext(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	before := state(t, f.top)
	_, _, err := f.com.Candidate(ctx, f.request(1, 5, change))
	wantCode(t, err, "git/timeout")
	_, err = f.com.Land(ctx, f.landRequest(1, 6, &loomv1.Candidate{Commit: change.GetCommit(), Base: change.GetBase()}))
	wantCode(t, err, "git/timeout")
	if fault.Code(Available(ctx)) == "" || state(t, f.top) != before {
		t.Error("something was done after the end")
	}
}

// git sees an edit of the same length in the same second only by the time of
// the index itself.
func TestLOCK03_CopyOfAnIndexKeepsItsTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.workspace(1)
	from := f.ws.indexPath(execution(1))
	touch(t, filepath.Dir(from), filepath.Base(from))
	to := filepath.Join(t.TempDir(), "copy")
	if err := copyIndex(from, to); err != nil {
		t.Fatal(err)
	}
	was, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if is, err := os.Stat(to); err != nil || !is.ModTime().Equal(was.ModTime()) {
		t.Errorf("%v, %v; want the time %v", is, err, was.ModTime())
	}
}

func TestLOCK03_WorkspacesAtOnce(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	var g errgroup.Group
	for n := 1; n <= 6; n++ {
		g.Go(func() error {
			w, err := f.ws.Open(t.Context(), execution(n), bead(n))
			if err != nil {
				return err
			}
			f2("a.txt", fmt.Sprint(n))(w.Path())
			if _, _, err := w.Change(t.Context()); err != nil {
				return err
			}
			return f.ws.Remove(t.Context(), execution(n), nil)
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(f.data, "repos")); err != nil || len(left) != 1 {
		t.Errorf("%v, %v: half-made repositories were left", left, err)
	}
	for n := 1; n <= 6; n++ {
		if got := read(t, f.workspace(n).Path(), "a.txt"); got != fmt.Sprint(n) {
			t.Errorf("workspace %d has %q", n, got)
		}
	}
}
