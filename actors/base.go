package actors

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// baseOf returns what a journal begins with, if it was cut and lacks the batch
// after a sequence; else nil. Without a way to read it there is none.
func baseOf(ctx context.Context, log journal.Log, read func(context.Context) (*loomv1.JournalBase, error), after uint64) (*loomv1.JournalBase, error) {
	if read == nil {
		return nil, nil
	}
	first, _, err := journal.First(ctx, log)
	if err != nil || first <= after+1 {
		return nil, err
	}
	return read(ctx)
}

// base is baseOf the partition's journal.
func (p *partition) base(ctx context.Context, after uint64) (*loomv1.JournalBase, error) {
	return baseOf(ctx, p.Log, p.Base, after)
}

// fromBase begins a recovery with a base, which is kept as snapshots, so that
// later ones are made of it.
func (p *partition) fromBase(ctx context.Context, r *recovery, base *loomv1.JournalBase) error {
	r.head = journal.Head{Sequence: base.Sequence, Epoch: base.Epoch, Hash: base.Hash}
	r.index.Floor, r.index.FloorHash = base.Sequence, base.Hash
	for _, b := range base.Projects {
		ref, err := p.Snapshots.Save(ctx, &loomv1.Snapshot{
			Partition: base.Partition, Epoch: base.Epoch, Sequence: base.Sequence, Hash: base.Hash, State: b.State,
		})
		if err != nil {
			return err
		}
		s, err := project.Adopt(p.config(b.Project), b.State)
		if err != nil {
			return fmt.Errorf("the base of partition %d: project %q: %w", base.Partition, b.Project, err)
		}
		r.states[b.Project], r.index.Projects[b.Project] = s, ref
		if t := s.Time(); t.After(r.last) {
			r.last = t
		}
	}
	return p.Snapshots.SaveIndex(ctx, proto.CloneOf(r.index))
}

// atLeastBase returns a state that the journal goes on from: the one that is
// given if it has the batch after from, else the one in its base.
func (p *partition) atLeastBase(ctx context.Context, id string, s *project.State, from uint64) (*project.State, uint64, error) {
	base, err := p.base(ctx, from)
	if err != nil || base == nil {
		return s, from, err
	}
	for _, b := range base.Projects {
		if b.Project == id {
			s, err = project.Adopt(p.folding(id), b.State)
			return s, base.Sequence, err
		}
	}
	return project.New(p.folding(id)), base.Sequence, nil
}
