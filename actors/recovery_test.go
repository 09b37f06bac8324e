package actors

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// scribe writes a journal as a keeper would, with the real cores, and saves
// snapshots as a partition would.
type scribe struct {
	log    *journal.Memory
	head   journal.Head
	states map[string]*project.State
	snaps  *snapshotter
	reader *partition // of what the scribe has written
	before journal.Head
	now    time.Time
	epoch  uint64
	n      int
}

func newScribe(store journal.Snapshots) *scribe {
	s := &scribe{
		log: journal.NewMemory(0), states: map[string]*project.State{}, snaps: newTestSnapshotter(store), epoch: 1,
		now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC),
	}
	s.reader = testPartition(s.log, store, 1)
	return s
}

// write appends what a project decides next.
func (s *scribe) write(t interface{ Fatal(...any) }, id string) {
	st := s.states[id]
	if st == nil {
		st = project.New(project.Config{ID: id, Epoch: 1})
		s.states[id] = st
	}
	s.n++
	cmd := &loomv1.Command{Project: id, Body: &loomv1.Command_RegisterProject{RegisterProject: &loomv1.RegisterProject{
		Config: &loomv1.ProjectConfig{Id: id, Repository: "/src", TargetBranch: fmt.Sprint("b", s.n)},
	}}}
	events, _, err := st.Do(s.now, cmd)
	if err != nil {
		t.Fatal(err)
	}
	b := journal.Seal(s.head, 0, s.epoch, "h.1", fmt.Sprint("b", s.n), events)
	seq, err := s.log.Append(context.Background(), s.head.Sequence, b)
	if err != nil {
		t.Fatal(err)
	}
	s.before, s.head = s.head, journal.Head{Sequence: seq, Epoch: s.epoch, Hash: b.Hash}
	s.snaps.touched(id, s.head)
}

// recover replays the journal with whatever the store has.
func (s *scribe) recover(t interface{ Fatal(...any) }, store journal.Snapshots) *recovery {
	p := testPartition(s.log, store, s.epoch)
	r, err := p.replay(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestP21_SnapshotsNeverChangeWhatIsRecovered saves, fails to save, dies
// between a snapshot and its index, is restored into a newer epoch, and
// recovers: always to the same states.
func TestP21_SnapshotsNeverChangeWhatIsRecovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := &saves{Snapshots: journal.NewMemorySnapshots()}
		s := newScribe(store)
		ids := []string{"a", "b", "c"}
		for range rapid.IntRange(5, 40).Draw(t, "steps") {
			id := rapid.SampledFrom(ids).Draw(t, "project")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1, 2:
				s.write(t, id)
			case 3:
				if s.states[id] != nil {
					// The capture may have events of the batch after.
					s.snaps.save(id, rapid.SampledFrom([]journal.Head{s.before, s.head}).Draw(t, "as of"), s.states[id].Capture())
				}
			case 4:
				store.refuse = rapid.SampledFrom(append(ids, "")).Draw(t, "refused")
				s.snaps.drain(rapid.IntRange(1, 3).Draw(t, "writes"))
			case 5:
				s.epoch++
			}
			full := s.recover(t, journal.NewMemorySnapshots())
			r := s.recover(t, store)
			for id, st := range s.states {
				for how, got := range map[string]*recovery{"from the beginning": full, "with snapshots": r} {
					if got.states[id] == nil || got.states[id].Hash() != st.Hash() {
						t.Fatalf("%s is recovered %s (floor %d of %d) to another state; %v", id, how, r.index.Floor, s.head.Sequence, got.quarantined)
					}
				}
			}
		}
	})
}

// TestP21_RecoveryBeginsAtASnapshot has every project saved, and more written: what
// the random histories above come to only as luck has it.
func TestP21_RecoveryBeginsAtASnapshot(t *testing.T) {
	store := &saves{Snapshots: journal.NewMemorySnapshots()}
	s := newScribe(store)
	for _, id := range []string{"a", "b"} {
		s.write(t, id)
		s.snaps.save(id, s.head, s.states[id].Capture())
	}
	s.snaps.drain(10)
	s.write(t, "b")
	r := s.recover(t, store)
	if r.index.Floor == 0 {
		t.Error("the recovery began at the first event")
	}
	for id, st := range s.states {
		if r.states[id] == nil || r.states[id].Hash() != st.Hash() {
			t.Errorf("%s is recovered to another state; %v", id, r.quarantined)
		}
	}
}

// drain writes some of the snapshots that wait, as run does; the rest is lost,
// as with a host that dies.
func (s *snapshotter) drain(most int) {
	for id, c := range s.pending {
		if most--; most < 0 {
			s.failed(id, c.head.Sequence)
			delete(s.pending, id)
			continue
		}
		delete(s.pending, id)
		_ = s.write(context.Background(), id, c)
	}
}

func TestP21_UnusableSnapshotsCostNoState(t *testing.T) {
	for name, spoil := range map[string]func(*journal.MemorySnapshots, *loomv1.SnapshotIndex){
		"all lost":           func(m *journal.MemorySnapshots, _ *loomv1.SnapshotIndex) { m.Lose() },
		"another journal's":  func(_ *journal.MemorySnapshots, i *loomv1.SnapshotIndex) { i.FloorHash = []byte("x") },
		"one is not there":   func(_ *journal.MemorySnapshots, i *loomv1.SnapshotIndex) { i.Projects["a"].Object = "nowhere" },
		"past the end":       func(_ *journal.MemorySnapshots, i *loomv1.SnapshotIndex) { i.Floor = 99 },
		"nothing is spoiled": func(*journal.MemorySnapshots, *loomv1.SnapshotIndex) {},
	} {
		t.Run(name, func(t *testing.T) {
			store := journal.NewMemorySnapshots()
			s := newScribe(store)
			for range 5 {
				s.write(t, "a")
			}
			s.snaps.save("a", s.head, s.states["a"].Capture())
			s.snaps.drain(1)
			s.write(t, "a")
			index, err := store.Index(t.Context(), 0)
			if err != nil || index.GetFloor() != 5 {
				t.Fatalf("index %v, %v; want floor 5", index, err)
			}
			spoil(store, index)
			if name != "all lost" {
				if err := store.SaveIndex(t.Context(), index); err != nil {
					t.Fatal(err)
				}
			}
			r := s.recover(t, store)
			if r.states["a"].Hash() != s.states["a"].Hash() || r.head.Sequence != 6 {
				t.Errorf("recovered to event %d at %d, want 6", r.states["a"].Number(), r.head.Sequence)
			}
			if from := len(r.since); name == "nothing is spoiled" && r.tail["a"] != 1 || from == 0 {
				t.Errorf("%d events were read, want the one after the snapshot", r.tail["a"])
			}
		})
	}
}

// TestP7_BatchesOfTheEpochBeforeFollowASnapshot recovers as the first start
// after a restore does: the manifest's epoch is above that of the batches which
// follow the snapshots' floor. None of them is older than the floor itself.
func TestP7_BatchesOfTheEpochBeforeFollowASnapshot(t *testing.T) {
	store := journal.NewMemorySnapshots()
	s := newScribe(store)
	s.write(t, "a")
	s.snaps.save("a", s.head, s.states["a"].Capture())
	s.snaps.drain(1)
	s.write(t, "a")
	s.epoch = 2
	r := s.recover(t, store)
	if r.index.Floor != 1 || r.tail["a"] != 1 || r.head.Sequence != 2 || r.head.Epoch != 1 {
		t.Errorf("recovered from %d with %d events to %+v, want from 1 with 1 to 2 in epoch 1", r.index.Floor, r.tail["a"], r.head)
	}
	s.write(t, "a")
	if again := s.recover(t, store); again.states["a"].Hash() != s.states["a"].Hash() || again.head.Epoch != 2 {
		t.Errorf("after a write in epoch 2 it recovers to event %d, %+v", again.states["a"].Number(), again.head)
	}
}

// TestWF10_ASnapshotIsMadeOfTheJournal makes states as of each batch, with and
// without a snapshot before it, while the project has gone on already.
func TestWF10_ASnapshotIsMadeOfTheJournal(t *testing.T) {
	store := journal.NewMemorySnapshots()
	s := newScribe(store)
	var heads []journal.Head
	var hashes [][32]byte
	for i := range 12 {
		s.write(t, "a")
		s.write(t, "b")
		heads, hashes = append(heads, s.head), append(hashes, s.states["a"].Hash())
		if i == 5 {
			s.snaps.save("b", s.head, s.states["b"].Capture())
			s.snaps.save("a", s.head, s.states["a"].Capture())
			s.snaps.drain(2)
		}
	}
	check := func(kept *loomv1.SnapshotIndex, from int) {
		t.Helper()
		for i := from; i < len(heads); i++ {
			state, err := s.reader.stateAt(t.Context(), kept, "a", heads[i])
			if err != nil {
				t.Fatalf("as of batch %d: %v", heads[i].Sequence, err)
			}
			again, err := project.Restore(project.Config{ID: "a", Epoch: 1}, state.Remains())
			if err != nil || again.Hash() != hashes[i] {
				t.Errorf("as of batch %d: another state than there was; %v", heads[i].Sequence, err)
			}
		}
	}
	check(&loomv1.SnapshotIndex{}, 0)
	if len(s.snaps.index.Projects) != 2 {
		t.Fatalf("kept are %v, want both projects", s.snaps.index)
	}
	check(s.snaps.index, 5)
	for what, head := range map[string]journal.Head{
		"another batch": {Sequence: 20, Epoch: 1, Hash: []byte("x")}, "one past the end": {Sequence: 99, Epoch: 1, Hash: heads[0].Hash},
	} {
		if _, err := s.reader.stateAt(t.Context(), s.snaps.index, "a", head); err == nil {
			t.Errorf("%s: a state was made of it", what)
		}
	}
}

// TestP29_APartitionOfANewerBuildIsLeftAlone replays a journal with an event of
// a kind that only a later build knows: no project is set aside for it.
func TestP29_APartitionOfANewerBuildIsLeftAlone(t *testing.T) {
	s := newScribe(journal.NewMemorySnapshots())
	s.write(t, "a")
	e := &loomv1.Event{Number: 2, Project: "a"}
	e.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 669, protowire.BytesType), "new"))
	b := journal.Seal(s.head, 0, 1, "h.2", "newer", []*loomv1.Event{e})
	if _, err := s.log.Append(t.Context(), s.head.Sequence, b); err != nil {
		t.Fatal(err)
	}
	p := testPartition(s.log, journal.NewMemorySnapshots(), 1)
	r, err := p.replay(t.Context())
	if fault.Code(err) != "journal/newer" || len(r.quarantined) != 0 {
		t.Errorf("replay = %v with %v set aside, want journal/newer", err, r.quarantined)
	}
}
