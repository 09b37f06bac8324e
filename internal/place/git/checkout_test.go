package git

import (
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

func TestP17_DirtyCheckoutIsLeftAlone(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, dirty := range map[string]func(*fixture){
		"edited":                   func(f *fixture) { f.write("dir/b.txt", "mine\n") },
		"staged":                   func(f *fixture) { f.write("dir/b.txt", "mine\n"); f.user("add", ".") },
		"the same file":            func(f *fixture) { f.write("a.txt", "mine\n") },
		"removed":                  func(f *fixture) { remove(t, f.top, "dir/b.txt") },
		"mode":                     func(f *fixture) { f.user("update-index", "--chmod=+x", "dir/b.txt") },
		"intent to add":            func(f *fixture) { f.write("n", "n"); f.user("add", "-N", "n") },
		"untracked in the way":     func(f *fixture) { f.write("new.txt", "mine\n") },
		"ignored in the way":       func(f *fixture) { f.write("deep/new.log", "mine\n") },
		"file where a dir must be": func(f *fixture) { f.write("deep", "mine\n") },
		"dir where a file must be": func(f *fixture) { f.write("new.txt/x.log", "mine\n") },
		"hidden edit":              func(f *fixture) { f.user("update-index", "--assume-unchanged", "a.txt"); f.write("a.txt", "mine\n") },
		"skip-worktree edit":       func(f *fixture) { f.user("update-index", "--skip-worktree", "a.txt"); f.write("a.txt", "mine\n") },
		"merge in progress":        func(f *fixture) { write(t, f.repo.common, "MERGE_HEAD", f.head("main")+"\n") },
		"another git at work":      func(f *fixture) { write(t, f.repo.common, "index.lock", "") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			made := f.candidate(1, 5, f.propose(1, func(root string) {
				write(t, root, "a.txt", "loom\n")
				write(t, root, "new.txt", "loom\n")
				write(t, root, "deep/kept.txt", "loom\n")
				write(t, root, ".gitignore", "")
				write(t, root, "deep/new.log", "loom\n")
			}))
			f.t = t
			dirty(f)
			before, head := state(t, f.top), f.head("main")
			landing := f.land(1, 6, made)
			if state(t, f.top) != before || f.head("main") != head {
				t.Error("the checkout or its branch was changed")
			}
			if landing.GetRef() != landedBranch || f.head(landedBranch) != made.GetCommit() {
				t.Errorf("landed on %s, want %s", landing.GetRef(), landedBranch)
			}
			wantText(t, landing.GetCheckout(), "main was left alone because", "git merge loom/landed")
		})
	}
}

func TestP17_WhatIsNotInTheWayStays(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	f.write("mine.txt", "untracked\n")
	f.write("mine.log", "ignored\n")
	touch(t, f.top, "dir/b.txt") // its time differs, its content does not
	landing := f.ship(1, 5, func(root string) {
		write(t, root, "a.txt", "loom\n")
		remove(t, root, "dir/b.txt")
		remove(t, root, "dir")
		write(t, root, "dir", "a file now\n")
	})
	if landing.GetRef() != "refs/heads/main" || f.status() != "?? mine.txt" || read(t, f.top, "dir") != "a file now\n" {
		t.Errorf("landed on %s, status %q", landing.GetRef(), f.status())
	}
	if read(t, f.top, "mine.txt") != "untracked\n" || read(t, f.top, "mine.log") != "ignored\n" {
		t.Error("the user's own files were changed")
	}
}

func TestDESIGN8_LandingsAsideStack(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	f.write("dir/b.txt", "mine\n")
	first := f.ship(1, 5, f.editing("one.txt", "1\n"))
	second := f.ship(2, 7, f.editing("two.txt", "2\n")) // made on loom/landed
	if second.GetRef() != landedBranch || f.user("rev-parse", "loom/landed~1") != first.GetCommit() {
		t.Fatalf("second landing %v does not follow the first", second)
	}
	// The user goes on without taking them: they are kept, and the next goes its own way.
	f.user("commit", "-q", "-am", "mine")
	f.write("dir/b.txt", "mine again\n")
	third := f.ship(3, 9, f.editing("three.txt", "3\n"))
	if third.GetRef() != landedBranch+"-b3-x1" || f.head(landedBranch) != second.GetCommit() {
		t.Fatalf("third landing %v", third)
	}
	f.user("checkout", "-q", "dir/b.txt")
	f.user("merge", "-q", "--no-edit", "loom/landed")
	fourth := f.ship(4, 11, f.editing("four.txt", "4\n"))
	if fourth.GetRef() != "refs/heads/main" || f.status() != "" {
		t.Errorf("fourth landing %v, status %q", fourth, f.status())
	}
}

func TestDESIGN8_CleanCheckoutTakesWhatWaited(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	f.write("dir/b.txt", "mine\n")
	f.ship(1, 5, f.editing("one.txt", "1\n"))
	f.user("checkout", "-q", "dir/b.txt")
	landing := f.ship(2, 7, f.editing("two.txt", "2\n"))
	if landing.GetRef() != "refs/heads/main" || f.copies(1, "main") != 1 || f.copies(2, "main") != 1 || f.status() != "" {
		t.Errorf("landing %v, status %q: main should have both", landing, f.status())
	}
}

func TestDESIGN8_BareRepository(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	f.bare()
	landing := f.ship(1, 5, f.editing("a.txt", "loom\n"))
	if f.head("main") != landing.GetCommit() || f.user("show", "main:a.txt") != "loom" {
		t.Errorf("main is %s", f.head("main"))
	}
	wantText(t, landing.GetCheckout(), "nowhere")
}

func TestDESIGN8_LinkedWorktrees(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	t.Run("the target is in a linked one, registered by it", func(t *testing.T) {
		f := newFixture(t)
		f.user("checkout", "-q", "-b", "other")
		linked := f.top + "-linked"
		f.user("worktree", "add", "-q", linked, "main")
		f.open(linked)
		before := state(t, f.top)
		landing := f.ship(1, 5, f.editing("a.txt", "loom\n"))
		if read(t, linked, "a.txt") != "loom\n" || gitIn(t, linked, "status", "--porcelain") != "" || state(t, f.top) != before {
			t.Errorf("landing %v: the linked checkout did not follow, or the main one changed", landing)
		}
	})
	t.Run("dirty in a linked one", func(t *testing.T) {
		f := newFixture(t)
		f.user("checkout", "-q", "-b", "other")
		linked := f.top + "-linked"
		f.user("worktree", "add", "-q", linked, "main")
		write(t, linked, "a.txt", "mine\n")
		before := state(t, linked)
		if landing := f.ship(1, 5, f.editing("a.txt", "loom\n")); landing.GetRef() != landedBranch || state(t, linked) != before {
			t.Errorf("landing %v", landing)
		}
	})
	t.Run("checked out twice, one dirty", func(t *testing.T) {
		f := newFixture(t)
		linked := f.top + "-linked"
		f.user("worktree", "add", "-q", "-f", linked, "main")
		write(t, linked, "a.txt", "mine\n")
		before := state(t, linked) + state(t, f.top)
		if landing := f.ship(1, 5, f.editing("a.txt", "loom\n")); landing.GetRef() != landedBranch || state(t, linked)+state(t, f.top) != before {
			t.Errorf("landing %v", landing)
		}
		if exists(f.repo.common + "/index.lock") {
			t.Error("a lock was left behind")
		}
	})
	t.Run("checked out twice, both clean", func(t *testing.T) {
		f := newFixture(t)
		linked := f.top + "-linked"
		f.user("worktree", "add", "-q", "-f", linked, "main")
		f.ship(1, 5, f.editing("a.txt", "loom\n"))
		if f.status()+gitIn(t, linked, "status", "--porcelain") != "" || read(t, linked, "a.txt") != "loom\n" {
			t.Error("one of them did not follow")
		}
	})
	t.Run("rebasing the target", func(t *testing.T) {
		f := newFixture(t)
		f.user("checkout", "-q", "-b", "side", "HEAD")
		f.write("a.txt", "side\n")
		f.user("commit", "-q", "-am", "side")
		f.user("checkout", "-q", "main")
		f.write("a.txt", "main\n")
		f.user("commit", "-q", "-am", "main")
		if _, err := tryGit(f.top, "rebase", "-q", "side"); err == nil {
			t.Fatal("the rebase should have stopped")
		}
		before := state(t, f.top)
		if landing := f.ship(1, 5, f.editing("new.txt", "loom\n")); landing.GetRef() != landedBranch || state(t, f.top) != before {
			t.Errorf("landing %v", landing)
		}
	})
	t.Run("locked and out of reach", func(t *testing.T) {
		f := newFixture(t)
		f.user("checkout", "-q", "-b", "other")
		linked := f.top + "-linked"
		f.user("worktree", "add", "-q", "--lock", linked, "main")
		remove(t, linked, "")
		if landing := f.ship(1, 5, f.editing("a.txt", "loom\n")); landing.GetRef() != landedBranch {
			t.Errorf("landing %v", landing)
		}
	})
	t.Run("loom/landed is checked out", func(t *testing.T) {
		f := newFixture(t)
		f.write("dir/b.txt", "mine\n")
		f.ship(1, 5, f.editing("one.txt", "1\n"))
		linked := f.top + "-linked"
		f.user("worktree", "add", "-q", linked, "loom/landed")
		before := state(t, linked)
		landing := f.ship(2, 7, f.editing("two.txt", "2\n"))
		if landing.GetRef() != landedBranch+"-b2-x1" || state(t, linked) != before {
			t.Errorf("landing %v", landing)
		}
	})
}

func TestP17_NoCommitBetweenBranchAndIndex(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	tried := 0
	f.com.step = func(step string) {
		if step == "checkouts held" || step == "target moved" {
			tried++
			if out, err := tryGit(f.top, "commit", "-q", "--allow-empty", "-m", "in between"); err == nil {
				t.Errorf("a commit went through at %q: %s", step, out)
			}
		}
	}
	f.land(1, 6, made)
	if tried != 2 || f.status() != "" || f.head("main") != made.GetCommit() {
		t.Errorf("tried %d times, status %q", tried, f.status())
	}
}

func TestP17_EditInTheLastMoment(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	base := f.head("main")
	made := f.candidate(1, 5, f.propose(1, f.editing("a.txt", "loom\n")))
	f.com.step = func(step string) {
		if step == "target moved" {
			f.write("a.txt", "mine, just now\n")
		}
	}
	landing := f.land(1, 6, made)
	if landing.GetRef() != landedBranch || f.head("main") != base || f.status() != " M a.txt" || read(t, f.top, "a.txt") != "mine, just now\n" {
		t.Errorf("landing %v, main %s, status %q", landing, f.head("main"), f.status())
	}
}
