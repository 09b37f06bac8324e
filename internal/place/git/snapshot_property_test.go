package git

import (
	"crypto/sha1"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/longtest"
)

// snapEdits are what agents and their commands do to a work tree.
var snapEdits = map[string]func(t *testing.T, root, path string, n int){
	"writes": func(t *testing.T, root, path string, n int) { replace(t, root, path, fmt.Sprint("new ", n, "\n")) },
	"writes as much, and says it was long ago": func(t *testing.T, root, path string, n int) {
		at := filepath.Join(root, path)
		info, err := os.Lstat(at)
		if err != nil || !info.Mode().IsRegular() {
			return
		}
		data := []byte(strings.Repeat(string(rune('a'+n%26)), int(info.Size())))
		if err := os.WriteFile(at, data, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(at, info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
	},
	"touches": func(t *testing.T, root, path string, n int) {
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil && info.Mode().IsRegular() {
			when := time.Unix(1_000_000_000+int64(n), 0)
			if err := os.Chtimes(filepath.Join(root, path), when, when); err != nil {
				t.Fatal(err)
			}
		}
	},
	"changes the mode": func(t *testing.T, root, path string, _ int) {
		if info, err := os.Lstat(filepath.Join(root, path)); err == nil && info.Mode().IsRegular() {
			if err := os.Chmod(filepath.Join(root, path), info.Mode().Perm()^0o100); err != nil {
				t.Fatal(err)
			}
		}
	},
	"renames another to it": func(t *testing.T, root, path string, n int) {
		from := snapPaths[n%len(snapPaths)]
		if info, err := os.Lstat(filepath.Join(root, from)); err != nil || info.IsDir() || strings.HasPrefix(path, from+"/") {
			return
		}
		clearWay(t, root, path)
		remove(t, root, path)
		_ = os.Rename(filepath.Join(root, from), filepath.Join(root, path)) // gone when it lay below what was removed
	},
	"removes": func(t *testing.T, root, path string, _ int) { _ = os.RemoveAll(filepath.Join(root, path)) },
	"links": func(t *testing.T, root, path string, _ int) {
		clearWay(t, root, path)
		remove(t, root, path)
		link(t, "a.txt", filepath.Join(root, path))
	},
	"makes a directory": func(t *testing.T, root, path string, n int) { replace(t, root, path+"/inner", fmt.Sprint(n)) },
}

var snapPaths = []string{"a.txt", "dir/b.txt", "dir", "new", "new/deep/c.txt", "run.sh", "x y\n.txt"}

// replace writes a file, whatever stands there or in its way.
func replace(t *testing.T, root, path, content string) {
	t.Helper()
	clearWay(t, root, path)
	remove(t, root, path)
	write(t, root, path, content)
}

// clearWay removes what is no directory among the parents of a path, and makes them.
func clearWay(t *testing.T, root, path string) {
	t.Helper()
	for at := filepath.Dir(path); at != "."; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(root, at)); err == nil && !info.IsDir() {
			remove(t, root, at)
		}
	}
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o700); err != nil {
		t.Fatal(err)
	}
}

// readAll lists what stands in a work tree as git ls-tree -r would, and reads
// every file for it.
func readAll(t *testing.T, root string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || rel == ".git" {
			if rel == ".git" {
				return fs.SkipDir
			}
			return err
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode, data := "100644", []byte(nil)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			var to string
			to, err = os.Readlink(path)
			mode, data = "120000", []byte(to)
		case info.Mode()&0o100 != 0:
			mode = "100755"
			fallthrough
		default:
			data, err = os.ReadFile(path)
		}
		sum := sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", len(data)), data...))
		list = append(list, fmt.Sprintf("%s blob %x\t%s", mode, sum, filepath.ToSlash(rel)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	byPath := func(a, b string) int {
		_, x, _ := strings.Cut(a, "\t")
		_, y, _ := strings.Cut(b, "\t")
		return strings.Compare(x, y)
	}
	slices.SortFunc(list, byPath)
	return list
}

// TestREAL04_ASnapshotIsWhatEveryFileHolds compares the snapshot of a work tree,
// which reads what the index does not vouch for, with one that reads everything:
// after edits of all kinds, also in the second in which the index was written and
// with times set back.
func TestREAL04_ASnapshotIsWhatEveryFileHolds(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	few(t)
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		remove(t, f.top, ".gitignore")
		for _, path := range []string{"run.sh", "x y\n.txt", "dir/c.txt"} {
			f.write(path, "as it was\n")
		}
		f.user("add", "-A")
		f.user("commit", "-q", "-m", "more")
		w := f.workspace(1)
		for n := range rapid.IntRange(1, 3).Draw(rt, "rounds") {
			for i := range rapid.IntRange(0, 4).Draw(rt, "edits") {
				path := rapid.SampledFrom(snapPaths).Draw(rt, "path")
				pick(rt, "edit", snapEdits)(t, w.Path(), path, 10*n+i)
			}
			tree, err := w.snapshot(t.Context())
			if err != nil {
				rt.Fatal(err)
			}
			out, err := w.git().run(t.Context(), "ls-tree", "-r", "-z", "--full-tree", tree)
			if err != nil {
				rt.Fatal(err)
			}
			if got, want := splitNUL(out), readAll(t, w.Path()); !slices.Equal(got, want) {
				rt.Fatalf("the snapshot has\n%q\nand the files\n%q", got, want)
			}
		}
	})
}
