package retention

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/durable"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Rule says what a journal keeps: what is not before a time, and at least so
// many of the newest batches. One batch is kept in any case.
type Rule struct {
	Before time.Time
	Keep   uint64
}

// Tables are the projection's, of one partition alone.
type Tables interface {
	// Adopt begins with a base.
	Adopt(ctx context.Context, base *loomv1.JournalBase) error
	// ApplyAll folds batches, first being the sequence of the first.
	ApplyAll(ctx context.Context, first uint64, batches []*loomv1.Batch) error
	// Dump returns all rows.
	Dump(ctx context.Context) ([]*loomv1.Table, error)
	Close() error
}

// Cutter cuts the journal of one partition. All fields are required but Step.
type Cutter struct {
	Deployment string
	Log        journal.Log
	Blobs      Blobs
	// Dir is where archives are written.
	Dir string
	// Known returns the newest cut that the journal says of itself, or nil.
	Known func(ctx context.Context) (*loomv1.JournalCut, error)
	// Config is what the core of a project knows of its surroundings.
	Config func(project string) project.Config
	// Tables returns empty tables.
	Tables func(ctx context.Context) (Tables, error)
	// Record makes a project's event of the cut durable in the journal.
	Record func(ctx context.Context, project string, cut *loomv1.JournalCut) error
	// Note remembers a cut that is recorded, outside the journal.
	Note func(ctx context.Context, cut *loomv1.JournalCut) error
	// Purge drops the batches up to a sequence.
	Purge func(ctx context.Context, last uint64) error
	// Step is called before each step, for tests: its error stops the cut there.
	Step func(step string) error
}

// Steps are what a cut does, in order. Up to and including "record" nothing has
// happened when it is stopped; after that everything will have.
var Steps = []string{"archive", "base", "record", "note", "purge", "done"}

func (c *Cutter) step(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.Step == nil {
		return nil
	}
	return c.Step(name)
}

// begins is where a journal begins: with the batch after head, and with base in
// place of what is before it, nil for nothing.
type begins struct {
	head journal.Head
	base *loomv1.JournalBase
}

func (c *Cutter) begins(ctx context.Context) (begins, error) {
	known, err := c.Known(ctx)
	if err != nil || known == nil {
		return begins{}, err
	}
	base, err := Base(ctx, c.Blobs, known)
	return begins{journal.HeadOf(known), base}, err
}

// Plan says what Cut would cut by a rule, and changes nothing.
func (c *Cutter) Plan(ctx context.Context, rule Rule) (*loomv1.CutJournal, error) {
	known, err := c.Known(ctx)
	if err != nil {
		return nil, err
	}
	return c.plan(ctx, journal.HeadOf(known), rule)
}

func (c *Cutter) plan(ctx context.Context, from journal.Head, rule Rule) (*loomv1.CutJournal, error) {
	last, _, err := c.Log.Last(ctx)
	plan := &loomv1.CutJournal{Partition: uint32(c.Log.Partition()), Last: last}
	most := last - min(last, max(rule.Keep, 1))
	if err != nil || last <= from.Sequence {
		return plan, err
	}
	plan.First = from.Sequence + 1
	err = c.Log.Read(ctx, plan.First, func(seq uint64, b *loomv1.Batch) error {
		if seq > most || !wholly(b, rule.Before) {
			return errEnough
		}
		if plan.Cut == nil {
			plan.Cut = &loomv1.JournalCut{Partition: plan.Partition, First: plan.First}
		}
		plan.Cut.Sequence, plan.Cut.Epoch, plan.Cut.Hash, plan.Cut.Time = seq, b.Epoch, b.Hash, timeOf(b)
		plan.Cut.Batches++
		plan.Cut.Events += uint64(len(b.Events))
		plan.Bytes += uint64(proto.Size(b))
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return plan, err
}

var errEnough = errors.New("enough was read")

// wholly says whether all events of a batch are before a time.
func wholly(b *loomv1.Batch, t time.Time) bool { return timeOf(b).AsTime().Before(t) }

func timeOf(b *loomv1.Batch) *timestamppb.Timestamp {
	if len(b.Events) == 0 {
		return nil
	}
	return b.Events[len(b.Events)-1].Time
}

// Cut cuts the journal by a rule and says what was cut, nothing if there is
// nothing to cut. It blocks until the archive, the base and the record are
// durable and the batches are purged: some 10,000 events a second. After an
// error the cut has happened or not; [Cutter.Finish] finishes it, and calling
// Cut again does so first. One Cutter of a partition works at a time.
func (c *Cutter) Cut(ctx context.Context, rule Rule) (*loomv1.CutJournal, error) {
	if err := c.Finish(ctx); err != nil {
		return nil, err
	}
	from, err := c.begins(ctx)
	if err != nil {
		return nil, err
	}
	plan, err := c.plan(ctx, from.head, rule)
	if err != nil || plan.Cut == nil {
		return plan, err
	}
	owner, err := c.keep(ctx, from, plan.Cut)
	if err != nil {
		return nil, err
	}
	if err := c.step(ctx, "record"); err != nil {
		return nil, err
	}
	if err := c.Record(ctx, owner, plan.Cut); err != nil {
		return nil, err
	}
	return plan, c.finish(ctx, plan.Cut)
}

// finish does what follows from a recorded cut. It is safe to repeat.
func (c *Cutter) finish(ctx context.Context, cut *loomv1.JournalCut) error {
	if err := c.step(ctx, "note"); err != nil {
		return err
	}
	if err := c.Note(ctx, cut); err != nil {
		return err
	}
	if err := c.step(ctx, "purge"); err != nil {
		return err
	}
	if err := c.Purge(ctx, cut.Sequence); err != nil {
		return err
	}
	return c.step(ctx, "done")
}

// keep writes the archive and the base of a cut, reads both back, and returns a
// project that the cut is to be recorded by.
func (c *Cutter) keep(ctx context.Context, from begins, cut *loomv1.JournalCut) (owner string, err error) {
	if err := c.step(ctx, "archive"); err != nil {
		return "", err
	}
	if err := durable.MakeAll(c.Dir, 0o700); err != nil {
		return "", unwritable(c.Dir, err)
	}
	cut.Archive = Name(c.Log.Partition(), cut.First, cut.Sequence)
	path := filepath.Join(c.Dir, cut.Archive)
	base, err := c.archive(ctx, path, from, cut)
	if err != nil {
		return "", err
	}
	found, err := Read(ctx, path, nil)
	if err != nil {
		return "", err
	}
	cut.ArchiveSha256, cut.ArchiveBytes = found.SHA256, uint64(found.Bytes)
	if err := c.step(ctx, "base"); err != nil {
		return "", err
	}
	if cut.Base, err = keep(ctx, c.Blobs, base); err != nil {
		return "", err
	}
	if _, err := Base(ctx, c.Blobs, cut); err != nil {
		return "", err
	}
	return base.Projects[0].Project, nil
}

// archive writes an archive and returns what its batches fold to.
func (c *Cutter) archive(ctx context.Context, path string, from begins, cut *loomv1.JournalCut) (*loomv1.JournalBase, error) {
	w, err := create(path, About{
		Deployment: c.Deployment, Partition: c.Log.Partition(), First: from.head.Sequence + 1, Previous: hex.EncodeToString(from.head.Hash),
	})
	if err != nil {
		return nil, err
	}
	defer w.abandon()
	f, err := c.folding(ctx, from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.tables.Close() }()
	head := from.head
	err = c.Log.Read(ctx, from.head.Sequence+1, func(seq uint64, b *loomv1.Batch) error {
		if seq > cut.Sequence {
			return errEnough
		}
		var err error
		if head, err = journal.Check(head, seq, b); err != nil {
			return err
		}
		return errors.Join(w.batch(seq, b), f.batch(ctx, seq, b))
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if head.Sequence != cut.Sequence {
		return nil, fault.New("journal/behind", "the journal of partition %d was read up to %d, and was to be cut at %d", c.Log.Partition(), head.Sequence, cut.Sequence)
	}
	if err := w.finish(); err != nil {
		return nil, err
	}
	return f.base(ctx, cut)
}

// Finish finishes a cut that was stopped after it was recorded, and removes the
// archive of one that was stopped before. It is safe to repeat.
func (c *Cutter) Finish(ctx context.Context) error {
	open, err := c.unfinished()
	if err != nil || len(open) == 0 {
		return err
	}
	known, err := c.Known(ctx)
	if err != nil {
		return err
	}
	for _, a := range open {
		if err := c.settle(ctx, known, a); err != nil {
			return err
		}
	}
	first, _, err := journal.First(ctx, c.Log)
	if err != nil || known == nil || first > known.Sequence {
		return err
	}
	return c.finish(ctx, known)
}

// found is an archive that is there.
type found struct {
	name        string
	first, last uint64
}

// unfinished lists the archives of the partition, and removes what was being
// written.
func (c *Cutter) unfinished() ([]found, error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New("data/permissions", "the archives cannot be listed").At(c.Dir).Because(err)
	}
	var list []found
	for _, e := range entries {
		if p, first, last, ok := named(e.Name()); ok && p == c.Log.Partition() {
			list = append(list, found{e.Name(), first, last})
		}
		if partial, ok := strings.CutSuffix(e.Name(), ".tmp"); ok {
			if p, _, _, ok := named(partial); ok && p == c.Log.Partition() {
				_ = os.Remove(filepath.Join(c.Dir, e.Name()))
			}
		}
	}
	slices.SortFunc(list, func(a, b found) int { return int(a.last) - int(b.last) })
	return list, nil
}

// settle finishes the cut that an archive is of if the journal says that it is
// cut there, and removes the archive if it does not.
func (c *Cutter) settle(ctx context.Context, known *loomv1.JournalCut, a found) error {
	if a.last <= known.GetSequence() {
		return nil
	}
	var cut *loomv1.JournalCut
	err := c.Log.Read(ctx, a.last+1, func(_ uint64, b *loomv1.Batch) error {
		if said := journal.Said(b); said.GetArchive() == a.name {
			cut = said
			return errEnough
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return err
	case cut != nil:
		return c.finish(ctx, cut)
	}
	if err := os.Remove(filepath.Join(c.Dir, a.name)); err != nil {
		return unwritable(filepath.Join(c.Dir, a.name), fmt.Errorf("of a cut that did not happen: %w", err))
	}
	return nil
}
