package damage

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/ops/vault"
)

// TestP7_OPS03_ARestoredHostBeginsAtItsSnapshots has a host work in an epoch
// above that of the batches which follow its snapshots, twice: what it knew is
// there, and it takes new work.
func TestP7_OPS03_ARestoredHostBeginsAtItsSnapshots(t *testing.T) {
	w := newWorld(t)
	for _, goal := range []string{"third", "fourth"} {
		knew := w.beads
		w.config.Data, w.config.Projects = restored(t, w.config.Data), nil
		w.work(t, goal, filepath.Join(t.TempDir(), "copy"))
		for _, b := range knew {
			if !slices.Contains(w.beads, b) {
				t.Errorf("after the restore %q is not among %q", b, w.beads)
			}
		}
	}
	if report := verify(t, w.config.Data); !report.Sound || report.Epoch != 3 {
		t.Errorf("it is in epoch %d: %v", report.Epoch, report.Err())
	}
}

// restored returns a directory that a backup of another was restored into.
func restored(t *testing.T, path string) string {
	t.Helper()
	s, err := vault.OpenBeside(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	from, to := filepath.Join(t.TempDir(), "backup.loom"), filepath.Join(t.TempDir(), "data")
	if _, err := s.Backup(t.Context(), from, false, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if _, err := (vault.Restoring{From: from, To: to}).Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return to
}
