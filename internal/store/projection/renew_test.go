package projection_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	ledger "github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// shelved is a log that has all its batches and no more.
type shelved struct {
	ledger.Log // the rest is not called
	partition  int
	batches    journal
}

func (l *shelved) Partition() int { return l.partition }

func (l *shelved) Follow(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	for i, b := range l.batches {
		if uint64(i+1) < from {
			continue
		}
		if err := fn(uint64(i+1), b); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

// TestWF11_FilesDeletedUnderARunningProjection deletes or replaces files of a
// projection that is followed: it is said, and they are made again, whole.
func TestWF11_FilesDeletedUnderARunningProjection(t *testing.T) {
	longtest.Skip(t)
	js := journals(source(t, 32), 6)[:2]
	want := dump(t, filled(t, js))
	for _, tt := range []struct {
		name  string
		wreck func(path string) error // at one stroke: it may be seen between two
	}{
		{"the database", os.Remove},
		{"its log", func(path string) error { return os.Remove(path + "-wal") }},
		{"its index", func(path string) error { return os.Remove(path + "-shm") }},
		{"another in its place", func(path string) error { return os.Rename(path+".other", path) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "loom.db")
			db := open(t, path)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan error, 10)
			follow := func(p int) { ended <- db.Follow(ctx, &shelved{partition: p, batches: js[p]}) }
			for p := range js {
				go follow(p)
				await(t, db, p, len(js[p]))
			}
			spoil(t, path+".other", 0, "somebody else's")
			if err := tt.wreck(path); err != nil {
				t.Fatal(err)
			}
			for range js {
				if err := <-ended; fault.Code(err) != "projection/gone" && fault.Code(err) != "projection/gap" {
					t.Errorf("Follow ended with %v", err)
				}
			}
			if n := db.Applied(0) + db.Applied(1); n != 0 {
				t.Errorf("%d batches are applied in new files", n)
			}
			for p := range js {
				go follow(p)
				await(t, db, p, len(js[p]))
			}
			stop()
			for range js {
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Errorf("Follow ended with %v", err)
				}
			}
			db.Close()
			if diff := cmp.Diff(want, dump(t, path)); diff != "" {
				t.Errorf("tables after they were made again (-want +got):\n%s", diff)
			}
		})
	}
}

// await waits until so much of a partition is applied.
func await(t *testing.T, db *projection.DB, partition, n int) {
	t.Helper()
	if err := db.WaitFor(t.Context(), partition, uint64(n)); err != nil {
		t.Fatal(err)
	}
}
