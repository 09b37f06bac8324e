package git

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var large = flag.String("large", "", "the `DIRECTORY` whose files BenchmarkREAL04_LargeTree works on; empty for those of Go")

// BenchmarkREAL04_LargeTree takes one change of one file the whole way in a
// repository of many files, with a binary of 50 MB that nobody touches, and says
// what each part takes. It writes to TMPDIR: what a disk adds is seen by giving
// another.
func BenchmarkREAL04_LargeTree(b *testing.B) {
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
	for n := 1; b.Loop(); n++ {
		timed := func(what string, do func()) {
			begun := time.Now()
			do()
			b.ReportMetric(time.Since(begun).Seconds(), what+"-s")
		}
		var w *Worktree
		timed("1-worktree", func() { w = f.workspace(n) })
		write(b, w.Path(), fmt.Sprintf("new-%d.txt", n), "loom\n")
		change, _, err := w.Change(b.Context())
		timed("2-change", func() { change, _, err = w.Change(b.Context()) })
		if err != nil {
			b.Fatal(err)
		}
		token := uint64(10 * n)
		timed("3-candidate", func() { f.candidate(n, token, change) })
		f.hook("pre-commit", "#!/bin/sh\nexit 0\n")
		timed("4-candidate-with-hook", func() {
			req := f.request(n, token+1, change)
			req.ref = "refs/loom/train/" + deployment + "/1" // made anew
			if _, err := f.repo.raise(b.Context(), deployment, token+1); err != nil {
				b.Fatal(err)
			}
			s := f.com.newStage(req, w.Base(), change.GetTree())
			if err := s.open(b.Context(), bead(n)); err != nil {
				b.Fatal(err)
			}
			s.close(b.Context())
		})
		if err := os.Remove(filepath.Join(f.top, ".git", "hooks", "pre-commit")); err != nil {
			b.Fatal(err)
		}
		dir := filepath.Join(b.TempDir(), fmt.Sprint("look-", n))
		timed("5-checkout", func() {
			if err := f.ws.Checkout(b.Context(), w.Base(), dir); err != nil {
				b.Fatal(err)
			}
		})
		b.ReportMetric(float64(sizeOf(f.data))/(1<<20), "disk-during-MiB")
		timed("6-remove", func() {
			if err := f.ws.Remove(b.Context(), execution(n)); err != nil {
				b.Fatal(err)
			}
		})
		b.ReportMetric(float64(sizeOf(f.data))/(1<<20), "disk-after-MiB")
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
