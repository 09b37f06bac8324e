package atrest

import (
	"context"
	"errors"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	"github.com/loomrun/loom/internal/store/natsjournal"
	"github.com/loomrun/loom/internal/store/streamfile"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Log reads a journal; it implements [journal.Log].
type Log struct {
	files     *streamfile.Stream
	partition int

	blocks []uint32
	first  []uint64 // sequences that the blocks begin with
	last   uint64
}

var _ journal.Log = (*Log)(nil)

// OpenLog opens a partition's journal in the data directory at dir. It returns
// data/damaged where its files are not what a server wrote.
func OpenLog(dir string, partition int) (*Log, error) {
	s, err := stream(dir, natsjournal.Stream(partition))
	if err != nil {
		return nil, err
	}
	l := &Log{files: s, partition: partition}
	scan, err := s.Scan(func(r streamfile.Record) error {
		if n := len(l.blocks); n == 0 || l.blocks[n-1] != r.Block {
			l.blocks, l.first = append(l.blocks, r.Block), append(l.first, r.Sequence)
		}
		l.last = r.Sequence
		return nil
	})
	if err == nil {
		err = scan.Err()
	}
	return l, err
}

// Partition is that of [journal.Log].
func (l *Log) Partition() int { return l.partition }

// Append refuses.
func (l *Log) Append(context.Context, uint64, journal.Sealed) (uint64, error) { return 0, readOnly() }

// Last is that of [journal.Log].
func (l *Log) Last(ctx context.Context) (seq uint64, newest *loomv1.Batch, err error) {
	if l.last == 0 {
		return 0, nil, nil
	}
	err = l.Read(ctx, l.last, func(at uint64, b *loomv1.Batch) error {
		seq, newest = at, b
		return nil
	})
	return seq, newest, err
}

// errEnd says that the journal has no more than there was when it was opened.
var errEnd = errors.New("the end of the journal")

// Read is that of [journal.Log].
func (l *Log) Read(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error {
	var reading journal.Reading
	_, err := l.files.ScanBlocks(l.blocks[l.begin(from):], func(r streamfile.Record) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case r.Sequence < from:
			return nil
		case r.Sequence > l.last:
			return errEnd
		}
		if err := reading.Next(r.Sequence, r.Data); err != nil {
			return fault.From(err).At(natsjournal.Stream(l.partition))
		}
		b, err := journal.Decode(r.Sequence, r.Data)
		if err != nil {
			return err
		}
		return journal.Told(r.Sequence, r.Data, fn(r.Sequence, b))
	})
	if errors.Is(err, errEnd) {
		return nil
	}
	return err
}

// begin returns the block that holds a sequence, or the one to begin with.
func (l *Log) begin(seq uint64) (block int) {
	for i, first := range l.first {
		if first <= seq {
			block = i
		}
	}
	return block
}

// Follow is Read, and then waits until ctx ends: nothing is written.
func (l *Log) Follow(ctx context.Context, from uint64, fn func(seq uint64, b *loomv1.Batch) error) error {
	if err := l.Read(ctx, from, fn); err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}
