package actors

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// replica answers reads of the decision graphs of a partition that another
// host serves, from a fold of this host. It follows the journal from the first
// question on, and drops what it has when nobody has asked for a while.
type replica struct {
	sys       *System
	ctx       context.Context // of the host
	log       journal.Log
	snapshots journal.Snapshots
	base      func(ctx context.Context) (*loomv1.JournalBase, error)
	slog      *slog.Logger
	idle      time.Duration

	mu    sync.Mutex
	fold  *fold      // nil while nobody asks
	loop  *actor.PID // that follows the journal into it
	asks  int
	timer *time.Timer
}

func newReplica(ctx context.Context, s *System, p Partition) *replica {
	return &replica{sys: s, ctx: ctx, log: p.Log, snapshots: p.Snapshots, base: p.Base, slog: p.Logger, idle: cmp.Or(p.GraphIdle, 10*time.Minute)}
}

// ask answers a question once the fold has seen what it has to have seen.
func (r *replica) ask(ctx context.Context, q *loomv1.GraphRequest) (reply *loomv1.GraphReply, err error) {
	err = r.read(ctx, q.GetProject(), q.AtLeast, func(c *project.Replica) error {
		reply, err = c.Ask(q)
		return err
	})
	return reply, err
}

// look gives the view of a graph as of everything that was acknowledged.
func (r *replica) look(ctx context.Context, q *loomv1.Query) (view *loomv1.View, err error) {
	err = r.read(ctx, q.GetProject(), nil, func(c *project.Replica) error {
		view, err = c.Look(q)
		return err
	})
	return view, err
}

// read lets f read the fold. It blocks until that has seen the project's event
// number atLeast or, where that is nil, everything that is in the journal.
func (r *replica) read(ctx context.Context, id string, atLeast *uint64, f func(*project.Replica) error) error {
	fold := r.begin()
	defer r.end()
	if err := fold.until(ctx, func() bool { return fold.begun }); err != nil {
		return err
	}
	if atLeast == nil || fold.number(id) < *atLeast {
		last, _, err := r.log.Last(ctx)
		if err != nil {
			return err
		}
		if err := fold.until(ctx, func() bool { return fold.head.Sequence >= last }); err != nil {
			return err
		}
	}
	fold.mu.Lock()
	defer fold.mu.Unlock()
	return f(&fold.core)
}

// begin returns the fold, which is followed from here on.
func (r *replica) begin() *fold {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asks++
	if r.fold != nil {
		return r.fold
	}
	f := &fold{changed: make(chan struct{}), partition: r.log.Partition()}
	r.fold = f
	r.loop = r.sys.start(fmt.Sprintf("replica-%02d", f.partition), actor.PropsFromProducer(func() actor.Actor {
		return newLoop(r.ctx, r.sys, func(ctx context.Context) error { return f.follow(ctx, r) })
	}))
	return f
}

// end has the fold dropped when nobody asks for long enough.
func (r *replica) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asks--
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.asks == 0 {
		r.timer = time.AfterFunc(r.idle, r.rest)
	}
}

func (r *replica) rest() {
	r.mu.Lock()
	loop := r.loop
	if r.asks > 0 || r.fold == nil {
		r.mu.Unlock()
		return
	}
	r.fold, r.loop = nil, nil
	r.mu.Unlock()
	r.sys.stopActor(loop)
}

// fold is what has been read of a journal.
type fold struct {
	partition int

	mu      sync.Mutex
	core    project.Replica
	head    journal.Head
	begun   bool          // it has what the journal had when it began
	whole   bool          // its snapshots do not fit: it reads from the beginning
	damage  error         // of the journal, read from the beginning
	changed chan struct{} // closed, and made anew, when there is more
}

// until waits until what is asked for, under the lock, is so.
func (f *fold) until(ctx context.Context, is func() bool) error {
	for {
		f.mu.Lock()
		done, changed, damage := is(), f.changed, f.damage
		f.mu.Unlock()
		if done || damage != nil {
			return damage
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fault.New("host/unavailable", "the journal of partition %d was not read in time", f.partition).Because(ctx.Err())
		}
	}
}

func (f *fold) number(id string) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.core.Number(id)
}

// follow reads the journal from where the fold is until ctx ends or something
// fails; then it may be called again.
func (f *fold) follow(ctx context.Context, r *replica) error {
	if err := f.restore(ctx, r); err != nil {
		return err
	}
	err := r.log.Read(ctx, f.next(), f.batch)
	if err == nil {
		f.change(func() { f.begun = true })
		err = r.log.Follow(ctx, f.next(), f.batch)
	}
	if fault.Status(err) == fault.Integrity {
		f.forget(err)
	}
	return err
}

// forget has the journal read from its beginning: the snapshots may be of
// another one. If that was tried, the journal is damaged.
func (f *fold) forget(why error) {
	f.change(func() {
		if f.whole {
			f.damage = why
		}
		f.core, f.head, f.begun, f.whole = project.Replica{}, journal.Head{}, false, true
	})
}

// restore begins with the newest snapshots, if there are any that fit.
func (f *fold) restore(ctx context.Context, r *replica) error {
	if f.next() > 1 {
		return nil
	}
	if !f.whole {
		if err := f.fromSnapshots(ctx, r); err != nil {
			return err
		}
	}
	return f.fromBase(ctx, r)
}

// fromBase begins with what the journal begins with, if it lacks the batch that
// would be next.
func (f *fold) fromBase(ctx context.Context, r *replica) error {
	base, err := baseOf(ctx, r.log, r.base, f.next()-1)
	if err != nil || base == nil {
		return err
	}
	var core project.Replica
	for _, b := range base.Projects {
		if err := core.Restore(b.Project, b.State, nil); err != nil {
			return err
		}
	}
	f.change(func() {
		f.core, f.head = core, journal.Head{Sequence: base.Sequence, Epoch: base.Epoch, Hash: base.Hash}
	})
	return nil
}

func (f *fold) fromSnapshots(ctx context.Context, r *replica) error {
	index, err := r.snapshots.Index(ctx, f.partition)
	if err != nil || index.GetFloor() == 0 {
		return err
	}
	var core project.Replica
	for id, ref := range index.Projects {
		snap, err := r.snapshots.Load(ctx, ref)
		if err == nil && snap != nil {
			err = core.Restore(id, snap.State, journal.NewSegments(ctx, r.snapshots))
		}
		if err != nil || snap == nil {
			r.slog.Warn("snapshot is not usable; reading the journal from its beginning", "project", id, "error", err)
			return nil
		}
	}
	f.change(func() { f.core, f.head = core, journal.Head{Sequence: index.Floor, Hash: index.FloorHash} })
	return nil
}

func (f *fold) next() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.head.Sequence + 1
}

func (f *fold) batch(seq uint64, b *loomv1.Batch) error {
	head, err := journal.Check(f.head, seq, b) // nobody else writes it
	if err != nil {
		return err
	}
	f.change(func() {
		for _, e := range b.Events {
			f.core.Apply(e)
		}
		f.head = head
	})
	return nil
}

func (f *fold) change(by func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	by()
	close(f.changed)
	f.changed = make(chan struct{})
}
