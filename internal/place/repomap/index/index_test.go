package index_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loomrun/loom/internal/place/repomap"
	"github.com/loomrun/loom/internal/place/repomap/index"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sources writes n Go files, each of which declares a name of its own.
func sources(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		write(t, dir, fmt.Sprintf("p%d/f.go", i), fmt.Sprintf("package p\nfunc F%d() {}\n", i))
	}
}

func files(t *testing.T, x *index.Index, project, dir string, listed ...index.Entry) ([]repomap.File, index.Report) {
	t.Helper()
	list, r, err := x.Files(t.Context(), project, dir, listed)
	if err != nil {
		t.Fatal(err)
	}
	return list, r
}

// symbols of a file, as names.
func symbols(list []repomap.File, path string) string {
	var names []string
	for _, f := range list {
		if f.Path == path {
			for _, s := range f.Outline.Symbols {
				names = append(names, s.Name)
			}
		}
	}
	return strings.Join(names, " ")
}

// A change costs the file that it changed, whichever process and worktree asks.
func TestREPO01_AChangeCostsWhatItChanged(t *testing.T) {
	kept, one, two := t.TempDir(), t.TempDir(), t.TempDir()
	sources(t, one, 20)
	sources(t, two, 20)
	write(t, two, "p3/f.go", "package p\nfunc Other() {}\n")
	for _, tt := range []struct {
		why, project, dir string
		outlined          int
	}{
		{"the first map", "shop", one, 20},
		{"the same again", "shop", one, 0},
		{"another worktree with a change", "shop", two, 1},
		{"the first one again", "shop", one, 0},
		{"another project", "till", one, 20},
	} {
		list, r := files(t, index.New(kept), tt.project, tt.dir)
		if r.Outlined != tt.outlined || r.Files != 20 {
			t.Errorf("%s: %+v, want %d outlined of 20", tt.why, r, tt.outlined)
		}
		if got := symbols(list, "p7/f.go"); got != "F7" {
			t.Errorf("%s: p7/f.go declares %q, want F7", tt.why, got)
		}
		fresh, _ := files(t, nil, tt.project, tt.dir)
		if diff := cmp.Diff(fresh, list, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: what is kept is not what is there (-there +kept):\n%s", tt.why, diff)
		}
	}
}

// Where git knows the content, it is not even read; a lie about it deceives
// nobody else.
func TestREPO01_AFalseIDPoisonsNothing(t *testing.T) {
	kept, honest, liar := t.TempDir(), t.TempDir(), t.TempDir()
	const id = "fd07379e59a64c6bcb4f63d5c2e5b1f34a4a4bd8" // made up
	write(t, honest, "a.go", "package a\nfunc True() {}\n")
	write(t, liar, "a.go", "package a\nfunc False() {}\n")
	x := index.New(kept)
	list, r := files(t, x, "shop", liar, index.Entry{Path: "a.go", ID: id})
	if got := symbols(list, "a.go"); got != "False" || r.Read != 1 {
		t.Errorf("of a file with an unknown id: %q, %+v; want it read", got, r)
	}
	if list, r = files(t, x, "shop", honest, index.Entry{Path: "a.go", ID: id}); symbols(list, "a.go") != "True" || r.Outlined != 1 {
		t.Errorf("of another file said to have that id: %q, %+v; want True, outlined", symbols(list, "a.go"), r)
	}
	const real = "db778da2441b992a2942d8b23c2fe3e59818e17d" // of git hash-object
	if list, r = files(t, x, "shop", honest, index.Entry{Path: "a.go", ID: real}); symbols(list, "a.go") != "True" || r.Read != 0 {
		t.Errorf("of a file with its id: %q, %+v; want True, not read", symbols(list, "a.go"), r)
	}
}

// Whatever happens to the file of outlines, the map is right, and the file is
// sound again afterwards.
func TestREPO01_DamageIsMended(t *testing.T) {
	longtest.Skip(t)
	dir := t.TempDir()
	sources(t, dir, 8)
	want, _ := files(t, nil, "shop", dir)
	kept := t.TempDir()
	files(t, index.New(kept), "shop", dir)
	path := filepath.Join(kept, "shop.outlines")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(why string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, r := files(t, index.New(kept), "shop", dir)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: (-want +got):\n%s", why, diff)
		}
		if _, again := files(t, index.New(kept), "shop", dir); again.Outlined != 0 {
			t.Fatalf("%s: outlined %d, and the next time %d", why, r.Outlined, again.Outlined)
		}
	}
	for at := 0; at < len(whole); at += 7 {
		flipped := append([]byte(nil), whole...)
		flipped[at] ^= 0x55
		check(fmt.Sprintf("byte %d is another", at), flipped)
		check(fmt.Sprintf("cut after %d bytes", at), whole[:at])
	}
	check("of another version", append([]byte("loom outlines 0\n"), whole[16:]...))
	check("a larger file", append(append([]byte(nil), whole...), make([]byte, 65<<20)...))
}

// What no file is, is left out, and nothing is waited for.
func TestREPO01_OnlyPlainFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.go", "package a\nfunc A() {}\n")
	write(t, dir, "node_modules/m/i.js", "function no() {}")
	write(t, dir, ".git/config.py", "def no(): pass")
	write(t, dir, "large.go", "package a\n//"+strings.Repeat("x", repomap.MaxSource))
	outside := filepath.Join(t.TempDir(), "secret.go")
	write(t, filepath.Dir(outside), "secret.go", "package a\nfunc Secret() {}\n")
	if err := os.Symlink(outside, filepath.Join(dir, "link.go")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.go"), 0o600); err != nil {
		t.Fatal(err)
	}
	list, _ := files(t, nil, "shop", dir)
	if len(list) != 2 || symbols(list, "a.go") != "A" || symbols(list, "large.go") != "" {
		t.Errorf("found %v, want a.go and large.go", list)
	}
	list, _ = files(t, nil, "shop", dir, index.Entry{Path: "link.go"}, index.Entry{Path: "pipe.go"}, index.Entry{Path: "../secret.go"}, index.Entry{Path: "gone.go"})
	for _, f := range list {
		if len(f.Outline.Symbols) > 0 {
			t.Errorf("%s was read: %v", f.Path, f.Outline.Symbols)
		}
	}
}

func TestREPO01_ManyMapsAtOnce(t *testing.T) {
	dir := t.TempDir()
	sources(t, dir, 30)
	x := index.New(t.TempDir())
	var all sync.WaitGroup
	var mu sync.Mutex
	outlined := 0
	for i := range 8 {
		all.Go(func() {
			list, r, err := x.Files(t.Context(), fmt.Sprintf("p%d", i%2), dir, nil)
			if err != nil || len(list) != 30 || symbols(list, "p9/f.go") != "F9" {
				t.Errorf("%d files, %v", len(list), err)
			}
			mu.Lock()
			outlined += r.Outlined
			mu.Unlock()
		})
	}
	all.Wait()
	if outlined != 60 {
		t.Errorf("%d outlined by eight maps of two projects with 30 files, want 60", outlined)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, _, err := x.Files(ended, "p0", dir, nil); err == nil {
		t.Errorf("no error after the context has ended")
	}
}
