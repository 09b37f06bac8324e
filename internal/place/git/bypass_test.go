package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

// More ways round the hooks, beside those of TestP19_WaysRoundAHook: what an
// agent can do to the repository in its workspace, and what it would have git
// believe.
func TestP19_M20_MoreWaysRoundAHook(t *testing.T) {
	longtest.Skip(t)
	for name, try := range map[string]func(f *fixture, root string){
		"an amended commit with trailers of its own": func(f *fixture, root string) {
			gitIn(f.t, root, "commit", "-q", "-a", "--no-verify", "-m", "x\n\nLoom-Bead: b1\nLoom-Execution: b1-x1\nLoom-Token: 5\nLoom-Patch: 0")
			gitIn(f.t, root, "commit", "-q", "--amend", "--no-verify", "--author=CEO <ceo@example.com>", "--no-edit")
		},
		"GIT_CONFIG_COUNT in the environment": func(f *fixture, _ string) {
			f.setenv("GIT_CONFIG_COUNT", "1")
			f.setenv("GIT_CONFIG_KEY_0", "core.hooksPath")
			f.setenv("GIT_CONFIG_VALUE_0", "/dev/null")
		},
		"GIT_CONFIG_PARAMETERS in the environment": func(f *fixture, _ string) {
			f.setenv("GIT_CONFIG_PARAMETERS", "'core.hooksPath'='/dev/null'")
		},
		"GIT_DIR and its kin in the environment": func(f *fixture, root string) {
			for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR"} {
				f.setenv(name, filepath.Join(root, ".git"))
			}
			f.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", filepath.Join(root, ".git/objects"))
		},
		"a configuration that is included": func(f *fixture, root string) {
			write(f.t, root, ".git/more", "[core]\n\thooksPath = /dev/null\n")
			gitIn(f.t, root, "config", "include.path", "more")
			gitIn(f.t, root, "config", "includeIf.gitdir:/.path", filepath.Join(root, ".git/more"))
		},
		"a configuration of the work tree": func(f *fixture, root string) {
			gitIn(f.t, root, "config", "extensions.worktreeConfig", "true")
			gitIn(f.t, root, "config", "--worktree", "core.hooksPath", "/dev/null")
		},
		"a template with empty hooks": func(f *fixture, root string) {
			home := f.t.TempDir()
			executable(f.t, filepath.Join(home, "template/hooks/pre-commit"), "#!/bin/sh\nexit 0\n")
			write(f.t, home, ".gitconfig", "[init]\n\ttemplateDir = "+filepath.Join(home, "template")+"\n")
			f.setenv("HOME", home)
			f.setenv("GIT_TEMPLATE_DIR", filepath.Join(home, "template"))
		},
		"replaced objects": func(f *fixture, root string) {
			c := gitIn(f.t, root, "commit-tree", "HEAD^{tree}", "-m", "x")
			gitIn(f.t, root, "replace", "HEAD", c)
		},
		"grafts": func(f *fixture, root string) {
			write(f.t, root, ".git/info/grafts", gitIn(f.t, root, "rev-parse", "HEAD")+"\n")
		},
		"other objects by alternates": func(f *fixture, root string) {
			write(f.t, root, ".git/objects/info/alternates", filepath.Join(evilRepository(f.t.(*testing.T), newCanary(f.t.(*testing.T))), ".git/objects")+"\n")
		},
		"a file that git is told not to look at": func(f *fixture, root string) {
			gitIn(f.t, root, "update-index", "--assume-unchanged", "a.txt")
			gitIn(f.t, root, "update-index", "--skip-worktree", "a.txt")
			write(f.t, root, ".git/info/exclude", "*\n")
		},
		"HEAD on the target": func(f *fixture, root string) {
			gitIn(f.t, root, "branch", "-f", "main")
			gitIn(f.t, root, "symbolic-ref", "HEAD", "refs/heads/main")
		},
		"a merge under way": func(f *fixture, root string) {
			write(f.t, root, ".git/MERGE_HEAD", gitIn(f.t, root, "rev-parse", "HEAD")+"\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			executable(t, filepath.Join(f.top, ".githooks/pre-commit"), "#!/bin/sh\necho refused && exit 1\n")
			f.user("add", ".")
			f.user("commit", "-q", "-m", "hooks")
			f.user("config", "core.hooksPath", ".githooks")
			head, w := f.head("main"), f.workspace(1)
			write(t, w.Path(), "a.txt", "loom\n")
			try(f, w.Path())
			_, err := f.tryCandidate(allowed)
			wantText(t, wantCode(t, err, "git/hook-failed"), "refused")
			if now := read(t, f.top, ".git/refs/heads/main"); strings.TrimSpace(now) != head {
				t.Errorf("main was moved to %s", now)
			}
		})
	}
}

func (f *fixture) setenv(name, value string) { f.t.(*testing.T).Setenv(name, value) }

// What the workspace says of itself decides nothing: the commit is of the files,
// by who Loom says, with Loom's trailers.
func TestP20_M20_WhatTheWorkspaceSaysIsNotTaken(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	w := f.workspace(1)
	write(t, w.Path(), "a.txt", "loom\n")
	gitIn(t, w.Path(), "config", "user.name", "CEO")
	gitIn(t, w.Path(), "commit", "-q", "-a", "-m", "x\n\nLoom-Bead: b9\nLoom-Execution: b9-x1\nLoom-Decision: g9\nLoom-Token: 99")
	gitIn(t, w.Path(), "replace", "HEAD", gitIn(t, w.Path(), "commit-tree", "HEAD~1^{tree}", "-m", "y"))
	landing := f.ship(1, 5, func(string) {})
	if got := f.user("log", "-1", "--format=%an|%cn|%s|%(trailers:key=Loom-Bead,valueonly)%(trailers:key=Loom-Token,valueonly)", "main"); got != "backend-engineer|"+committerName+"|Fix the thing|b1\n5\n" {
		t.Errorf("the commit says %q", got)
	}
	if f.user("show", landing.GetCommit()+":a.txt") != "loom" {
		t.Error("the files are not what landed")
	}
}

// Replaced and grafted history in the registered repository changes neither what
// a candidate sits on nor what it holds.
func TestM20_ReplacedHistoryIsNotBelieved(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := newFixture(t)
	f.write("b.txt", "b\n")
	f.user("add", ".")
	f.user("commit", "-q", "-m", "second")
	head := f.head("main")
	f.user("replace", head, f.head("main~1"))
	write(t, f.repo.common, "info/grafts", head+"\n")
	change := f.propose(1, f.editing("a.txt", "loom\n"))
	landing := f.land(1, 6, f.candidate(1, 5, change))
	raw, err := f.repo.git().line(t.Context(), "cat-file", "commit", landing.GetCommit())
	if err != nil || !strings.Contains(raw, "\nparent "+head+"\n") {
		t.Errorf("the commit is\n%s\n%v; want it on %s", raw, err, head)
	}
	if len(change.GetFiles()) != 1 {
		t.Errorf("files %v", change.GetFiles())
	}
}

// A repository with submodules and files in Git LFS works as long as a change
// leaves them alone, and says clearly when it does not.
func TestLOCK03_SubmodulesAndLFS(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 7\n"
	for _, tt := range []struct {
		name, code, says string
		edit             func(root string)
	}{
		{"another file", "", "", func(root string) { write(t, root, "a.txt", "loom\n") }},
		{"a file in LFS", "git/unsupported", `(Git LFS, git-crypt) stands for: "big.bin"`, func(root string) { write(t, root, "big.bin", "larger\n") }},
		{"a pointer of LFS", "git/unsupported", `"big.bin"`, func(root string) {
			write(t, root, "big.bin", fmt.Sprintf(pointer, digestOf("other")))
		}},
		{"a new file in LFS", "git/unsupported", `"dir/new.bin"`, func(root string) { write(t, root, "dir/new.bin", "large\n") }},
		{"files that the change gives to LFS", "git/unsupported", `"new.iso"`, func(root string) {
			write(t, root, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.iso filter=lfs\n")
			write(t, root, "new.iso", "large\n")
		}},
		{"a file in LFS removed", "git/unsupported", `"big.bin"`, func(root string) { remove(t, root, "big.bin") }},
		{"a file in the place of the submodule", "git/unsupported", "submodule", func(root string) {
			remove(t, root, "sub")
			write(t, root, "sub", "mine\n")
		}},
		{"a link in the place of the submodule", "git/unsupported", "submodule", func(root string) {
			remove(t, root, "sub")
			link(t, "/etc", filepath.Join(root, "sub"))
		}},
		{"the submodule's pointer, in the agent's own index", "git/no-change", "", func(root string) {
			gitIn(t, root, "update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFixture(t)
			sub := evilRepository(t, newCanary(t))
			f.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
			f.write("big.bin", fmt.Sprintf(pointer, digestOf("content")))
			f.user("add", ".")
			f.user("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
			f.user("commit", "-q", "-m", "a submodule and a large file")
			tree := f.user("ls-tree", "main", "sub", "big.bin")
			w := f.workspace(1)
			tt.edit(w.Path())
			change, _, err := w.Change(t.Context())
			if tt.code != "" {
				wantText(t, wantCode(t, err, tt.code), tt.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			landing := f.land(1, 6, f.candidate(1, 5, change))
			if landing.GetRef() != "refs/heads/main" || f.status() != "" || f.user("ls-tree", "main", "sub", "big.bin") != tree {
				t.Errorf("landing %v, status %q", landing, f.status())
			}
			if !exists(filepath.Join(f.top, "sub", "x")) {
				t.Error("the user's submodule was emptied")
			}
			if _, err := os.Stat(filepath.Join(w.Path(), "sub")); err != nil {
				t.Errorf("the workspace has no place for the submodule: %v", err)
			}
		})
	}
}
