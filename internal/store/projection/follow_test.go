package projection_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	ledger "github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// tape is a log that hands out batches as a test lets it.
type tape struct {
	ledger.Log // the rest is not called
	from       chan uint64
	batches    chan *loomv1.Batch
	skip       uint64 // a sequence that it leaves out
	end        error
}

func (l *tape) Partition() int { return 0 }

func (l *tape) Follow(ctx context.Context, from uint64, fn func(uint64, *loomv1.Batch) error) error {
	l.from <- from
	for sequence := from; ; sequence++ {
		select {
		case b, ok := <-l.batches:
			if !ok {
				return l.end
			}
			if sequence == l.skip {
				continue
			}
			if err := fn(sequence, b); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func newTape() *tape {
	return &tape{from: make(chan uint64, 1), batches: make(chan *loomv1.Batch), end: errors.New("the tape is torn")}
}

// Batches wait for each other, but not when somebody waits for them.
func TestWF11_FollowGathersBatches(t *testing.T) {
	js := journals(source(t, 30), 2)
	want := dump(t, filled(t, js[:1]))
	path := filepath.Join(t.TempDir(), "loom.db")
	synctest.Test(t, func(t *testing.T) {
		db := open(t, path)
		ctx, stop := context.WithCancel(t.Context())
		l, done := newTape(), make(chan error, 1)
		go func() { done <- db.Follow(ctx, l) }()
		if from := <-l.from; from != 1 {
			t.Errorf("followed from %d, want 1", from)
		}
		l.batches <- js[0][0]
		synctest.Wait()
		if n := db.Applied(0); n != 1 {
			t.Errorf("applied %d of the first batch, want it at once", n)
		}
		l.batches <- js[0][1]
		l.batches <- js[0][2]
		synctest.Wait()
		if n := db.Applied(0); n != 1 {
			t.Errorf("applied %d a moment later, want 1: the others wait for company", n)
		}
		if err := db.WaitFor(ctx, 0, 3); err != nil || db.Applied(0) != 3 {
			t.Errorf("WaitFor = %v with %d applied", err, db.Applied(0))
		}
		l.batches <- js[0][3]
		<-time.After(time.Second) // of the bubble's own time
		if n := db.Applied(0); n != 4 {
			t.Errorf("applied %d after a second, want 4", n)
		}
		waited := make(chan error, 1)
		go func() { waited <- db.WaitFor(ctx, 0, 5) }()
		synctest.Wait()
		l.batches <- js[0][4]
		synctest.Wait()
		select {
		case err := <-waited:
			if err != nil {
				t.Errorf("WaitFor what was to come = %v", err)
			}
		default:
			t.Error("somebody waits for a batch that is there")
		}
		for _, b := range js[0][5:] {
			l.batches <- b
		}
		synctest.Wait()
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Follow ended with %v", err)
		}
		if err := db.Failed(0); err != nil {
			t.Errorf("Failed after a stop = %v", err)
		}
		db.Close()
	})
	if diff := cmp.Diff(want, dump(t, path)); diff != "" {
		t.Errorf("tables after following (-in one go +so):\n%s", diff)
	}
}

func TestWF11_FollowGoesOnWhereItStopped(t *testing.T) {
	js := journals(source(t, 31), 1)
	db := open(t, filepath.Join(t.TempDir(), "loom.db"))
	for _, tt := range []struct {
		name     string
		from, to int // batches that the tape has
		skip     uint64
		want     string
		applied  uint64
	}{
		{"the reader ends", 0, 3, 0, "", 3},
		{"a hole", 3, 6, 5, "projection/gap", 4},
		{"and on", 4, 7, 0, "", 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, done := newTape(), make(chan error, 1)
			l.skip = tt.skip
			go func() { done <- db.Follow(t.Context(), l) }()
			if from := <-l.from; from != uint64(tt.from+1) {
				t.Errorf("followed from %d, want %d", from, tt.from+1)
			}
			go func() {
				defer close(l.batches)
				for _, b := range js[0][tt.from:tt.to] {
					l.batches <- b
				}
			}()
			err := <-done
			if fault.Code(err) != tt.want || tt.want == "" && !errors.Is(err, l.end) {
				t.Errorf("Follow = %v, want %q or the reader's own", err, tt.want)
			}
			if n := db.Applied(0); n != tt.applied || db.Failed(0) == nil {
				t.Errorf("applied %d, failed with %v; want %d and why", n, db.Failed(0), tt.applied)
			}
		})
	}
	apply(t, db, js[0], 7, 8)
	if err := db.Failed(0); err != nil {
		t.Errorf("Failed after a batch was applied = %v", err)
	}
}
