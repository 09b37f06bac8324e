package journal

import (
	"bytes"
	"context"
	"errors"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// First returns the oldest batch that log has and its sequence, or 0 and nil
// from an empty one. A journal that was never cut has its first at 1. It blocks
// as Read does.
func First(ctx context.Context, log Log) (uint64, *loomv1.Batch, error) {
	return From(ctx, log, 1)
}

// From returns the oldest batch that log has at sequence from or later, and its
// sequence, or 0 and nil when there is none.
func From(ctx context.Context, log Log, from uint64) (first uint64, found *loomv1.Batch, err error) {
	err = log.Read(ctx, from, func(seq uint64, b *loomv1.Batch) error {
		first, found = seq, b
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return first, found, err
}

// HeadOf returns the head that a cut leaves a journal to begin with.
func HeadOf(c *loomv1.JournalCut) Head {
	return Head{Sequence: c.GetSequence(), Epoch: c.GetEpoch(), Hash: c.GetHash()}
}

// Cut returns the newest cut that log, read from its beginning, says of itself,
// or nil when it has its first batch and speaks of none. It returns
// journal/chain when batches are missing from the beginning and no cut says so,
// or when the journal does not go on from the cut. It reads the whole journal
// unless hint, which may be nil, is a cut that the journal goes on from.
func Cut(ctx context.Context, log Log, hint *loomv1.JournalCut) (*loomv1.JournalCut, error) {
	first, _, err := First(ctx, log)
	if err != nil {
		return nil, err
	}
	if hint.GetSequence()+1 >= first && hint != nil && goesOn(ctx, log, hint) == nil {
		return hint, nil
	}
	if first <= 1 {
		return nil, nil
	}
	found, err := newestCut(ctx, log)
	if err != nil {
		return nil, err
	}
	if found.GetSequence()+1 < first {
		return nil, fault.New("journal/chain", "the journal of partition %d begins at %d, and no cut in it says what became of the batches before", log.Partition(), first)
	}
	return found, goesOn(ctx, log, found)
}

// Said returns the newest cut among the events of a batch that are of its own
// partition, or nil.
func Said(b *loomv1.Batch) (cut *loomv1.JournalCut) {
	for _, e := range b.Events {
		if c := e.GetJournalCut(); c != nil && c.Partition == b.Partition {
			cut = c
		}
	}
	return cut
}

// newestCut reads the journal for the newest cut that is recorded in it.
func newestCut(ctx context.Context, log Log) (cut *loomv1.JournalCut, err error) {
	err = log.Read(ctx, 1, func(_ uint64, b *loomv1.Batch) error {
		if c := Said(b); c.GetSequence() > cut.GetSequence() {
			cut = c
		}
		return nil
	})
	return cut, err
}

// goesOn returns journal/chain unless the journal has the batch after a cut,
// and that continues it.
func goesOn(ctx context.Context, log Log, c *loomv1.JournalCut) error {
	next, b, err := From(ctx, log, c.GetSequence()+1)
	switch {
	case err != nil:
		return err
	case next != c.GetSequence()+1 || !bytes.Equal(b.Previous, c.GetHash()):
		return broken(c.GetSequence()+1, "the journal does not go on from its cut at %d", c.GetSequence())
	}
	return nil
}
