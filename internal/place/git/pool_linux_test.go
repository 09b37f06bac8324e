package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

// TestREAL04_NothingSurvivesInAPooledCheckout lends a checkout, lets somebody do
// something to it, and lends one of another commit: whatever was done, that is
// what git writes to an empty directory. What nobody has touched is not written
// again; a .git always is.
func TestREAL04_NothingSurvivesInAPooledCheckout(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for name, tt := range map[string]struct {
		do     func(t *testing.T, dir string)
		serves bool // dir/b.txt, again
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
		}, true},
		"a file that git ignores": {func(t *testing.T, dir string) { write(t, dir, "x.log", "evil") }, true},
		"an empty directory":      {func(t *testing.T, dir string) { mkdir(t, filepath.Join(dir, "empty")) }, true},
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
		"a repository inside": {func(t *testing.T, dir string) { gitIn(t, dir, "init", "-q", "inner") }, true},
		"everything gone": {func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}, false},
		"a file beside": {func(t *testing.T, dir string) { write(t, dir, "dir/mine.txt", "evil") }, true},
		"what hangs on a directory": {func(t *testing.T, dir string) {
			if err := syscall.Setxattr(filepath.Join(dir, "dir"), "user.mine", []byte("evil"), 0); err != nil && !errors.Is(err, syscall.ENOTSUP) {
				t.Fatal(err)
			}
		}, true},
		"a change through a mapping": {func(t *testing.T, dir string) { mapped(t, filepath.Join(dir, "dir", "b.txt")) }, false},
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
			if err := pool.Return(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			c = lend(second, "two")
			if tt.serves && inode(c.dir) != before {
				t.Error("dir/b.txt was written again")
			}
			if n, _ := syscall.Listxattr(filepath.Join(c.dir, "dir"), make([]byte, 100)); n > 0 && unlabelled(t, scratch) {
				t.Error("something hangs on dir")
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
	if err := pool.Return(t.Context(), c); err != nil {
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

// TestREAL04_AMappingThatLeavesNoTrace changes a file where the file system does not
// tell of it.
func TestREAL04_AMappingThatLeavesNoTrace(t *testing.T) {
	t.Parallel()
	scratch, err := os.MkdirTemp("/dev/shm", "loom-test-")
	if err != nil {
		scratch = t.TempDir() // no file system in memory: it has to hold on this one as well
	}
	t.Cleanup(func() { os.RemoveAll(scratch) })
	f := newFixture(t)
	f.data = filepath.Join(scratch, "data")
	f.open(f.top)
	pool := &Pool{Dir: filepath.Join(scratch, "pool")}
	c, err := pool.Checkout(t.Context(), f.ws, f.head("main"), filepath.Join(scratch, "one"))
	if err != nil {
		t.Fatal(err)
	}
	want, before := read(t, c.dir, "dir/b.txt"), c.seal.again(c.dir, false)
	mapped(t, filepath.Join(c.dir, "dir", "b.txt"))
	if now := c.seal.again(c.dir, false); now["dir/b.txt"] != before["dir/b.txt"] {
		t.Log("the file system tells of it")
	}
	if err := pool.Return(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if c, err = pool.Checkout(t.Context(), f.ws, f.head("main"), filepath.Join(scratch, "two")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, c.dir, "dir/b.txt"); got != want {
		t.Errorf("dir/b.txt is %q, want %q", got, want)
	}
}

// mapped changes the first byte of a file through a mapping that was read before.
func mapped(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	page, err := syscall.Mmap(int(f.Fd()), 0, 1, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	page[0]++
	if err := syscall.Munmap(page); err != nil {
		t.Fatal(err)
	}
}

// unlabelled says that the machine itself hangs nothing on a new directory.
func unlabelled(t *testing.T, scratch string) bool {
	t.Helper()
	mkdir(t, filepath.Join(scratch, "plain"))
	n, _ := syscall.Listxattr(filepath.Join(scratch, "plain"), make([]byte, 100))
	return n <= 0
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
