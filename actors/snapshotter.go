package actors

import (
	"context"
	"log/slog"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// snapshotter saves projects' states beside the actors and keeps the index
// from which the next recovery begins. Losing a snapshot loses nothing.
type snapshotter struct {
	store     journal.Snapshots
	partition int
	epoch     uint64
	log       *slog.Logger
	mu        sync.Mutex
	pending   map[string]*loomv1.Snapshot
	first     map[string]uint64 // first event of each project that no snapshot covers
	index     *loomv1.SnapshotIndex
	wake      chan struct{}
	done      chan struct{}
}

func newSnapshotter(ctx context.Context, store journal.Snapshots, partition int, epoch uint64, log *slog.Logger, r *recovered) *snapshotter {
	s := &snapshotter{
		store: store, partition: partition, epoch: epoch, log: log, index: r.index, first: r.since,
		pending: map[string]*loomv1.Snapshot{}, wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go s.run(ctx)
	return s
}

// touched notes that a project has an event at head that no snapshot covers.
func (s *snapshotter) touched(id string, head journal.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.first[id]; !ok {
		s.first[id] = head.Sequence
	}
}

// save asks for a state as of head to be kept; a newer one replaces it.
func (s *snapshotter) save(id string, state *loomv1.ProjectState, head journal.Head) {
	s.mu.Lock()
	s.pending[id] = &loomv1.Snapshot{Partition: uint32(s.partition), Epoch: s.epoch, Sequence: head.Sequence, Hash: head.Hash, State: state}
	delete(s.first, id)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *snapshotter) run(ctx context.Context) {
	defer close(s.done)
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
		for id, snap := range pending {
			if err := s.write(ctx, id, snap); err != nil && ctx.Err() == nil {
				s.log.Warn("snapshot not saved", "project", id, "error", err)
			}
		}
	}
}

// write saves the snapshot first and the index that names it after. The floor
// rises only to a batch up to which every project is covered.
func (s *snapshotter) write(ctx context.Context, id string, snap *loomv1.Snapshot) error {
	ref, err := s.store.Save(ctx, snap)
	if err != nil {
		return err
	}
	index := proto.CloneOf(s.index)
	index.Projects[id] = ref
	if s.covered(snap.Sequence) {
		index.Floor, index.FloorHash = snap.Sequence, snap.Hash
	}
	if err := s.store.SaveIndex(ctx, index); err != nil {
		return err
	}
	s.index = index
	return nil
}

func (s *snapshotter) covered(seq uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.first {
		if at <= seq {
			return false
		}
	}
	return true
}
