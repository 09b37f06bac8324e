package projection

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// head is how far a partition has been applied.
type head struct {
	epoch, sequence uint64
	hash            []byte
}

const selectHead = "SELECT epoch, seq, hash FROM positions WHERE partition = ?"

// Apply folds the batch with that sequence into the tables, in one
// transaction. A batch that was applied before changes nothing, so it is safe
// to repeat after any error. References into the events are kept: nobody may
// change them later.
//
// It refuses with projection/gap when a batch before it is missing, and with
// projection/diverged when it does not continue the chain that was applied
// (the journal was restored, or is another one): then [DB.Reset], and apply the
// journal from its beginning. An event that cannot be folded gives the fold's
// error, and nothing of the batch is applied.
func (d *DB) Apply(ctx context.Context, sequence uint64, batch *loomv1.Batch) error {
	return d.ApplyAll(ctx, sequence, []*loomv1.Batch{batch})
}

// ApplyAll is [DB.Apply] for batches of one partition that follow each other,
// first being the sequence of the first: all in one transaction, or none. It is
// several times faster than one by one.
func (d *DB) ApplyAll(ctx context.Context, first uint64, batches []*loomv1.Batch) error {
	if len(batches) == 0 {
		return nil
	}
	d.writing.Lock()
	defer d.writing.Unlock()
	w := newWriter(d)
	partition, last := batches[0].GetPartition(), uint64(0)
	err := inTx(ctx, d.write, func(tx *sql.Tx) (err error) {
		w.tx = tx
		last, err = w.follow(ctx, partition, first, batches)
		return err
	})
	if err != nil {
		w.forget()
		return failed("apply", err)
	}
	d.advance(partition, last, w.tallies)
	return nil
}

// Reset empties the projection, so that the journals can be applied from
// their beginning.
func (d *DB) Reset(ctx context.Context) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	err := inTx(ctx, d.write, func(tx *sql.Tx) error {
		tables, err := tablesOf(ctx, tx)
		for _, name := range tables {
			if err == nil {
				_, err = tx.ExecContext(ctx, "DELETE FROM "+name)
			}
		}
		return err
	})
	if err != nil {
		return failed("reset", err)
	}
	d.beads, d.executions, d.untold = shelf[*loomv1.Bead]{}, shelf[*execution]{}, untold{}
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.applied)
	clear(d.tallies)
	return nil
}

// follow applies the batches that come after the partition's head, and returns
// the sequence of the last.
func (w *writer) follow(ctx context.Context, partition uint32, first uint64, batches []*loomv1.Batch) (uint64, error) {
	h, err := readHead(w.query(ctx, "head").QueryRowContext(ctx, partition))
	if err != nil {
		return 0, err
	}
	if first > h.sequence+1 {
		return 0, fault.New("projection/gap", "partition %d: batch %d after batch %d", partition, first, h.sequence)
	}
	known := h.sequence
	for i, b := range batches {
		sequence := first + uint64(i)
		if b.GetPartition() != partition {
			return 0, fault.New("projection/diverged", "batch %d is of partition %d, not %d", sequence, b.GetPartition(), partition)
		}
		if sequence == h.sequence && !bytes.Equal(b.GetHash(), h.hash) || sequence == h.sequence+1 && !bytes.Equal(b.GetPrevious(), h.hash) {
			return 0, fault.New("projection/diverged", "partition %d: batch %d does not continue what was applied", partition, sequence)
		}
		if sequence <= known {
			continue
		}
		for _, e := range b.GetEvents() {
			if err := w.event(ctx, e); err != nil {
				return 0, err
			}
		}
		h = head{b.GetEpoch(), sequence, b.GetHash()}
	}
	if h.sequence == known {
		return known, nil
	}
	if err := w.flush(ctx); err != nil {
		return 0, err
	}
	if h.hash == nil {
		h.hash = []byte{}
	}
	return h.sequence, w.exec(ctx, "position", partition, h.epoch, h.sequence, h.hash)
}

func readHead(row *sql.Row) (h head, err error) {
	err = row.Scan(&h.epoch, &h.sequence, &h.hash)
	if errors.Is(err, sql.ErrNoRows) {
		return head{}, nil
	}
	return h, err
}

// heads reads the heads of all partitions.
func (d *DB) heads(ctx context.Context) (map[uint32]head, error) {
	rows, err := d.write.QueryContext(ctx, "SELECT partition, epoch, seq, hash FROM positions")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	heads := map[uint32]head{}
	for rows.Next() {
		var partition uint32
		var h head
		if err := rows.Scan(&partition, &h.epoch, &h.sequence, &h.hash); err != nil {
			return nil, err
		}
		heads[partition] = h
	}
	return heads, rows.Err()
}
