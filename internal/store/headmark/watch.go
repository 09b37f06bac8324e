package headmark

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Watch returns log, with every append that it acknowledges noted in k. A
// batch that grants the commit lock has its mark written at once.
func Watch(log journal.Log, k *Keeper) journal.Log { return watched{Log: log, keeper: k} }

type watched struct {
	journal.Log
	keeper *Keeper
}

// Append is that of [journal.Log].
func (w watched) Append(ctx context.Context, last uint64, b journal.Sealed) (uint64, error) {
	seq, err := w.Log.Append(ctx, last, b)
	if err != nil {
		return seq, err
	}
	w.keeper.Note(w.Partition(), journal.Head{Sequence: seq, Epoch: b.Epoch, Hash: b.Hash})
	if grants(b.Batch) {
		w.keeper.Soon()
	}
	return seq, nil
}

func grants(b *loomv1.Batch) bool {
	for _, e := range b.Events {
		if e.GetLockGranted() != nil {
			return true
		}
	}
	return false
}

// Check returns journal/behind unless the log, which stream names, reaches h,
// and journal/chain unless it has that very batch there. The zero head is
// always reached, and so is one before the cut that the log begins with.
func Check(ctx context.Context, log journal.Log, stream string, cut, h journal.Head) error {
	if h.Sequence < cut.Sequence || h.Sequence == 0 {
		return nil
	}
	if h.Sequence == cut.Sequence {
		return sameAt(stream, h, cut.Hash)
	}
	last, _, err := log.Last(ctx)
	if err != nil {
		return err
	}
	if last < h.Sequence {
		return Behind(stream, last, h.Sequence)
	}
	got, err := at(ctx, log, h.Sequence)
	if err != nil {
		return err
	}
	return sameAt(stream, h, got.GetHash())
}

// sameAt returns journal/chain unless the batch at h has the hash that was seen.
func sameAt(stream string, h journal.Head, hash []byte) error {
	if len(hash) == 0 || !bytes.Equal(hash, h.Hash) {
		return fault.New("journal/chain", "stream %s has another batch at %d than the one that was seen", stream, h.Sequence).At(stream)
	}
	return nil
}

// Behind says that a journal ends before what was seen of it.
func Behind(stream string, last, seen uint64) *fault.Error {
	return fault.New("journal/behind", "stream %s ends at %d, but %d was seen: acknowledged events are gone from sequence %d on", stream, last, seen, last+1).
		At(stream).Want("see \"loom verify\"; keep this directory, and restore a backup into another")
}

var errEnough = errors.New("enough was read")

// at returns the batch at a sequence, or nil.
func at(ctx context.Context, log journal.Log, seq uint64) (found *loomv1.Batch, err error) {
	err = log.Read(ctx, seq, func(s uint64, b *loomv1.Batch) error {
		if s == seq {
			found = b
		}
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("mark of partition %d: %w", log.Partition(), err)
	}
	return found, nil
}
