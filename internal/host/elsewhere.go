package host

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/largebrief"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// partitionName is the name that whichever host serves a partition bears.
func partitionName(n int) string { return fmt.Sprintf("partition-%02d", n) }

// others asks the hosts that serve what this one does not.
type others struct{ h *Host }

// Ask implements actors.Elsewhere. All that it asks can be asked twice.
func (o others) Ask(ctx context.Context, partition int, r *loomv1.CellRequest) (*loomv1.CellReply, error) {
	m, err := o.h.fleet.wire.Call(ctx, partitionName(partition), r)
	if err != nil {
		return nil, err
	}
	reply, ok := m.(*loomv1.CellReply)
	if !ok {
		return nil, fault.New("host/unavailable", "whoever serves partition %d answers with %T", partition, m)
	}
	return reply, largebrief.Unpack(ctx, reply.GetAnswer(), o.h.blobs.Get)
}

// elsewhere asks other hosts; nil on a host that is alone.
func (h *Host) elsewhere() actors.Elsewhere {
	if h.fleet.leases == nil {
		return nil
	}
	return others{h}
}

// open makes a partition that this host serves reached by the others, until
// shut is called.
func (h *Host) open(partition int) (shut func()) {
	ctx, cancel := context.WithCancel(h.ctx)
	h.fleet.done.Go(func() { h.bear(ctx, partition) })
	return cancel
}

// bearAgain is after how long a name that could not be had is tried again.
const bearAgain = time.Second

// bear has other hosts reach a partition here until ctx ends.
func (h *Host) bear(ctx context.Context, partition int) {
	for ctx.Err() == nil {
		stop, err := h.fleet.wire.ServeFunc(partitionName(partition), func(ctx context.Context, m proto.Message) proto.Message {
			return h.asked(ctx, partition, m)
		})
		if err == nil {
			<-ctx.Done()
			stop()
			return
		}
		h.log.Error("a partition cannot be reached by other hosts", "partition", partition, "error", err)
		select {
		case <-time.After(bearAgain):
		case <-ctx.Done():
		}
	}
}

// asked answers another host.
func (h *Host) asked(ctx context.Context, partition int, m proto.Message) proto.Message {
	r, ok := m.(*loomv1.CellRequest)
	projects := h.way()
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
	answer, err := largebrief.Pack(ctx, reply.GetAnswer(), h.blobs.Put)
	if err != nil {
		return &loomv1.CellReply{Error: fault.From(err).Proto()}
	}
	return &loomv1.CellReply{Error: reply.Error, Body: &loomv1.CellReply_Answer{Answer: answer}}
}
