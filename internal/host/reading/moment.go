package reading

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var errEnough = errors.New("enough was read")

// moment is a place in a project's history: as of an event's position or
// number, inclusive, or as of a time. The zero moment is now.
type moment struct {
	at     *loomv1.Position
	time   time.Time
	number uint64
}

func momentOf(at *loomv1.Position, t *timestamppb.Timestamp, number uint64) (moment, error) {
	m := moment{at: at, number: number}
	if t != nil {
		if err := t.CheckValid(); err != nil {
			return m, fault.New("usage/argument", "not a time").At("time")
		}
		m.time = t.AsTime()
	}
	if at != nil && (t != nil || number != 0) || t != nil && number != 0 {
		return m, fault.New("usage/argument", "one moment by position, by time or by number, not several").At("at")
	}
	return m, nil
}

// past reports whether an event of the project, at that place, comes after the
// moment.
func (m moment) past(e *loomv1.Event, seq uint64, index uint32) bool {
	switch {
	case m.at != nil:
		return seq > m.at.Sequence || seq == m.at.Sequence && index > m.at.Index
	case m.number != 0:
		return e.Number > m.number
	case !m.time.IsZero():
		return e.Time.AsTime().After(m.time)
	}
	return false
}

// covers reports whether a state that has events of no batch after last is of the
// moment or earlier.
func (m moment) covers(last uint64, s *loomv1.ProjectState) bool {
	switch {
	case m.at != nil:
		return last < m.at.Sequence
	case m.number != 0:
		return s.GetLastNumber() <= m.number
	case !m.time.IsZero():
		return !s.GetLastTime().AsTime().After(m.time)
	}
	return true
}

// pasts shows executions and decision graphs as of earlier moments.
type pasts struct {
	*journals.Set
	snapshots journal.Snapshots
	config    func(project string) project.Config
	// one holds a token: folding takes the memory of the project's state, once
	// at a time.
	one chan struct{}
}

func newPasts(set *journals.Set, snapshots journal.Snapshots, config func(string) project.Config) *pasts {
	p := &pasts{Set: set, snapshots: snapshots, config: config, one: make(chan struct{}, 1)}
	p.one <- struct{}{}
	return p
}

// core is what is folded up to a moment. State and graph of a project are.
type core interface {
	Number() uint64 // of the last event
	Apply(e *loomv1.Event) error
}

// starts gives what a fold begins with: what a snapshot holds, or nothing yet
// where that is nil.
type starts func(from *loomv1.ProjectState) (core, error)

// state returns an execution that exists as of a moment.
func (p *pasts) state(ctx context.Context, id string, m moment) (*loomv1.StateReply, error) {
	if m.time.After(time.Now()) {
		return nil, fault.New("position/beyond", "that moment has not come yet").At("time").Got(m.time.Format(time.RFC3339Nano))
	}
	state, f, err := p.project(ctx, project.Of(id), m)
	if err != nil {
		return nil, err
	}
	return f.reply(state, id)
}

// project returns a project as of a moment. The state reads segments with ctx.
func (p *pasts) project(ctx context.Context, owner string, m moment) (state *project.State, f *folded, err error) {
	f, err = p.upTo(ctx, owner, m, func(from *loomv1.ProjectState) (c core, err error) {
		config := p.config(owner)
		config.Segments = journal.NewSegments(ctx, p.snapshots)
		if state = project.New(config); from != nil {
			state, err = project.Adopt(config, from)
		}
		return state, err
	})
	return state, f, err
}

// upTo folds what a project did up to a moment. It reads the journal from the
// newest snapshot before that moment, else from its beginning.
func (p *pasts) upTo(ctx context.Context, owner string, m moment, start starts) (*folded, error) {
	select {
	case <-p.one:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { p.one <- struct{}{} }()
	log := p.Of(owner)[0]
	if err := p.checkPosition(ctx, log, m.at); err != nil {
		return nil, err
	}
	f := &folded{owner: owner, moment: m, start: start}
	err := f.fold(ctx, log, p.snapshot(ctx, log.Partition(), owner, m))
	if errors.Is(err, errForeign) || errors.Is(err, errShort) {
		err = p.foldBase(ctx, log, f)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fault.New("host/unavailable", "the journal cannot be read that far back in the time of a request")
	}
	if err == nil && m.number > f.core.Number() {
		return nil, fault.New("position/beyond", "the newest event of project %q is number %d", owner, f.core.Number()).At("number")
	}
	return f, err
}

// errShort says that the journal does not have what follows where a fold begins.
var errShort = errors.New("the journal begins later")

// foldBase folds from what the journal begins with: nothing, or the base of its
// cut. A moment before that is in an archive.
func (p *pasts) foldBase(ctx context.Context, log journal.Log, f *folded) error {
	base, err := p.Base(ctx, log.Partition())
	if err != nil {
		return err
	}
	if base == nil {
		return f.fold(ctx, log, nil)
	}
	from := &loomv1.Snapshot{Partition: base.Partition, Epoch: base.Epoch, Sequence: base.Sequence, Hash: base.Hash, State: &loomv1.ProjectState{}}
	for _, b := range base.Projects {
		if b.Project == f.owner {
			from.State = b.State
		}
	}
	if from.State.LastNumber > 0 && !f.moment.covers(from.Sequence, from.State) {
		cut, err := p.Cut(ctx, log.Partition())
		if gone := journals.Archived(cut, base.Sequence); err == nil && gone != nil {
			return gone.At("at")
		}
		return err
	}
	return f.fold(ctx, log, from)
}

// checkPosition refuses a position that the journal does not have.
func (p *pasts) checkPosition(ctx context.Context, log journal.Log, at *loomv1.Position) error {
	if at == nil {
		return nil
	}
	refuse := func(code, format string, args ...any) error {
		return fault.New(code, format, args...).At("at").Got(notice.FormatPosition(at))
	}
	if int(at.Partition) != log.Partition() {
		return refuse("position/elsewhere", "the project is in partition %d", log.Partition())
	}
	last, newest, err := log.Last(ctx)
	if err != nil {
		return err
	}
	if at.Sequence == 0 || at.Sequence > last {
		end := &loomv1.Position{Partition: at.Partition, Epoch: newest.GetEpoch(), Sequence: last, Index: uint32(max(len(newest.GetEvents()), 1) - 1)}
		return refuse("position/beyond", "the journal ends at %s", notice.FormatPosition(end))
	}
	b, err := batchAt(ctx, log, at.Sequence)
	if err == nil && b == nil {
		cut, err := p.Cut(ctx, log.Partition())
		if gone := journals.Archived(cut, at.Sequence); err == nil && gone != nil {
			return gone.At("at").Got(notice.FormatPosition(at))
		}
	}
	switch {
	case err != nil:
		return err
	case b.GetEpoch() != at.Epoch:
		return refuse("position/elsewhere", "batch %d is of epoch %d", at.Sequence, b.GetEpoch())
	case int(at.Index) >= len(b.GetEvents()):
		return refuse("position/beyond", "batch %d has %d events", at.Sequence, len(b.GetEvents()))
	}
	return nil
}

// batchAt returns the batch with that sequence, or nil.
func batchAt(ctx context.Context, log journal.Log, seq uint64) (*loomv1.Batch, error) {
	var found *loomv1.Batch
	err := log.Read(ctx, seq, func(at uint64, b *loomv1.Batch) error {
		if at == seq {
			found = b
		}
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return found, err
}

// snapshot returns the project's newest snapshot if the moment is not before
// it, else nil; it may have events of the batch that follows. One that cannot be had costs time alone.
func (p *pasts) snapshot(ctx context.Context, partition int, owner string, m moment) *loomv1.Snapshot {
	index, err := p.snapshots.Index(ctx, partition)
	ref := index.GetProjects()[owner]
	if err != nil || ref == nil {
		return nil
	}
	s, err := p.snapshots.Load(ctx, ref)
	if err != nil || s == nil || !m.covers(s.Sequence+1, s.State) {
		return nil
	}
	return s
}

// errForeign says that a snapshot is not as of what the journal has there.
var errForeign = errors.New("the snapshot is of another journal")

// folded is what a project was at a moment.
type folded struct {
	owner  string
	moment moment
	start  starts
	from   *loomv1.Snapshot
	core   core
	at     *loomv1.Position // of the newest event that it has seen, or a later one of others
	time   *timestamppb.Timestamp
	begun  bool // it has seen a batch
}

// fold folds what the project did up to the moment, after a snapshot or from
// the beginning.
func (f *folded) fold(ctx context.Context, log journal.Log, from *loomv1.Snapshot) (err error) {
	f.from, f.at, f.time, f.begun = from, nil, nil, false
	if f.core, err = f.start(from.GetState()); err != nil {
		return errForeign
	}
	err = log.Read(ctx, max(from.GetSequence(), 1), func(seq uint64, b *loomv1.Batch) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return f.batch(seq, b)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (f *folded) batch(seq uint64, b *loomv1.Batch) error {
	if !f.begun && seq > f.from.GetSequence()+1 {
		return errShort
	}
	f.begun = true
	if seq == f.from.GetSequence() {
		if string(b.Hash) != string(f.from.GetHash()) {
			return errForeign
		}
		// Should the project have no event from here on, this place shows the same.
		f.at = &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(len(b.Events) - 1)}
		f.time = f.from.GetState().GetLastTime()
	}
	for i, e := range b.Events {
		if e.Project != f.owner {
			continue
		}
		if f.moment.past(e, seq, uint32(i)) {
			return errEnough
		}
		if e.Number > f.core.Number() { // else the snapshot has it
			if err := f.core.Apply(e); err != nil {
				return fault.New("project/quarantined", "the project's history cannot be read: %s", err).At(f.owner)
			}
		}
		f.at = &loomv1.Position{Partition: b.Partition, Epoch: b.Epoch, Sequence: seq, Index: uint32(i)}
		f.time = e.Time
	}
	return nil
}

func (f *folded) reply(s *project.State, id string) (*loomv1.StateReply, error) {
	v, err := s.Look(project.Executions, &loomv1.Query{Id: id})
	if fault.Code(err) == "execution/unknown" {
		return nil, fault.New("position/before", "execution %q had not begun then", id).At("at")
	}
	if err != nil {
		return nil, err
	}
	return &loomv1.StateReply{Execution: v.Executions[0], Definition: v.Definition, Number: s.Number(), Time: f.time, Position: f.at}, nil
}
