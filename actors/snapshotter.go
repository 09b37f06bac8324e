package actors

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// snapshotter saves projects' states beside the actors and keeps the index
// from which the next recovery begins. It is given what was captured in a turn of
// the project, which goes on meanwhile; what has ended, and what the decision graph
// has for long, it writes once and never again. Losing a snapshot loses nothing: the
// index's floor, up to which the journal need not be read, rises only over events
// that kept snapshots have.
type snapshotter struct {
	store    journal.Snapshots
	segments *journal.Segments
	// written is told of each snapshot that is kept: of its size, and of the segments
	// that ended work was put into.
	written   func(id string, size int, ended []project.Segment)
	partition int
	epoch     uint64
	log       *slog.Logger
	wake      chan struct{}
	chunks    map[string]*project.Chunks // of each project's graph, as they are stored; used by run alone

	mu      sync.Mutex
	index   *loomv1.SnapshotIndex // is replaced, never changed, and only by run
	pending map[string]captured   // what to save
	open    map[string]*uncovered // projects with events that no kept snapshot has
	newest  uint64                // sequence of the newest snapshot that is kept
}

// captured is a project's state as of a place in the journal: it has all events up to
// there, and perhaps some of the batch that follows.
type captured struct {
	head  journal.Head
	state *project.Capture
}

// uncovered says which events of a project no kept snapshot has.
type uncovered struct {
	first  uint64 // none comes before this sequence
	last   uint64 // sequence of the newest of them
	saving uint64 // sequence of the snapshot on its way, 0 for none
}

func (p *partition) newSnapshotter(r *recovery) *snapshotter {
	s := &snapshotter{
		store: p.Snapshots, segments: p.segments, written: p.written, partition: p.Log.Partition(), epoch: p.Epoch, log: p.Logger, index: r.index, newest: r.index.Floor,
		pending: map[string]captured{}, chunks: map[string]*project.Chunks{}, open: map[string]*uncovered{}, wake: make(chan struct{}, 1),
	}
	for id, first := range r.since {
		s.open[id] = &uncovered{first: first, last: r.head.Sequence}
	}
	return s
}

// touched notes that a project has an event at head.
func (s *snapshotter) touched(id string, head journal.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[id] == nil {
		s.open[id] = &uncovered{first: head.Sequence}
	}
	s.open[id].last = head.Sequence
}

// holdsBack reports whether the floor waits for a snapshot of this project,
// while another's that is newer is kept already.
func (s *snapshotter) holdsBack(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.open[id]
	return u != nil && u.saving == 0 && u.first < s.newest
}

// save asks for a project's state to be kept, which has been touched as of head
// already; a newer one replaces it.
func (s *snapshotter) save(id string, head journal.Head, state *project.Capture) {
	s.mu.Lock()
	s.pending[id] = captured{head, state}
	if u := s.open[id]; u != nil {
		u.saving = head.Sequence
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
		s.pending = map[string]captured{}
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
func (s *snapshotter) write(ctx context.Context, id string, c captured) (err error) {
	defer func() {
		if err != nil {
			s.failed(id, c.head.Sequence)
		}
	}()
	last := s.current()
	segments, chunks, err := s.divide(ctx, id, c.state, last.GetProjects()[id].GetSegments())
	if err != nil {
		return err
	}
	state, err := c.state.State()
	if err != nil {
		return err
	}
	snap := &loomv1.Snapshot{Partition: uint32(s.partition), Epoch: s.epoch, Sequence: c.head.Sequence, Hash: c.head.Hash, State: state}
	ref, err := s.store.Save(ctx, snap)
	if err != nil {
		return err
	}
	index := proto.CloneOf(last)
	if index.Projects == nil { // a clone of an empty map
		index.Projects = map[string]*loomv1.SnapshotRef{}
	}
	index.Projects[id] = ref
	if snap.Sequence > index.Floor && s.covered(id, snap.Sequence) {
		index.Floor, index.FloorHash = snap.Sequence, snap.Hash
	}
	if err := s.store.SaveIndex(ctx, index); err != nil {
		return err
	}
	s.chunks[id] = chunks
	s.mu.Lock()
	s.index = index
	s.mu.Unlock()
	s.kept(id, snap.Sequence)
	s.written(id, proto.Size(snap), segments)
	return nil
}

// divide stores what of a state goes into segments, and is in none of those that are
// stored already. It returns the segments of ended work, and those of the graph.
func (s *snapshotter) divide(ctx context.Context, id string, state *project.Capture, stored []string) ([]project.Segment, *project.Chunks, error) {
	last := s.chunks[id]
	if last == nil {
		last = &project.Chunks{}
	}
	ended := state.Divide(project.SegmentLeast)
	parts, chunks := state.DivideGraph(last)
	for _, segment := range slices.Concat(ended, parts) {
		if slices.Contains(stored, segment.Name) && s.segments.Usable([]string{segment.Name}) {
			continue
		}
		if err := s.segments.Save(ctx, journal.Segment(segment)); err != nil {
			return nil, nil, err
		}
	}
	return ended, chunks, nil
}

// usable returns the index from which a project's state can be made: that of the
// snapshots that are kept, or one of nothing where a segment of its is damaged.
func (s *snapshotter) usable(id string) *loomv1.SnapshotIndex {
	index := s.current()
	if !s.segments.Usable(index.GetProjects()[id].GetSegments()) {
		return nothingKept(s.partition)
	}
	return index
}

// current returns the index of the snapshots that are kept. It must not be changed.
func (s *snapshotter) current() *loomv1.SnapshotIndex {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index
}

// failed notes that a snapshot was not kept: its events are still uncovered.
func (s *snapshotter) failed(id string, seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.open[id]; u != nil && u.saving == seq {
		u.saving = 0
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
	if u.last <= seq {
		delete(s.open, id)
		return
	}
	*u = uncovered{first: seq + 1, last: u.last}
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
