package projection_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/projection"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// baseOf is what the first batches of a journal fold to.
func baseOf(t *testing.T, j journal, at int) *loomv1.JournalBase {
	t.Helper()
	db := open(t, filepath.Join(t.TempDir(), "base.db"))
	apply(t, db, j, 0, at)
	tables, err := db.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &loomv1.JournalBase{Partition: j[0].Partition, Epoch: 1, Sequence: uint64(at), Hash: j[at-1].Hash, Tables: tables}
}

// rows closes tables and prints their file, with their counts.
func rows(t *testing.T, db *projection.DB, path string) string {
	t.Helper()
	tallies := fmt.Sprintln(db.Tallies())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return tallies + dump(t, path)
}

// Tables that begin with a base are those that had every batch, beside those of
// another partition.
func TestWF11_OPS03_ABaseStandsForWhatWasCut(t *testing.T) {
	longtest.Skip(t)
	for seed := range uint64(3) {
		other := newPlayer(t, source(t, seed+50), "attic")
		other.wander(40)
		here, there := play(t, seed, 80).journal(0), other.journal(1)
		path := filepath.Join(t.TempDir(), "all.db")
		all := open(t, path)
		apply(t, all, here, 0, len(here))
		apply(t, all, there, 0, len(there))
		want, at := rows(t, all, path), len(here)/2

		path = filepath.Join(t.TempDir(), "cut.db")
		cut, base := open(t, path), baseOf(t, here, at)
		apply(t, cut, there, 0, len(there))
		if err := cut.Adopt(t.Context(), base); err != nil {
			t.Fatal(err)
		}
		if err := cut.Adopt(t.Context(), base); fault.Code(err) != "projection/diverged" {
			t.Errorf("adopted again: %v", err)
		}
		apply(t, cut, here, at, len(here))
		if diff := cmp.Diff(want, rows(t, cut, path)); diff != "" {
			t.Fatalf("seed %d: tables from a base (-all +base):\n%s", seed, diff)
		}
	}
}

// Who was away while a journal was cut begins with its base.
func TestWF11_OPS03_WhoWasAwayBeginsWithTheBase(t *testing.T) {
	j := play(t, 7, 60).journal(0)
	at, path := len(j)/2, filepath.Join(t.TempDir(), "all.db")
	all := open(t, path)
	apply(t, all, j, 0, len(j))
	want, base := rows(t, all, path), baseOf(t, j, at)

	path = filepath.Join(t.TempDir(), "away.db")
	away := open(t, path)
	apply(t, away, j, 0, 3)
	away.SetBases(func(_ context.Context, _ int, sequence uint64) (*loomv1.JournalBase, error) {
		if sequence > base.Sequence {
			return nil, nil
		}
		return base, nil
	})
	l, done := newTape(), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- away.Follow(ctx, l) }()
	if from := <-l.from; from != uint64(at)+1 {
		t.Fatalf("it follows from %d, want %d", from, at+1)
	}
	for _, b := range j[at:] {
		l.batches <- b
	}
	if err := away.WaitFor(ctx, 0, uint64(len(j))); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	if diff := cmp.Diff(want, rows(t, away, path)); diff != "" {
		t.Errorf("tables from a base (-all +base):\n%s", diff)
	}
}
