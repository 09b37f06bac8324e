package git

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/discard"
)

var large = flag.String("large", "", "the `DIRECTORY` whose files BenchmarkREAL04_LargeTree works on; empty for those of Go")

// newLarge is a repository with the files of -large and a binary of 50 MB.
func newLarge(b *testing.B) *fixture {
	b.Helper()
	f := &fixture{t: b, top: filepath.Join(b.TempDir(), "repo"), data: b.TempDir()}
	from := *large
	if from == "" {
		root, err := exec.CommandContext(b.Context(), "go", "env", "GOROOT").Output()
		if err != nil {
			b.Fatal(err)
		}
		from = strings.TrimSpace(string(root))
	}
	if err := os.CopyFS(f.top, os.DirFS(from)); err != nil {
		b.Fatal(err)
	}
	gitIn(b, f.top, "init", "-q", "-b", "main")
	noise := make([]byte, 50<<20)
	for i, r := 0, rand.NewChaCha8([32]byte{}); i < len(noise); i += 8 {
		for j, v := 0, r.Uint64(); j < 8; j, v = j+1, v>>8 {
			noise[i+j] = byte(v)
		}
	}
	f.write("large.bin", string(noise))
	f.user("add", "-A", "-f")
	f.user("commit", "-q", "-m", "all")
	f.user("repack", "-q", "-a", "-d")
	f.open(f.top)
	b.Logf("%d files", bytes.Count([]byte(f.user("ls-files")), []byte("\n"))+1)
	return f
}

// BenchmarkREAL04_LargeTree takes one change of one file the whole way in a
// repository of many files, with a binary of 50 MB that nobody touches, and says
// what each part takes. It writes to TMPDIR: what a disk adds is seen by giving
// another.
func BenchmarkREAL04_LargeTree(b *testing.B) {
	f := newLarge(b)
	pool := &Pool{Dir: filepath.Join(f.data, "pool")}
	whole := f.ws
	for n := 1; b.Loop(); n++ {
		timed := func(what string, do func()) {
			begun := time.Now()
			do()
			b.ReportMetric(time.Since(begun).Seconds(), what+"-s")
		}
		must := func(err error) {
			if err != nil {
				b.Fatal(err)
			}
		}
		f.ws = whole
		timed("1-worktree-whole", func() { f.workspace(3*n - 2) })
		f.ws = whole.Pooled(pool)
		f.workspace(3*n - 1) // the first is written whole, and comes back
		must(f.ws.Remove(b.Context(), execution(3*n-1), nil))
		var w *Worktree
		timed("1-worktree", func() { w = f.workspace(3 * n) })
		write(b, w.Path(), fmt.Sprintf("new-%d.txt", n), "loom\n")
		write(b, w.Path(), "src/net/http/server.go", "changed\n")
		change, _, err := w.Change(b.Context())
		timed("2-change", func() { change, _, err = w.Change(b.Context()) })
		must(err)
		token := uint64(10 * n)
		timed("3-candidate", func() { f.candidate(3*n, token, change) })
		f.hook("pre-commit", "#!/bin/sh\nexit 0\n")
		_, err = f.repo.raise(b.Context(), deployment, token+1)
		must(err)
		stage := func(p *Pool) {
			req := f.request(3*n, token+1, change)
			req.ref = "refs/loom/train/" + deployment + "/1" // made anew
			req.Hooks.Trees, req.Hooks.Contain = p, func(context.Context, string, []string, []string, []string) (*exec.Cmd, error) {
				return nil, exec.ErrNotFound
			}
			s := f.com.newStage(req, w.Base(), change.GetTree())
			must(s.open(b.Context(), bead(3*n)))
			s.close(b.Context())
		}
		timed("4-stage-whole", func() { stage(nil) })
		done, err := pool.Reserve(b.Context(), f.ws)
		must(err)
		timed("4-stage", func() { stage(pool) })
		done()
		must(os.Remove(filepath.Join(f.top, ".git", "hooks", "pre-commit")))
		dir := filepath.Join(b.TempDir(), fmt.Sprint("look-", n))
		timed("5-checkout-whole", func() { must(f.ws.Checkout(b.Context(), w.Base(), dir)) })
		var look *Clean
		timed("5-checkout", func() { look, err = pool.Checkout(b.Context(), f.ws, w.Base(), filepath.Join(f.data, "look")) })
		must(err)
		timed("5-give-back", func() { must(pool.Return(b.Context(), look)) })
		b.ReportMetric(float64(sizeOf(f.data))/(1<<20), "disk-during-MiB")
		timed("6-remove", func() { must(f.ws.Remove(b.Context(), execution(3*n), nil)) })
		timed("6-remove-whole", func() { must(whole.Remove(b.Context(), execution(3*n-2), nil)) })
		b.ReportMetric(float64(sizeOf(f.data))/(1<<20), "disk-after-MiB")
		_, err = pool.Trim("p", true)
		must(err)
		b.ReportMetric(float64(sizeOf(f.data))/(1<<20), "disk-idle-MiB")
	}
}

// BenchmarkREAL04_SparseTree makes worktrees and clean checkouts of that repository,
// whole ones and ones of two directories of it, and says what they take and how much
// each has. None of them is made of an earlier one.
func BenchmarkREAL04_SparseTree(b *testing.B) {
	f := newLarge(b)
	for name, cone := range map[string]Cone{"whole": {}, "sparse": NewCone([]string{"src/cmd/go", "src/net"})} {
		b.Run(name, func(b *testing.B) {
			ws := f.ws.Sparse(cone)
			for n := 1; b.Loop(); n++ {
				w, err := ws.Open(b.Context(), execution(n), bead(n))
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(sizeOf(w.Path()))/(1<<20), "MiB")
				b.ReportMetric(float64(countOf(w.Path())), "files")
				begun := time.Now()
				if _, _, err := w.Change(b.Context()); err == nil {
					b.Fatal("an untouched worktree has a change")
				}
				b.ReportMetric(time.Since(begun).Seconds(), "look-for-change-s")
				dir := filepath.Join(b.TempDir(), fmt.Sprint(n))
				begun = time.Now()
				if err := ws.Checkout(b.Context(), w.Base(), dir); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(time.Since(begun).Seconds(), "checkout-s")
				if err := errors.Join(ws.Remove(b.Context(), execution(n), nil), discard.All(dir)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func sizeOf(root string) (n int64) {
	_ = filepath.Walk(root, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

func countOf(root string) (n int) {
	_ = filepath.Walk(root, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n++
		}
		return nil
	})
	return n
}
