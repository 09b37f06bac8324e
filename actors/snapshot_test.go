package actors

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// saves is a store of snapshots that refuses those of one project.
type saves struct {
	journal.Snapshots
	refuse string
}

func (s saves) Save(ctx context.Context, snap *loomv1.Snapshot) (*loomv1.SnapshotRef, error) {
	if snap.State.GetConfig().GetId() == s.refuse {
		return nil, fmt.Errorf("disk full")
	}
	return s.Snapshots.Save(ctx, snap)
}

func newTestSnapshotter(store journal.Snapshots) *snapshotter {
	p := testPartition(journal.NewMemory(0), store, 1)
	return p.newSnapshotter(&recovery{index: &loomv1.SnapshotIndex{Projects: map[string]*loomv1.SnapshotRef{}}, since: map[string]uint64{}})
}

// captureOf is a snapshot that has nothing but its project's id.
func captureOf(id string) *project.Capture {
	s, err := project.Restore(project.Config{ID: id}, &loomv1.ProjectState{Config: &loomv1.ProjectConfig{Id: id}})
	if err != nil {
		panic(err)
	}
	return s.Capture()
}

// testPartition is one that reads and keeps, and has no actors.
func testPartition(log journal.Log, store journal.Snapshots, epoch uint64) *partition {
	return &partition{
		Partition: Partition{Log: log, Snapshots: store, Epoch: epoch, Logger: slog.New(slog.DiscardHandler), addresses: &addresses{}},
		segments:  journal.NewSegments(context.Background(), store),
	}
}

func at(seq uint64) journal.Head {
	return journal.Head{Sequence: seq, Epoch: 1, Hash: []byte{byte(seq)}}
}

// The floor, below which no recovery reads, never passes an event that no kept
// snapshot has.
func TestWF10_TheFloorPassesNoEventThatIsNotKept(t *testing.T) {
	for _, tt := range []struct {
		name   string
		refuse string
		do     func(s *snapshotter)
		floor  uint64
	}{
		{"the first snapshot of a partition", "", func(s *snapshotter) {
			s.touched("a", at(1))
			s.save("a", at(1), captureOf("a"))
		}, 1},
		{"another project has events that are not saved", "", func(s *snapshotter) {
			s.touched("a", at(1))
			s.touched("b", at(2))
			s.save("b", at(2), captureOf("b"))
		}, 0},
		{"another project's events are in the same batch", "", func(s *snapshotter) {
			s.touched("a", at(1))
			s.touched("b", at(1))
			s.save("a", at(1), captureOf("a"))
		}, 0},
		{"another project could not be saved", "a", func(s *snapshotter) {
			s.touched("a", at(1))
			s.save("a", at(1), captureOf("a"))
			s.touched("b", at(2))
			s.save("b", at(2), captureOf("b"))
		}, 0},
		{"an event came while the snapshot was on its way", "", func(s *snapshotter) {
			s.touched("a", at(1))
			s.save("a", at(1), captureOf("a"))
			s.touched("a", at(2))
			s.touched("b", at(3))
			s.save("b", at(3), captureOf("b"))
		}, 1},
		{"an event is acknowledged before an earlier snapshot is asked for", "", func(s *snapshotter) {
			s.touched("a", at(1))
			s.touched("a", at(2))
			s.save("a", at(1), captureOf("a"))
			s.touched("b", at(3))
			s.save("b", at(3), captureOf("b"))
		}, 1},
		{"all are saved", "", func(s *snapshotter) {
			s.touched("a", at(1))
			s.touched("b", at(2))
			s.save("a", at(2), captureOf("a"))
			s.save("b", at(2), captureOf("b"))
		}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := saves{journal.NewMemorySnapshots(), tt.refuse}
				s := newTestSnapshotter(store)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tt.do(s)
				go s.run(ctx)
				synctest.Wait()
				index, err := store.Index(ctx, 0)
				if err != nil {
					t.Fatal(err)
				}
				if index.GetFloor() != tt.floor {
					t.Errorf("floor %d, want %d", index.GetFloor(), tt.floor)
				}
			})
		})
	}
}
