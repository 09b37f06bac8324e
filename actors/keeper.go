package actors

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Sizes of a batch in bytes of encoded events: what it aims at, and what one
// command's events may not exceed.
const (
	batchAim  = 256 << 10
	batchMost = 1000 << 10
)

// keeper is the only appender of a partition. One append is under way at a
// time; all that arrives meanwhile goes into the next batch, so the cost of an
// fsync is shared by everybody who waits.
type keeper struct {
	log     journal.Log
	head    journal.Head
	epoch   uint64
	writer  string
	out     *outbox
	parent  *actor.PID
	slog    *slog.Logger
	ctx     context.Context
	aside   func(func())
	snaps   *snapshotter
	serial  uint64
	waiting []*propose
	flying  []*propose        // in the append under way; nil when there is none
	over    map[string]uint64 // by project, the newest of its lives that has ended
	ending  []*endLife        // that wait for the append under way
	broken  bool
	sure    bool // nobody else can append after head: an append of an earlier tenure may still be on its way until ours is in
}

// propose asks the keeper to make events durable. Without events it asks to be
// told when everything proposed before is durable.
type propose struct {
	from    *actor.PID
	project string
	life    uint64
	ticket  uint64
	events  []*loomv1.Event
	work    []*loomv1.Assignment
	size    int // of the events, encoded
}

// endLife asks the keeper to drop what a life of a project has proposed, but for what
// is being appended; nothing of it is taken afterwards. It answers with lifeEnded
// once the append under way is settled.
type endLife struct {
	from    *actor.PID
	project string
	life    uint64
}

// lifeEnded says that the journal has all that it will ever have of a life: what
// stands in it up to head.
type lifeEnded struct {
	life uint64
	head journal.Head
}

// appended is the outcome of an append.
type appended struct {
	head journal.Head
	err  error
}

// journalFailed tells the partition that its working state is worth nothing
// any more: it must recover from the journal.
type journalFailed struct {
	from *actor.PID
	err  error
}

func (k *keeper) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *propose:
		if m.life > k.over[m.project] {
			k.waiting = append(k.waiting, m)
			k.next(c)
		}
	case *endLife:
		k.endLife(c, m)
	case *appended:
		k.settled(c, m)
	}
}

// endLife drops what a life has proposed.
func (k *keeper) endLife(c actor.Context, m *endLife) {
	if k.over == nil {
		k.over = map[string]uint64{}
	}
	k.over[m.project] = max(k.over[m.project], m.life)
	k.waiting = slices.DeleteFunc(k.waiting, func(p *propose) bool { return p.project == m.project && p.life <= m.life })
	k.ending = append(k.ending, m)
	k.tellEnded(c)
}

// tellEnded answers those who wait for the end of a life, unless an append is under way.
func (k *keeper) tellEnded(c actor.Context) {
	if k.flying != nil || k.broken {
		return
	}
	for _, m := range k.ending {
		c.Send(m.from, &lifeEnded{m.life, k.head})
	}
	k.ending = nil
}

// next begins an append of what waits, unless one is under way.
func (k *keeper) next(c actor.Context) {
	for !k.broken && k.flying == nil && len(k.waiting) > 0 {
		batch := k.take()
		var events []*loomv1.Event
		for _, p := range batch {
			events = append(events, p.events...)
		}
		if len(events) == 0 && k.sure {
			k.publish(batch)
			k.ack(c, batch, k.head)
			continue
		}
		k.flying = batch
		root, self := c.ActorSystem().Root, c.Self()
		if len(events) == 0 {
			k.aside(func() { root.Send(self, k.confirm()) })
			continue
		}
		k.serial++
		id := fmt.Sprintf("%s-%d", k.writer, k.serial)
		k.aside(func() { root.Send(self, k.append(id, events)) })
	}
}

// take removes as many proposals as fit into one batch.
func (k *keeper) take() []*propose {
	size := 0
	for i, p := range k.waiting {
		if size += p.size; i > 0 && size > batchAim {
			batch := k.waiting[:i:i]
			k.waiting = k.waiting[i:]
			return batch
		}
	}
	batch := k.waiting
	k.waiting = nil
	return batch
}

func sizeOf(events []*loomv1.Event) int {
	n := 0
	for _, e := range events {
		n += proto.Size(e) + 8
	}
	return n
}

// append writes one batch and finds out what became of it. It runs beside the
// actor; only it touches the journal.
func (k *keeper) append(id string, events []*loomv1.Event) (out *appended) {
	defer func() {
		if r := recover(); r != nil { // such as text that has no encoding
			out = &appended{err: fmt.Errorf("batch %s: %v", id, r)}
		}
	}()
	b := journal.Seal(k.head, k.log.Partition(), k.epoch, k.writer, id, events)
	seq, err := k.log.Append(k.ctx, k.head.Sequence, b)
	switch {
	case err == nil:
		return &appended{head: journal.Head{Sequence: seq, Epoch: k.epoch, Hash: b.Hash}}
	case fault.Code(err) == "journal/unknown":
		head, err := k.settle(b, err)
		return &appended{head: head, err: err}
	}
	return &appended{err: err}
}

// settle asks the journal until it says whether b is in. It never appends, and
// it gives up when the journal itself is what is wrong.
func (k *keeper) settle(b journal.Sealed, unknown error) (journal.Head, error) {
	var head journal.Head
	var in bool
	err := k.ask(func() (err error) {
		in, head, err = journal.Settle(k.ctx, k.log, k.head, b)
		return err
	})
	switch {
	case err == nil && in:
		return head, nil
	case err == nil || k.ctx.Err() != nil:
		return journal.Head{}, fmt.Errorf("batch %s is not known to be in the journal: %w", b.Id, unknown)
	}
	return journal.Head{}, fmt.Errorf("batch %s: %w", b.Id, err)
}

// confirm finds out whether the journal still ends where this keeper began: what
// an earlier holder of the partition had sent may have come in since, and what
// is answered without an append would not know of it. This is the read of
// Raft's section 6.4, with the journal in the place of a majority.
func (k *keeper) confirm() *appended {
	err := k.ask(func() error {
		last, _, err := k.log.Last(k.ctx)
		if err == nil && last != k.head.Sequence {
			return fault.New("journal/moved", "the journal ends at %d and not at %d", last, k.head.Sequence)
		}
		return err
	})
	return &appended{head: k.head, err: err}
}

// ask asks the journal until it answers, or the recovery ends.
func (k *keeper) ask(question func() error) error {
	wait := 50 * time.Millisecond
	for {
		err := question()
		if err == nil || k.ctx.Err() != nil || fault.Status(err) != fault.Unavailable {
			return err
		}
		k.slog.Warn("the journal does not answer", "partition", k.log.Partition(), "error", err)
		select {
		case <-time.After(wait):
			wait = min(2*wait, 2*time.Second)
		case <-k.ctx.Done():
		}
	}
}

func (k *keeper) settled(c actor.Context, m *appended) {
	batch := k.flying
	k.flying = nil
	if m.err != nil {
		k.broken = true
		c.Send(k.parent, &journalFailed{c.Self(), m.err})
		return
	}
	before := k.head
	k.head = m.head
	for _, p := range batch { // before anybody is told, so that no floor passes one who is not
		if len(p.events) > 0 {
			k.sure = true
			k.snaps.touched(p.events[0].Project, k.head)
		}
	}
	k.publish(batch)
	k.ack(c, batch, before)
	k.tellEnded(c)
	k.next(c)
}

// publish hands the batch's events and assignments to the outbox.
func (k *keeper) publish(batch []*propose) {
	b := told{epoch: k.epoch, sequence: k.head.Sequence}
	var work []*loomv1.Assignment
	for _, p := range batch {
		b.events = append(b.events, p.events...)
		work = append(work, p.work...)
	}
	k.out.put(work, b)
}

func (k *keeper) ack(c actor.Context, batch []*propose, before journal.Head) {
	for _, p := range batch {
		c.Send(p.from, &acked{life: p.life, ticket: p.ticket, before: before, events: len(p.events), size: p.size})
	}
}
