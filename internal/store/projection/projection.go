// Package projection keeps a copy of the journals in SQLite, for queries,
// metrics and people: beads, workflows, executions with their state,
// transitions, visits of nodes, approvals, and running counts. It is derived:
// what it holds is a fold over the batches it was given, in their order, so a
// file that is deleted and filled again from the journals is equal. Nothing
// decides by it, and losing it loses nothing.
package projection

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// DB is an open projection. It is safe for concurrent use: writes are done one
// after another, reads see the last transaction that was committed.
type DB struct {
	path  string
	read  atomic.Pointer[sql.DB]
	bases Bases

	writing    sync.Mutex           // held for a whole transaction; guards what follows
	write      *sql.DB              // one connection
	queries    map[string]*sql.Stmt // of write
	beads      shelf[*loomv1.Bead]
	executions shelf[*execution]
	untold     untold
	actors     actors

	mu      sync.Mutex
	files   files // that are open
	serial  int   // of these files; one more with each that are begun
	applied map[uint32]uint64
	tallies map[tallyKey]int64
	waiting map[uint32]int           // how many wait for more of a partition
	asked   map[uint32]chan struct{} // sent to when one more does
	broken  map[uint32]error         // why a partition is not followed
	changed chan struct{}            // closed and replaced whenever applied grows
	closed  chan struct{}
}

// Close ends the projection after the transaction that runs. Who waits in
// [DB.WaitFor] is told. It may be called again.
func (d *DB) Close() error {
	d.mu.Lock()
	select {
	case <-d.closed:
		d.mu.Unlock()
		return nil
	default:
		close(d.closed)
	}
	d.mu.Unlock()

	_ = d.tell(context.Background(), 0) // else it is done after the next opening
	d.writing.Lock()
	defer d.writing.Unlock()
	d.read.Load().Close()
	if err := d.write.Close(); err != nil {
		return failed("close", err)
	}
	return nil
}

// Position returns what of a partition has been applied: the sequence and the
// hash of the last batch, or 0 and nil when there is none yet.
func (d *DB) Position(ctx context.Context, partition int) (sequence uint64, hash []byte, err error) {
	h, err := readHead(d.read.Load().QueryRowContext(ctx, selectHead, partition))
	if err != nil {
		return 0, nil, failed("read the position", err)
	}
	return h.sequence, h.hash, nil
}

// WaitFor blocks until the batch with that sequence has been applied, ctx
// ends, or the projection is closed. Whoever follows that partition hurries.
func (d *DB) WaitFor(ctx context.Context, partition int, sequence uint64) error {
	if d.Applied(partition) >= sequence {
		return nil
	}
	d.wait(partition, 1)
	defer d.wait(partition, -1)
	for {
		d.mu.Lock()
		applied, changed := d.applied[uint32(partition)], d.changed
		d.mu.Unlock()
		if applied >= sequence {
			return nil
		}
		select {
		case <-changed:
		case <-d.closed:
			return fault.New("projection/closed", "the projection is closed")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait counts who waits, and wakes who follows.
func (d *DB) wait(partition, n int) {
	asked := d.demand(partition)
	d.mu.Lock()
	d.waiting[uint32(partition)] += n
	d.mu.Unlock()
	if n > 0 {
		select {
		case asked <- struct{}{}:
		default:
		}
	}
}

// advance makes known what a transaction has added.
func (d *DB) advance(partition uint32, sequence uint64, tallies map[tallyKey]int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.applied[partition] = sequence
	delete(d.broken, partition)
	for k, n := range tallies {
		d.tallies[k] += n
	}
	close(d.changed)
	d.changed = make(chan struct{})
}
