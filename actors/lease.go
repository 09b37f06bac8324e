package actors

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/base/fault"
)

// Lease hands a partition to one host of several. It is for liveness alone:
// that two never write is what the journal's compare-and-set is for.
type Lease interface {
	// Acquire waits until this host holds the partition, or ctx ends.
	Acquire(ctx context.Context) (Tenure, error)
}

// Tenure is the time in which a host holds a partition.
type Tenure interface {
	// Valid says whether nobody else can hold it yet.
	Valid() bool
	// Lost is closed when it is over.
	Lost() <-chan struct{}
	// Release ends it, so that another host need not wait for it to lapse.
	Release(ctx context.Context)
}

// releaseWithin is how long a host that stops tries to hand a partition over.
const releaseWithin = 2 * time.Second

// leaseLost says that the tenure of a recovery is over.
type leaseLost struct{ incarnation uint64 }

var errLeaseLost = errors.New("another host may serve the partition by now")

// tenureOf waits until this host holds the partition; it keeps what it holds.
func (p *partition) tenureOf(ctx context.Context, held Tenure) (Tenure, error) {
	if p.Lease == nil || held != nil && held.Valid() {
		return held, nil
	}
	return p.Lease.Acquire(ctx)
}

// holds reports whether the partition is this host's to serve.
func (p *partition) holds() bool { return p.tenure == nil || p.tenure.Valid() }

// watchTenure has the partition told when its tenure ends before the recovery.
func (p *partition) watchTenure(c actor.Context) {
	if p.tenure == nil {
		return
	}
	ctx, lost, inc, root, self := p.ctx, p.tenure.Lost(), p.incarnation, c.ActorSystem().Root, c.Self()
	p.beside.aside(func() {
		select {
		case <-lost:
			root.Send(self, &leaseLost{inc})
		case <-ctx.Done():
		}
	})
}

// lost drops what this host has of the partition and waits for its turn.
func (p *partition) lost(c actor.Context, m *leaseLost) {
	if m.incarnation == p.incarnation && p.drop(c, p.keeper, errLeaseLost) {
		p.recover(c)
	}
}

// handOver gives the partition to whoever waits for it, once nothing of this
// host touches it any more, and runs then.
func (p *partition) handOver(then func()) {
	t, before := p.tenure, p.beside
	p.tenure = nil
	if t == nil {
		return
	}
	p.sys.aside(func() {
		if before != nil {
			before.done.Wait()
		}
		letGo(t)
		then()
	})
}

func letGo(t Tenure) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseWithin)
	defer cancel()
	t.Release(ctx)
}

// unheard waits until the partition has what was recovered, and lets go of the
// tenure if the recovery ends before: a partition that stops, or starts again, may
// never read its mail.
func (m *recovered) unheard(ctx context.Context) {
	select {
	case <-m.heard:
	case <-ctx.Done():
		if m.take() {
			letGo(m.tenure)
		}
	}
}

// triesWithin is how often a host tries to recover a partition before it lets
// another one try.
const triesWithin = 3

// yield hands the partition over when recovery does not help here. Damage is
// the same for everybody, and whoever holds the partition says so.
func (p *partition) yield(err error) {
	if p.failures >= triesWithin && fault.Status(err) != fault.Integrity {
		p.handOver(func() {})
	}
}

// handOver has a partition that this host serves given to another one.
type handOver struct{}

// HandOver gives a partition to whichever host takes it first; this one is
// among those that wait for it. What is under way is made durable or asked
// again. It does nothing when the partition is not served here.
func (p *Projects) HandOver(partition int) { p.sys.sys.Root.Send(p.partitions[partition], &handOver{}) }

var errHandedOver = errors.New("the partition is handed over")

// standBack is how long a host that gave a partition up leaves it to others.
const standBack = time.Second

// giveUp serves no longer, lets go, and then waits for its turn.
func (p *partition) giveUp(c actor.Context) {
	if p.tenure == nil || !p.drop(c, p.keeper, errHandedOver) {
		return
	}
	p.close()
	inc, root, self := p.incarnation, c.ActorSystem().Root, c.Self()
	p.handOver(func() {
		time.AfterFunc(standBack, func() { root.Send(self, &again{inc}) })
	})
}
