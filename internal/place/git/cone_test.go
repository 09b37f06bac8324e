package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

// wide is a repository of many directories.
func wide(t *testing.T) *fixture {
	t.Helper()
	f := newFixture(t)
	for _, path := range []string{
		"src/README", "src/net/ip.go", "src/net/http/server.go", "src/net/http/h2/frame.go", "src/os/file.go",
		"cmd/go/main.go", "cmd/doc/main.go", "odd [x]*/y/z.txt", "srcs/near.txt", "src/net-other/n.go",
	} {
		f.write(path, path+"\n")
	}
	f.user("add", "-A")
	f.user("commit", "-q", "-m", "many directories")
	return f
}

// tracked lists the files in a work tree, without its .git.
func tracked(t *testing.T, top string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return fs.SkipDir
		}
		if err == nil && !d.IsDir() {
			list = append(list, path[len(top)+1:])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestREAL04_ConesAreAsGitHasThem writes checkouts of several cones: what stands in
// each is what the cone says that it has.
func TestREAL04_ConesAreAsGitHasThem(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := wide(t)
	all := strings.Split(f.user("-c", "core.quotePath=false", "ls-files"), "\n")
	for _, tt := range []struct {
		name string
		cone Cone
		some string // a file that is there
	}{
		{"the whole tree", Cone{}, "cmd/doc/main.go"},
		{"one at the top", NewCone([]string{"cmd"}), "cmd/doc/main.go"},
		{"one with one like it beside it", NewCone([]string{"src/net"}), "src/README"},
		{"two", NewCone([]string{"src/net/http", "cmd/go"}), "src/net/ip.go"},
		{"one within another", NewCone([]string{"src/net/http", "src"}), "src/os/file.go"},
		{"one that is not there", NewCone([]string{"nowhere/at/all"}), "a.txt"},
		{"files of a change", NewCone([]string{"cmd/go"}).With([]string{"src/net/ip.go", "a.txt"}), "src/net/ip.go"},
		{"files in an odd directory", NewCone([]string{"cmd/go"}).With([]string{"odd [x]*/y/z.txt"}), "odd [x]*/y/z.txt"},
		{"files above", NewCone([]string{"src/net/http"}).With([]string{"src/os/file.go"}), "src/os/file.go"},
		{"a change in a directory that no pattern can name", NewCone([]string{"cmd/go"}).With([]string{"a\nb/c"}), "cmd/doc/main.go"},
		{"two cones together", NewCone([]string{"cmd"}).Union(NewCone([]string{"src/os"})), "src/os/file.go"},
		{"a cone and the whole tree", NewCone([]string{"cmd"}).Union(Cone{}), "src/os/file.go"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "look")
			if err := f.ws.Sparse(tt.cone).Checkout(t.Context(), f.head("main"), dir); err != nil {
				t.Fatal(err)
			}
			got, want := tracked(t, dir), slices.DeleteFunc(slices.Clone(all), func(p string) bool { return !tt.cone.Has(p) })
			slices.Sort(want)
			slices.Sort(got)
			if !slices.Equal(got, want) || !slices.Contains(got, tt.some) {
				t.Errorf("the checkout has\n%q\nthe cone says\n%q\nand %q is in it", got, want, tt.some)
			}
			if out := gitIn(t, dir, "status", "--porcelain"); out != "" {
				t.Errorf("git status in it says\n%s", out)
			}
		})
	}
}

// TestREAL04_SparseChangesLandOnTheWholeTree takes changes that were made in a
// sparse worktree the whole way, with a hook: what the worktree lacks stays as it
// is, and what an agent writes outside of the named directories is part of the
// change, made on what the target has there.
func TestREAL04_SparseChangesLandOnTheWholeTree(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(t *testing.T, dir string)
		want string // of git diff --name-status
		hook string // a file that the hook has to see
	}{
		{"a file inside", func(t *testing.T, dir string) { write(t, dir, "cmd/go/main.go", "changed\n") }, "M\tcmd/go/main.go", "cmd/go/main.go"},
		{"a file inside that goes", func(t *testing.T, dir string) { remove(t, dir, "cmd/go/main.go") }, "D\tcmd/go/main.go", "a.txt"},
		{"a new file outside", func(t *testing.T, dir string) { write(t, dir, "src/os/new.go", "new\n") }, "A\tsrc/os/new.go", "src/os/new.go"},
		{"a new directory outside", func(t *testing.T, dir string) { write(t, dir, "lib/x/new.go", "new\n") }, "A\tlib/x/new.go", "lib/x/new.go"},
		{"a file outside that the target has", func(t *testing.T, dir string) {
			write(t, dir, "src/net/ip.go", gitIn(t, dir, "show", "HEAD:src/net/ip.go")+"\nmore\n")
		}, "M\tsrc/net/ip.go", "src/net/ip.go"},
		{"a file outside that is fetched and left alone", func(t *testing.T, dir string) {
			write(t, dir, "src/net/ip.go", gitIn(t, dir, "show", "HEAD:src/net/ip.go")+"\n")
			write(t, dir, "cmd/go/main.go", "changed\n")
		}, "M\tcmd/go/main.go", "cmd/go/main.go"},
		{"a directory that the agent adds to its checkout", func(t *testing.T, dir string) {
			gitIn(t, dir, "sparse-checkout", "add", "src/net")
			write(t, dir, "src/net/http/server.go", "changed\n")
		}, "M\tsrc/net/http/server.go", "src/net/http/server.go"},
		{"a checkout that the agent makes whole", func(t *testing.T, dir string) {
			gitIn(t, dir, "sparse-checkout", "disable")
			write(t, dir, "srcs/near.txt", "changed\n")
		}, "M\tsrcs/near.txt", "srcs/near.txt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := wide(t)
			f.ws = f.ws.Sparse(NewCone([]string{"cmd/go"}))
			before := f.head("main")
			change := f.propose(1, func(dir string) {
				if exists(filepath.Join(dir, "src")) || !exists(filepath.Join(dir, "cmd/go/main.go")) {
					t.Fatalf("the worktree has %q", tracked(t, dir))
				}
				tt.edit(t, dir)
			})
			f.hook("pre-commit", "#!/bin/sh\ntest -z \"$(git status --porcelain | grep -v '^[AMD] ')\" && test -e '"+tt.hook+"' && ! test -e cmd/doc/main.go\n")
			req := f.request(1, 1, change)
			req.Hooks.Cone = NewCone([]string{"cmd/go"})
			made, runs, err := f.com.Candidate(t.Context(), req)
			if err != nil || len(runs) != 1 {
				t.Fatalf("candidate: %v, hooks %v", err, runs)
			}
			f.land(1, 2, made)
			if got := f.user("diff", "--name-status", before, "main"); got != tt.want {
				t.Errorf("main has\n%s\nwant\n%s", got, tt.want)
			}
			look := filepath.Join(t.TempDir(), "look")
			showing, err := f.ws.Showing(t.Context(), made.Base, made.Commit)
			if err == nil {
				err = showing.Checkout(t.Context(), made.Commit, look)
			}
			if err != nil || !exists(filepath.Join(look, tt.hook)) || exists(filepath.Join(look, "cmd/doc")) {
				t.Errorf("who judges the change sees %q (%v)", tracked(t, look), err)
			}
		})
	}
}

// TestREAL04_SparseWorkIsKept removes a sparse worktree and opens it again, moves it
// to a newer target, and loses its index: neither what was changed outside of the
// named directories gets lost, nor what is merely not checked out.
func TestREAL04_SparseWorkIsKept(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	edit := func(t *testing.T, w *Worktree) {
		t.Helper()
		write(t, w.Path(), "cmd/go/main.go", "changed\n")
		write(t, w.Path(), "src/os/file.go", "changed\n")
		write(t, w.Path(), "src/os/new.go", "new\n")
	}
	moved := func(t *testing.T, f *fixture) {
		t.Helper()
		f.write("src/net/ip.go", "moved\n")
		f.write("src/os/other.go", "moved\n")
		f.user("add", "-A")
		f.user("commit", "-q", "-m", "moved")
	}
	for name, do := range map[string]func(t *testing.T, f *fixture, w *Worktree){
		"nothing": func(*testing.T, *fixture, *Worktree) {},
		"removed and opened again": func(t *testing.T, f *fixture, _ *Worktree) {
			if err := f.ws.Remove(t.Context(), execution(1), nil); err != nil {
				t.Fatal(err)
			}
		},
		"its index is lost": func(t *testing.T, _ *fixture, w *Worktree) {
			if err := os.Remove(w.Index()); err != nil {
				t.Fatal(err)
			}
		},
		"moved to the newest target": func(t *testing.T, f *fixture, w *Worktree) {
			moved(t, f)
			if conflicts, err := f.ws.Rebase(t.Context(), w); err != nil || len(conflicts) > 0 {
				t.Fatalf("%v, conflicts %q", err, conflicts)
			}
		},
		"moved and put back": func(t *testing.T, f *fixture, w *Worktree) {
			putBack, err := w.Keep(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			write(t, w.Path(), "src/os/file.go", "built over\n")
			write(t, w.Path(), "srcs/near.txt", "built over\n")
			if err := putBack(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"moved, its index lost, removed": func(t *testing.T, f *fixture, w *Worktree) {
			moved(t, f)
			if _, err := f.ws.Rebase(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(w.Index()); err != nil {
				t.Fatal(err)
			}
			if err := f.ws.Remove(t.Context(), execution(1), nil); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := wide(t)
			f.ws = f.ws.Sparse(NewCone([]string{"cmd/go"})).Pooled(&Pool{Dir: filepath.Join(f.data, "pool")})
			w := f.workspace(1)
			edit(t, w)
			do(t, f, w)
			w = f.workspace(1)
			change, _, err := w.Change(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got, want := f.changed(change.Base, change.Commit), "M\tcmd/go/main.go\nM\tsrc/os/file.go\nA\tsrc/os/new.go"; got != want {
				t.Errorf("the change is\n%s\nwant\n%s", got, want)
			}
			if read(t, w.Path(), "src/os/file.go") != "changed\n" || exists(filepath.Join(w.Path(), "src/net/ip.go")) {
				t.Errorf("the worktree has %q", tracked(t, w.Path()))
			}
		})
	}
}

// changed lists what differs between two commits of the mirror.
func (f *fixture) changed(from, to string) string {
	f.t.Helper()
	return gitIn(f.t, f.ws.path(), "diff", "--name-status", from, to)
}

// TestREAL04_NothingTakesThePlaceOfWhatIsNotHere writes a file where the repository
// has a directory that is not checked out, and a directory where it has a file: the
// change is refused and says why, for it would remove what nobody looked at.
func TestREAL04_NothingTakesThePlaceOfWhatIsNotHere(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, path := range []string{"src", "src/net", "src/os/file.go/new.go"} {
		f := wide(t)
		f.ws = f.ws.Sparse(NewCone([]string{"cmd/go"}))
		w := f.workspace(1)
		write(t, w.Path(), path, "new\n")
		_, _, err := w.Change(t.Context())
		if text := wantCode(t, err, "git/unsupported"); !strings.Contains(text, path) || !strings.Contains(text, "cmd/go") {
			t.Errorf("a file at %q: %s, which does not name it and what is checked out", path, text)
		}
	}
}

// TestREAL04_KeptCheckoutsKeepTheirCones lends sparse and whole checkouts of one
// project in turn: none serves as the other, and one of the same cone serves again.
func TestREAL04_KeptCheckoutsKeepTheirCones(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	f := wide(t)
	scratch := t.TempDir()
	pool := &Pool{Dir: filepath.Join(scratch, "pool")}
	program := func(dir string) os.FileInfo {
		info, err := os.Lstat(filepath.Join(dir, "cmd/go/main.go"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	last := map[string]os.FileInfo{}
	for i, cone := range []Cone{{}, NewCone([]string{"cmd/go"}), {}, NewCone([]string{"cmd"}), NewCone([]string{"cmd/go"}), NewCone([]string{"cmd"})} {
		fresh, dir := filepath.Join(scratch, "fresh", string(rune('a'+i))), filepath.Join(scratch, string(rune('a'+i)))
		ws := f.ws.Sparse(cone)
		if err := ws.Checkout(t.Context(), f.head("main"), fresh); err != nil {
			t.Fatal(err)
		}
		c, err := pool.Checkout(t.Context(), ws, f.head("main"), dir)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := tracked(t, dir), tracked(t, fresh); !slices.Equal(got, want) {
			t.Errorf("checkout %d of %q has\n%q\nwant\n%q", i, cone.Dirs, got, want)
		}
		if was, again := last[cone.id()]; again && !os.SameFile(was, program(dir)) {
			t.Errorf("checkout %d of %q was written anew", i, cone.Dirs)
		}
		last[cone.id()] = program(dir)
		write(t, dir, "src/os/left.go", "left behind\n")
		if err := pool.Return(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	done, err := pool.Reserve(t.Context(), f.ws.Sparse(NewCone([]string{"src"})))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := pool.Trim("p", true); n != 3 || err != nil {
		t.Errorf("%d went (%v), want all but the one that is reserved", n, err)
	}
	done()
	if n, err := pool.Trim("p", true); n != 1 || err != nil {
		t.Errorf("%d went (%v), want the one that was reserved", n, err)
	}
}
