package vault

import (
	"context"
	"errors"
	"fmt"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/headmark"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Journal is what was found of a partition's journal.
type Journal struct {
	Stream    string `json:"stream"`
	Partition int    `json:"partition"`
	// First and Last are the sequences that are sound, 0 in an empty journal.
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Cut is the newest sequence that was cut off the beginning for good, and
	// Archive the file that has it, as the journal says.
	Cut     uint64 `json:"cut,omitempty"`
	Archive string `json:"archive,omitempty"`
	Epoch   uint64 `json:"epoch"`
	Hash    string `json:"hash"`
	Events  int    `json:"events"`
	Bytes   int64  `json:"bytes"`
	// Torn is the end of the file, when it is no whole record: what a write
	// that was never acknowledged leaves behind.
	Torn string `json:"torn,omitempty"`

	head journal.Head
	cut  *loomv1.JournalCut
}

// errStop ends a scan whose chain does not go on.
var errStop = errors.New("the chain ends here")

// walker follows a chain.
type walker struct {
	ctx    context.Context
	mark   headmark.Mark
	at     journal.Head
	broken error // why the chain ends
	marked bool  // the marked batch was passed, and is the one
	found  *Journal
	visit  func(seq uint64, b *loomv1.Batch) error
}

// walk passes every batch of a partition's journal to visit, as long as the
// chain holds. The error is damage, of status [fault.Integrity], or visit's or
// ctx's; the journal says how far it is sound in any case.
func (s *Store) walk(ctx context.Context, partition int, visit func(seq uint64, b *loomv1.Batch) error) (Journal, error) {
	name := natsjournal.Stream(partition)
	mark := s.marks[partition]
	found := Journal{Stream: name, Partition: partition, Cut: mark.Cut.Sequence}
	stream, err := s.stream(name)
	if err != nil {
		return found, err
	}
	found.Bytes = stream.Bytes()
	if found.cut, err = newestCut(ctx, stream, mark); err != nil {
		return found, err
	}
	if found.cut != nil {
		found.Archive = found.cut.Archive
	}
	if found.cut.GetSequence() >= mark.Cut.Sequence {
		mark.Cut = journal.HeadOf(found.cut)
	}
	found.Cut = mark.Cut.Sequence
	w := &walker{ctx: ctx, mark: mark, at: mark.Cut, found: &found, visit: visit}
	scan, err := stream.Scan(w.record)
	found.Last, found.Epoch, found.Hash, found.head = w.at.Sequence, w.at.Epoch, fmt.Sprintf("%x", w.at.Hash), w.at
	if err != nil && !errors.Is(err, errStop) {
		return found, err
	}
	return found, w.judge(name, scan, s.beside)
}

// newestCut returns the newest cut that a journal says of itself, or nil; it
// looks only where the first batch is gone, or a mark speaks of a cut.
func newestCut(ctx context.Context, stream *streamfile.Stream, mark headmark.Mark) (cut *loomv1.JournalCut, err error) {
	_, err = stream.Scan(func(r streamfile.Record) error {
		if r.Sequence == 1 && mark.Cut.Sequence == 0 {
			return errStop
		}
		b, err := journal.Decode(r.Sequence, r.Data)
		if err != nil {
			return errStop // the walk will say so
		}
		if said := journal.Said(b); said.GetSequence() > cut.GetSequence() {
			cut = said
		}
		return ctx.Err()
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return cut, err
}

// record takes one record of the journal.
func (w *walker) record(r streamfile.Record) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if r.Sequence <= w.mark.Cut.Sequence {
		return nil
	}
	b, err := journal.Decode(r.Sequence, r.Data)
	if err == nil {
		w.at, err = journal.Check(w.at, r.Sequence, b)
		err = journal.Told(r.Sequence, r.Data, err)
	}
	if err != nil {
		w.broken = err
		return errStop
	}
	if w.found.First == 0 {
		w.found.First = r.Sequence
	}
	w.found.Events += len(b.Events)
	if m := w.mark.Head; r.Sequence == m.Sequence {
		w.marked = true
		if !equal(b.Hash, m.Hash) {
			w.broken = fault.New("journal/chain", "sequence %d is not the batch that was acknowledged there", r.Sequence)
			return errStop
		}
	}
	return w.visit(r.Sequence, b)
}

// judge says what is wrong with a journal that was scanned, if anything.
func (w *walker) judge(name string, scan streamfile.Scan, beside bool) error {
	if err := scan.Err(); err != nil && (w.broken == nil || scan.Damage[0].After <= w.at.Sequence) {
		return err
	}
	if w.broken != nil {
		e := *fault.From(w.broken)
		return e.At(name)
	}
	torn, isTorn := scan.Torn()
	if isTorn && !beside {
		w.found.Torn = fmt.Sprintf("%s ends within a record at byte %d", torn.Block, torn.Offset)
	}
	if seen := w.mark.Head.Sequence; w.at.Sequence < seen {
		e := headmark.Behind(name, w.at.Sequence, seen)
		if isTorn {
			e.Message += "; " + torn.Reason
		}
		return e
	}
	return nil
}
