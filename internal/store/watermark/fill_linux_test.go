package watermark_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/watermark"
)

// TestP24_ARealDiskIsSeenToFill fills a small one. Where none can be mounted,
// the real system is asked about the one there is, and the test says so.
func TestP24_ARealDiskIsSeenToFill(t *testing.T) {
	dir := t.TempDir()
	if unix.Mount("none", dir, "tmpfs", 0, "size=16m") != nil {
		t.Log("NOT TESTED HERE: a disk that really fills; mounting a small one is not permitted")
		if w := watermark.Open(watermark.Config{Path: dir, Bytes: 1}); w.Admit() != nil {
			t.Errorf("less than a byte is free: %v", w.Admit())
		} else {
			w.Close()
		}
		return
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, 0) })
	ticks := make(chan time.Time)
	w := watermark.Open(watermark.Config{Path: dir, Ticks: ticks})
	defer w.Close()
	look := func() error { ticks <- time.Time{}; ticks <- time.Time{}; return w.Admit() }
	if err := look(); err != nil {
		t.Fatalf("an empty disk: %v", err)
	}
	name := filepath.Join(dir, "much")
	if err := os.WriteFile(name, make([]byte, 15*mib), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := look(); fault.Code(err) != "data/disk-full" || !strings.Contains(err.Error(), "KiB free") {
		t.Errorf("1 MiB of 16 left: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := look(); err != nil {
		t.Errorf("empty again: %v", err)
	}
}
