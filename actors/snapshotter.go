package actors

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// snapshotter saves projects' states beside the actors and keeps the index
// from which the next recovery begins. Losing a snapshot loses nothing: the
// index's floor, up to which the journal need not be read, rises only over
// events that kept snapshots have.
type snapshotter struct {
	store     journal.Snapshots
	partition int
	epoch     uint64
	log       *slog.Logger
	index     *loomv1.SnapshotIndex // of run alone
	wake      chan struct{}

	mu      sync.Mutex
	pending map[string]*loomv1.Snapshot
	open    map[string]*uncovered // projects with events that no kept snapshot has
	newest  uint64                // sequence of the newest snapshot that is kept
}

// uncovered says which events of a project no kept snapshot has.
type uncovered struct {
	first  uint64 // sequence of the first of them
	saving uint64 // sequence of the snapshot on its way, 0 for none
	after  uint64 // sequence of the first event after that, 0 for none
}

func newSnapshotter(store journal.Snapshots, partition int, epoch uint64, log *slog.Logger, r *recovery) *snapshotter {
	s := &snapshotter{
		store: store, partition: partition, epoch: epoch, log: log, index: r.index, newest: r.index.Floor,
		pending: map[string]*loomv1.Snapshot{}, open: map[string]*uncovered{}, wake: make(chan struct{}, 1),
	}
	for id, first := range r.since {
		s.open[id] = &uncovered{first: first}
	}
	return s
}

// touched notes that a project has an event at head.
func (s *snapshotter) touched(id string, head journal.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.open[id]
	switch {
	case u == nil:
		s.open[id] = &uncovered{first: head.Sequence}
	case u.saving != 0 && u.after == 0:
		u.after = head.Sequence
	}
}

// holdsBack reports whether the floor waits for a snapshot of this project,
// while another's that is newer is kept already.
func (s *snapshotter) holdsBack(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.open[id]
	return u != nil && u.saving == 0 && u.first < s.newest
}

// save asks for a state as of head to be kept; a newer one replaces it.
func (s *snapshotter) save(id string, state *loomv1.ProjectState, head journal.Head) {
	s.mu.Lock()
	s.pending[id] = &loomv1.Snapshot{Partition: uint32(s.partition), Epoch: s.epoch, Sequence: head.Sequence, Hash: head.Hash, State: state}
	if u := s.open[id]; u != nil {
		u.saving, u.after = head.Sequence, 0
	}
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run saves what is asked for until ctx ends.
func (s *snapshotter) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.mu.Lock()
		pending := s.pending
		s.pending = map[string]*loomv1.Snapshot{}
		s.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(pending)) {
			err := s.write(ctx, id, pending[id])
			if err != nil && ctx.Err() == nil {
				s.log.Warn("snapshot not saved", "project", id, "error", err)
			}
		}
	}
}

// write saves the snapshot first and the index that names it after, so that
// the index never promises what is not kept.
func (s *snapshotter) write(ctx context.Context, id string, snap *loomv1.Snapshot) error {
	ref, err := s.store.Save(ctx, snap)
	if err != nil {
		s.failed(id, snap.Sequence)
		return err
	}
	index := proto.CloneOf(s.index)
	if index.Projects == nil { // a clone of an empty map
		index.Projects = map[string]*loomv1.SnapshotRef{}
	}
	index.Projects[id] = ref
	if snap.Sequence > index.Floor && s.covered(id, snap.Sequence) {
		index.Floor, index.FloorHash = snap.Sequence, snap.Hash
	}
	if err := s.store.SaveIndex(ctx, index); err != nil {
		s.failed(id, snap.Sequence)
		return err
	}
	s.index = index
	s.kept(id, snap.Sequence)
	return nil
}

// failed notes that a snapshot was not kept: its events are still uncovered.
func (s *snapshotter) failed(id string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.open[id]; u != nil && u.saving == seq {
		u.saving, u.after = 0, 0
	}
}

func (s *snapshotter) kept(id string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = max(s.newest, seq)
	u := s.open[id]
	if u == nil || u.saving != seq { // a newer one is on its way
		return
	}
	if u.after == 0 {
		delete(s.open, id)
		return
	}
	*u = uncovered{first: u.after}
}

// covered reports whether, with a snapshot of id as of seq, kept snapshots
// have every event up to seq.
func (s *snapshotter) covered(id string, seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, u := range s.open {
		if other != id && u.first <= seq {
			return false
		}
	}
	return true
}
