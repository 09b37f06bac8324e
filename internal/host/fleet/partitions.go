package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/staffing"
	"github.com/loomrun/loom/internal/host/largebrief"
	"github.com/loomrun/loom/internal/net/lease"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// partitionName is the name under which whichever host serves a partition is asked.
func partitionName(n int) string { return fmt.Sprintf("partition-%02d", n) }

// Elsewhere asks the hosts that serve what this one does not; nil on a host that is
// alone.
func (f *Fleet) Elsewhere() actors.Elsewhere {
	if !f.Clustered() {
		return nil
	}
	return others{f.config}
}

type others struct{ config Config }

// Ask implements actors.Elsewhere. Its requests are idempotent.
func (o others) Ask(ctx context.Context, partition int, r *loomv1.CellRequest) (*loomv1.CellReply, error) {
	m, err := o.config.Wire.Call(ctx, partitionName(partition), r)
	if err != nil {
		return nil, err
	}
	reply, ok := m.(*loomv1.CellReply)
	if !ok {
		return nil, fault.New("host/unavailable", "whoever serves partition %d answers with %T", partition, m)
	}
	return reply, largebrief.Unpack(ctx, reply.GetAnswer(), o.config.Blobs.Get)
}

// Open makes a partition that this host serves reached by the others, until
// shut is called.
func (f *Fleet) Open(partition int) (shut func()) {
	ctx, cancel := context.WithCancel(f.config.Running)
	f.done.Go(func() { f.serve(ctx, partition) })
	return cancel
}

// serveAgain is after how long a name that could not be had is tried again.
const serveAgain = time.Second

// serve has other hosts reach a partition here until ctx ends.
func (f *Fleet) serve(ctx context.Context, partition int) {
	for ctx.Err() == nil {
		stop, err := f.config.Wire.ServeFunc(partitionName(partition), func(ctx context.Context, m proto.Message) proto.Message {
			return f.asked(ctx, partition, m)
		})
		if err == nil {
			<-ctx.Done()
			stop()
			return
		}
		f.config.Log.Error("a partition cannot be reached by other hosts", "partition", partition, "error", err)
		select {
		case <-time.After(serveAgain):
		case <-ctx.Done():
		}
	}
}

// asked answers another host.
func (f *Fleet) asked(ctx context.Context, partition int, m proto.Message) proto.Message {
	r, ok := m.(*loomv1.CellRequest)
	projects := f.config.Projects()
	switch {
	case !ok:
		return &loomv1.CellReply{Error: fault.New("command/malformed", "a partition understands no %T", m).Proto()}
	case projects == nil:
		return &loomv1.CellReply{Error: fault.New("host/unavailable", "this host is starting").Proto()}
	}
	reply := projects.Serve(ctx, partition, r)
	if reply.GetAnswer() == nil {
		return reply
	}
	answer, err := largebrief.Pack(ctx, reply.GetAnswer(), f.config.Blobs.Put)
	if err != nil {
		return &loomv1.CellReply{Error: fault.From(err).Proto()}
	}
	return &loomv1.CellReply{Error: reply.Error, Body: &loomv1.CellReply_Answer{Answer: answer}}
}

// Lease returns the lease of a partition, as the partition sees it.
func (f *Fleet) Lease(partition int) actors.Lease { return leaseTurn{f, partition} }

type leaseTurn struct {
	fleet     *Fleet
	partition int
}

// standBack is how long a host waits for each living host that comes before it
// in a partition's order, so that partitions are spread when hosts start at
// about the same time.
const standBack = 150 * time.Millisecond

// partitionKey is the lease of a partition.
func partitionKey(n int) string { return fmt.Sprintf("partition.%02d", n) }

// Acquire implements actors.Lease.
func (t leaseTurn) Acquire(ctx context.Context) (actors.Tenure, error) {
	key, name := partitionKey(t.partition), t.fleet.config.Host
	if err := t.fleet.hearing.mayServe(ctx); err != nil {
		return nil, err
	}
	rank := staffing.Rank(key, name, slices.Collect(maps.Keys(t.fleet.members())))
	select {
	case <-time.After(time.Duration(rank) * standBack):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	held, err := t.fleet.config.Leases.Acquire(ctx, key, []byte(name), lease.Own(func(old []byte) bool { return string(old) == name }))
	if err != nil {
		return nil, err
	}
	return tenure{held}, nil
}

type tenure struct{ *lease.Held }

// Release implements actors.Tenure: a lease that is not given back ends by
// itself.
func (t tenure) Release(ctx context.Context) { _ = t.Held.Release(ctx) }
