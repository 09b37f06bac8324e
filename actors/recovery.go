package actors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// untoldEvents is of how many of the newest events, or somewhat more, observers
// are told again at recovery: a dead keeper may have made events durable without
// telling anybody. Observers know a notice again by its position.
const untoldEvents = 256

// recovery is what a partition's journal says.
type recovery struct {
	states      map[string]*project.State
	quarantined map[string]error
	head        journal.Head
	last        time.Time
	untold      []told // the newest batches
	fresh       int    // events in them
	index       *loomv1.SnapshotIndex
	since       map[string]uint64 // sequence of the first event of each project after the floor
	tail        map[string]int    // events of each project that its snapshot does not have
}

// replay folds the journal into the projects' states, from the newest usable
// snapshots on. A snapshot that cannot be used costs time, never state.
func (p *partition) replay(ctx context.Context) (*recovery, error) {
	r, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	err = p.Log.Read(ctx, r.head.Sequence+1, func(seq uint64, b *loomv1.Batch) error {
		head, err := journal.Check(r.head, seq, b)
		if err != nil {
			return err
		}
		r.head = head
		for _, e := range b.Events {
			if err := journal.Newer(e); err != nil {
				return err // who serves must know everything
			}
			p.replayEvent(r, seq, e)
		}
		r.remember(told{epoch: b.Epoch, sequence: seq, events: b.Events})
		return nil
	})
	return r, err
}

// start returns where a recovery begins: the newest snapshots, the base of a
// journal that was cut, or nothing.
func (p *partition) start(ctx context.Context) (*recovery, error) {
	r := p.fromSnapshots(ctx)
	base, err := p.base(ctx, r.head.Sequence)
	if err != nil || base == nil {
		return r, err
	}
	r = p.nothing()
	return r, p.fromBase(ctx, r, base)
}

// nothing is a recovery that reads the journal from its first batch.
func (p *partition) nothing() *recovery {
	return &recovery{
		states: map[string]*project.State{}, quarantined: map[string]error{}, since: map[string]uint64{}, tail: map[string]int{},
		index: nothingKept(p.Log.Partition()),
	}
}

// nothingKept is the index of no snapshots.
func nothingKept(partition int) *loomv1.SnapshotIndex {
	return &loomv1.SnapshotIndex{Partition: uint32(partition), Projects: map[string]*loomv1.SnapshotRef{}}
}

// written tells a project's life of a snapshot that is kept.
func (p *partition) written(id string, size int, ended []project.Segment) {
	at := p.addresses.find(id)
	if at == nil {
		return
	}
	if d := at.domain.Load(); d != nil { // else its actor has not begun
		d.written(size, ended)
	}
}

// fromSnapshots loads every snapshot of the index, or none of them: the journal
// is then read from its beginning.
func (p *partition) fromSnapshots(ctx context.Context) *recovery {
	empty := p.nothing
	index, err := p.Snapshots.Index(ctx, p.Log.Partition())
	if err != nil || index == nil || index.Floor == 0 {
		return empty()
	}
	r := empty()
	for id, ref := range index.Projects {
		snap, err := p.Snapshots.Load(ctx, ref)
		if err != nil || snap == nil {
			p.Logger.Warn("snapshot is not usable; reading the journal from its beginning", "project", id, "error", err)
			return empty()
		}
		s, err := project.Adopt(p.config(id), snap.State)
		if err != nil {
			p.Logger.Warn("snapshot does not restore; reading the journal from its beginning", "project", id, "error", err)
			return empty()
		}
		s.Rest()
		r.states[id] = s
		if t := s.Time(); t.After(r.last) {
			r.last = t
		}
	}
	floor, ok := p.anchor(ctx, index)
	if !ok {
		p.Logger.Warn("snapshots do not match the journal; reading it from its beginning", "partition", p.Log.Partition())
		return empty()
	}
	r.index, r.head = index, floor
	return r
}

var errEnough = errors.New("enough was read")

// stateAt returns the state of a project as of a batch, made of the snapshot
// that the index has of it, and of the journal. It folds, and is not to decide
// anything. It may run beside everything.
func (p *partition) stateAt(ctx context.Context, index *loomv1.SnapshotIndex, id string, head journal.Head) (_ *project.State, err error) {
	defer func() {
		if r := recover(); r != nil { // a segment that cannot be read
			err = fmt.Errorf("project %q as of batch %d: %v", id, head.Sequence, r)
		}
	}()
	s, from, err := p.newestKept(ctx, index, id)
	if err != nil {
		return nil, err
	}
	if s, from, err = p.atLeastBase(ctx, id, s, from); err != nil {
		return nil, err
	}
	reached := from >= head.Sequence
	err = p.Log.Read(ctx, from+1, func(seq uint64, b *loomv1.Batch) error {
		if seq > head.Sequence {
			return errEnough
		}
		for _, e := range b.Events {
			if e.Project == id && e.Number > s.Number() {
				if err := apply(s, e); err != nil {
					return err
				}
			}
		}
		if seq < head.Sequence {
			return nil
		}
		reached = bytes.Equal(b.Hash, head.Hash)
		return errEnough
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return nil, err
	case !reached:
		return nil, fmt.Errorf("journal of partition %d has another batch at %d than the one that was acknowledged", p.Log.Partition(), head.Sequence)
	}
	return s, nil
}

// refold returns the state of a project as of a head that was acknowledged. A snapshot
// that cannot be used costs time, never state.
func (p *partition) refold(ctx context.Context, id string, head journal.Head) (*project.State, error) {
	kept, err := p.stateAt(ctx, p.snaps.usable(id), id, head)
	if err != nil && ctx.Err() == nil && fault.Status(err) != fault.Unavailable {
		p.Logger.Warn("snapshot is not usable; reading the journal from its beginning", "project", id, "error", err)
		kept, err = p.stateAt(ctx, nothingKept(p.Log.Partition()), id, head)
	}
	if err != nil {
		return nil, err
	}
	return project.Adopt(p.config(id), kept.Remains())
}

// newestKept returns the state that the index has of a project, and up to which
// batch no event is missing from it: from nothing, when there is none.
func (p *partition) newestKept(ctx context.Context, index *loomv1.SnapshotIndex, id string) (*project.State, uint64, error) {
	ref := index.Projects[id]
	if ref == nil {
		return project.New(p.folding(id)), index.Floor, nil
	}
	snap, err := p.Snapshots.Load(ctx, ref)
	if err != nil {
		return nil, 0, err
	}
	if snap == nil {
		return project.New(p.folding(id)), 0, nil
	}
	s, err := project.Adopt(p.folding(id), snap.State)
	return s, max(ref.Sequence, index.Floor), err
}

// anchor returns the head at the index's floor, and whether the journal has
// there the batch that the index says it has. Its epoch is that batch's own:
// after a restore the partition's is above that of batches which follow it.
func (p *partition) anchor(ctx context.Context, index *loomv1.SnapshotIndex) (at journal.Head, found bool) {
	_ = p.Log.Read(ctx, index.Floor, func(seq uint64, b *loomv1.Batch) error {
		at = journal.Head{Sequence: seq, Epoch: b.Epoch, Hash: b.Hash}
		found = seq == index.Floor && bytes.Equal(b.Hash, index.FloorHash)
		if seq == index.Floor+1 { // the journal was cut there
			at = journal.Head{Sequence: index.Floor, Epoch: b.Epoch, Hash: b.Previous}
			found = bytes.Equal(b.Previous, index.FloorHash)
		}
		return errEnough
	})
	return at, found
}

func (p *partition) replayEvent(r *recovery, seq uint64, e *loomv1.Event) {
	if _, bad := r.quarantined[e.Project]; bad {
		return
	}
	s, ok := r.states[e.Project]
	if !ok {
		s = project.New(p.config(e.Project))
		r.states[e.Project] = s
	}
	if e.Number <= s.Number() {
		return // the snapshot has it
	}
	if _, seen := r.since[e.Project]; !seen {
		r.since[e.Project] = seq
	}
	if err := apply(s, e); err != nil {
		r.quarantined[e.Project] = err
		delete(r.states, e.Project)
		return
	}
	s.Rest()
	r.tail[e.Project]++
	if t := e.Time.AsTime(); t.After(r.last) {
		r.last = t
	}
}

// apply applies an event; code that breaks down on it is an error like any
// other, and sets one project aside instead of ending the host.
func apply(s *project.State, e *loomv1.Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("event %d: %v", e.Number, r)
		}
	}()
	return s.Apply(e)
}

// remember keeps the newest batches, of untoldEvents events or somewhat more.
func (r *recovery) remember(b told) {
	r.untold, r.fresh = append(r.untold, b), r.fresh+len(b.events)
	for r.fresh-len(r.untold[0].events) >= untoldEvents {
		r.fresh -= len(r.untold[0].events)
		r.untold[0] = told{} // or its events are kept with the array
		r.untold = r.untold[1:]
	}
}

// config is the configuration of a project's state.
func (p *partition) config(id string) project.Config {
	c := project.Config{ID: id, Deployment: p.Deployment, Epoch: p.Epoch, CEO: p.CEO, LockLease: p.LockLease, Roles: p.Known, Format: p.Format}
	if p.segments != nil {
		c.Segments = p.segments
	}
	return c
}

// folding is that of a state which folds and decides nothing.
func (p *partition) folding(id string) project.Config {
	c := p.config(id)
	c.Folds = true
	return c
}
