package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestREAL04_NothingSurvivesInAPooledCheckout lends a checkout, lets somebody do
// something to it, and lends one of another commit: whatever was done, that is
// what git writes to an empty directory. Only a tree to which nothing was done
// serves again; its .git never does.
func TestREAL04_NothingSurvivesInAPooledCheckout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do     func(t *testing.T, dir string)
		serves bool // again
	}{
		"nothing": {func(*testing.T, string) {}, true},
		"reads":   {func(t *testing.T, dir string) { read(t, dir, "a.txt") }, true},
		"the .git": {func(t *testing.T, dir string) {
			write(t, dir, ".git/config", "[core]\n\tfsmonitor = evil\n")
			write(t, dir, ".git/hooks/post-checkout", "evil")
			write(t, dir, ".git/info/exclude", "*")
		}, true},
		"a .git of its own making": {func(t *testing.T, dir string) {
			remove(t, dir, ".git")
			link(t, "/nowhere", filepath.Join(dir, ".git"))
		}, false},
		"a file that git ignores": {func(t *testing.T, dir string) { write(t, dir, "x.log", "evil") }, false},
		"an empty directory":      {func(t *testing.T, dir string) { mkdir(t, filepath.Join(dir, "empty")) }, false},
		"as many bytes, and the time set back": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, "dir", "b.txt")
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			write(t, dir, "dir/b.txt", strings.Repeat("x", int(info.Size())))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a change that is undone": {func(t *testing.T, dir string) {
			was := read(t, dir, "dir/b.txt")
			write(t, dir, "dir/b.txt", "evil")
			write(t, dir, "dir/b.txt", was)
		}, false},
		"odd modes": {func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "dir", "b.txt"), 0o4777); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a sealed directory": {func(t *testing.T, dir string) {
			if err := os.Chmod(filepath.Join(dir, "dir"), 0o500); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a hard link out of it": {func(t *testing.T, dir string) {
			if err := os.Link(filepath.Join(dir, "dir", "b.txt"), filepath.Join(filepath.Dir(dir), "mine")); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a symbolic link": {func(t *testing.T, dir string) {
			remove(t, dir, "dir/b.txt")
			link(t, "../a.txt", filepath.Join(dir, "dir", "b.txt"))
		}, false},
		"a repository inside": {func(t *testing.T, dir string) { gitIn(t, dir, "init", "-q", "inner") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			first := f.head("main")
			f.write("a.txt", "second\n")
			f.user("add", "a.txt")
			f.user("commit", "-q", "-m", "second")
			second, scratch := f.head("main"), t.TempDir()
			pool := &Pool{Dir: filepath.Join(scratch, "pool")}
			lend := func(commit, as string) *Clean {
				t.Helper()
				mkdir(t, filepath.Join(scratch, as))
				c, err := pool.Checkout(t.Context(), f.ws, commit, filepath.Join(scratch, as, "p"))
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			c := lend(first, "one")
			inode := func(dir string) any {
				info, _ := os.Lstat(filepath.Join(dir, "dir", "b.txt"))
				s, _ := stampOf(info)
				return s.inode
			}
			before := inode(c.dir)
			tt.do(t, c.dir)
			if err := pool.Return(c); err != nil {
				t.Fatal(err)
			}
			kept, _ := filepath.Glob(filepath.Join(pool.Dir, "*", "*"))
			if got := len(kept) == 1; got != tt.serves {
				t.Errorf("it is kept: %t, want %t", got, tt.serves)
			}
			c = lend(second, "two")
			if tt.serves && inode(c.dir) != before {
				t.Error("another tree was written")
			}
			fresh := filepath.Join(scratch, "fresh")
			if err := f.ws.Checkout(t.Context(), second, fresh); err != nil {
				t.Fatal(err)
			}
			if got, want := everything(t, c.dir), everything(t, fresh); !slices.Equal(got, want) {
				t.Errorf("the second has\n%q\nwant\n%q", got, want)
			}
			if exists(filepath.Join(scratch, "one", "p")) {
				t.Error("the first is still where it was")
			}
		})
	}
}

// TestREAL04_AttributesChangeWhatIsWritten has attributes differ between two
// commits: every file may be written otherwise, so the kept tree does not serve.
func TestREAL04_AttributesChangeWhatIsWritten(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, scratch := f.head("main"), t.TempDir()
	f.write(".gitattributes", "*.txt text eol=crlf\n")
	f.user("add", "-A")
	f.user("commit", "-q", "-m", "attributes")
	pool := &Pool{Dir: filepath.Join(scratch, "pool")}
	c, err := pool.Checkout(t.Context(), f.ws, first, filepath.Join(scratch, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pool.Return(c); err != nil {
		t.Fatal(err)
	}
	c, err = pool.Checkout(t.Context(), f.ws, f.head("main"), filepath.Join(scratch, "two"))
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, c.dir, "dir/b.txt"); !strings.HasSuffix(got, "\r\n") {
		t.Errorf("dir/b.txt is %q, want it as the attributes say", got)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// everything lists what lies under a directory, with modes and contents, but for
// what differs by name and time in every .git.
func everything(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := ""
		switch {
		case rel == filepath.Join(".git", "index"):
		case info.Mode().IsRegular():
			text = read(t, root, rel)
		case info.Mode()&fs.ModeSymlink != 0:
			text, err = os.Readlink(path)
		}
		list = append(list, strings.Join([]string{info.Mode().String(), rel, text}, " "))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
