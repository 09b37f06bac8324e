package projection

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds on what shares a transaction: a batch waits at most for the window to
// pass since the last one, and not at all for somebody in [DB.WaitFor].
const (
	window      = 500 * time.Millisecond
	mostBatches = 1024
	mostEvents  = 1 << 14
	// lookEvery is how often it is seen whether the files are still there.
	lookEvery = time.Second
)

// Follow applies a journal from where the projection is, and goes on with what
// comes, until ctx ends or something fails; then it may be called again. What
// it fails with is what [DB.Failed] tells until a batch is applied again. A
// journal is followed once at a time.
//
// It fails with projection/gone when files of the projection were deleted, or
// others put in their place, which it sees within a second or so. Then, and when
// the file is damaged, new ones have been begun when it returns, and whoever
// calls it again fills them from the journals.
func (d *DB) Follow(ctx context.Context, log journal.Log) error {
	serial := d.which()
	err := d.follow(ctx, log, serial)
	if ctx.Err() != nil {
		return err
	}
	if d.gone() || unusable(err) {
		err = errors.Join(err, d.renew(ctx, serial))
	}
	d.fail(log.Partition(), err)
	return err
}

func (d *DB) follow(ctx context.Context, log journal.Log, serial int) error {
	sequence, _, err := d.Position(ctx, log.Partition())
	if err == nil {
		sequence, err = d.rebase(ctx, log, sequence)
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &pending{db: d, partition: log.Partition(), serial: serial, next: sequence + 1, timer: time.NewTimer(window)}
	read, ended := make(chan found, 256), make(chan error, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		ended <- log.Follow(ctx, sequence+1, func(sequence uint64, b *loomv1.Batch) error {
			select {
			case read <- found{sequence, b}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	err = p.run(ctx, read, ended)
	stop()
	reading.Wait()
	return err
}

// found is a batch as the journal has it.
type found struct {
	sequence uint64
	batch    *loomv1.Batch
}

// pending are the batches of a journal that were read and not applied yet.
type pending struct {
	db        *DB
	partition int
	serial    int    // of the files
	next      uint64 // sequence of the first
	batches   []*loomv1.Batch
	events    int
	last      time.Time // of the last transaction
	timer     *time.Timer
}

// run collects batches and applies them, the last ones when ctx ends, too. It
// returns what the reader ended with.
func (p *pending) run(ctx context.Context, read <-chan found, ended <-chan error) error {
	asked := p.db.demand(p.partition)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	defer p.timer.Stop()
	for {
		var err error
		select {
		case <-look.C:
			if err = p.look(); err == nil {
				err = p.db.tell(ctx, rest)
			}
		case f := <-read:
			if err = p.add(ctx, f); err == nil && (p.full() || len(read) == 0 && p.db.wanted(p.partition)) {
				err = p.apply(ctx)
			}
		case <-asked:
			err = p.apply(ctx)
		case <-p.timer.C:
			err = p.apply(ctx)
		case why := <-ended:
			return errors.Join(why, p.rest(context.WithoutCancel(ctx), read))
		}
		if err != nil {
			return err
		}
	}
}

// look returns projection/gone when the files are not those that the journal is
// followed into.
func (p *pending) look() error {
	if p.db.which() == p.serial && !p.db.gone() {
		return nil
	}
	return fault.New("projection/gone", "files of the projection were deleted, replaced or damaged; they are made again from the journals").At(p.db.path)
}

// rest applies what the reader has left behind.
func (p *pending) rest(ctx context.Context, read <-chan found) error {
	for {
		select {
		case f := <-read:
			if err := p.add(ctx, f); err != nil {
				return err
			}
		default:
			return p.apply(ctx)
		}
	}
}

// add keeps a batch for the next transaction, which gets a batch alone that
// does not follow the last: the tables say what is wrong with it.
func (p *pending) add(ctx context.Context, f found) error {
	if f.sequence != p.next+uint64(len(p.batches)) {
		if err := p.apply(ctx); err != nil {
			return err
		}
		p.next = f.sequence
	}
	p.batches, p.events = append(p.batches, f.batch), p.events+len(f.batch.GetEvents())
	if len(p.batches) == 1 {
		p.timer.Reset(window - time.Since(p.last))
	}
	return nil
}

func (p *pending) full() bool { return len(p.batches) >= mostBatches || p.events >= mostEvents }

func (p *pending) apply(ctx context.Context) error {
	if len(p.batches) == 0 {
		return nil
	}
	err := p.db.ApplyAll(ctx, p.next, p.batches)
	p.next, p.batches, p.events, p.last = p.next+uint64(len(p.batches)), nil, 0, time.Now()
	return err
}

// demand returns a channel that is sent to when somebody waits for more of a
// partition than is applied.
func (d *DB) demand(partition int) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.asked[uint32(partition)]
	if c == nil {
		c = make(chan struct{}, 1)
		d.asked[uint32(partition)] = c
	}
	return c
}

// wanted reports whether somebody waits for more of a partition than is applied.
func (d *DB) wanted(partition int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting[uint32(partition)] > 0
}

// fail notes why a partition is not followed; nil that it is.
func (d *DB) fail(partition int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken[uint32(partition)] = err
}

// Failed returns why a partition is not followed any more, or nil.
func (d *DB) Failed(partition int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken[uint32(partition)]
}

// Applied returns the sequence of the last batch of a partition that was
// applied, like [DB.Position] but without reading a table.
func (d *DB) Applied(partition int) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.applied[uint32(partition)]
}
