package host

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (h *Host) serveCost(ctx context.Context, c call) proto.Message {
	q := &loomv1.CostRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.CostReply
		if reply, err = h.cost(ctx, q); err == nil {
			return reply
		}
	}
	return &loomv1.CostReply{Error: fault.From(err).Proto()}
}

// cost answers from the projection, once it has all that the journals have.
func (h *Host) cost(ctx context.Context, q *loomv1.CostRequest) (*loomv1.CostReply, error) {
	if err := h.checkMetrics(&loomv1.MetricsRequest{Project: q.Project, From: q.From, To: q.To}); err != nil {
		return nil, err
	}
	reply := &loomv1.CostReply{AsOf: timestamppb.Now(), Prices: price.AsOf}
	for _, log := range h.logs {
		if q.Project != "" && log.Partition() != h.partition(q.Project) {
			continue
		}
		if err := h.caughtUp(ctx, log.Partition()); err != nil {
			return nil, err
		}
	}
	var err error
	reply.Costs, reply.Total, err = h.projection.Costs(ctx, q)
	return reply, err
}
