package retention

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mostPending is how many batches share a transaction of the tables.
const mostPending = 512

// folding folds the beginning of a journal.
type folding struct {
	config  func(project string) project.Config
	states  map[string]*project.State
	tables  Tables
	first   uint64 // sequence of the first that is pending
	pending []*loomv1.Batch
}

// folding begins with what the journal begins with.
func (c *Cutter) folding(ctx context.Context, from begins) (*folding, error) {
	tables, err := c.Tables(ctx)
	if err != nil {
		return nil, err
	}
	f := &folding{config: c.Config, states: map[string]*project.State{}, tables: tables, first: from.head.Sequence + 1}
	for _, p := range from.base.GetProjects() {
		if f.states[p.Project], err = project.Restore(c.Config(p.Project), p.State); err != nil {
			break
		}
	}
	if err == nil && from.base != nil {
		err = tables.Adopt(ctx, from.base)
	}
	if err != nil {
		_ = tables.Close()
		return nil, err
	}
	return f, nil
}

func (f *folding) batch(ctx context.Context, seq uint64, b *loomv1.Batch) error {
	for _, e := range b.Events {
		if err := f.event(e); err != nil {
			return fault.New("retention/refused", "project %q cannot be replayed, and its past would be lost: event %d in batch %d", e.Project, e.Number, seq).Because(err)
		}
	}
	if f.pending = append(f.pending, b); len(f.pending) < mostPending {
		return nil
	}
	return f.flush(ctx)
}

// event applies an event; code that breaks down on it is an error like another.
func (f *folding) event(e *loomv1.Event) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("event %d: %v", e.Number, r)
		}
	}()
	s := f.states[e.Project]
	if s == nil {
		s = project.New(f.config(e.Project))
		f.states[e.Project] = s
	}
	return s.Apply(e)
}

func (f *folding) flush(ctx context.Context) error {
	err := f.tables.ApplyAll(ctx, f.first, f.pending)
	f.first, f.pending = f.first+uint64(len(f.pending)), nil
	return err
}

// base returns what was folded, as of a cut. Nothing more may be folded then.
func (f *folding) base(ctx context.Context, cut *loomv1.JournalCut) (*loomv1.JournalBase, error) {
	if err := f.flush(ctx); err != nil {
		return nil, err
	}
	base := &loomv1.JournalBase{Partition: cut.Partition, Epoch: cut.Epoch, Sequence: cut.Sequence, Hash: cut.Hash}
	for _, id := range slices.Sorted(maps.Keys(f.states)) {
		base.Projects = append(base.Projects, &loomv1.BaseProject{Project: id, State: f.states[id].Surrender()})
	}
	var err error
	base.Tables, err = f.tables.Dump(ctx)
	return base, err
}
