package host

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

func (h *Host) serveMetrics(ctx context.Context, c call) proto.Message {
	q := &loomv1.MetricsRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.MetricsReply
		if reply, err = h.metrics(ctx, q); err == nil {
			return reply
		}
	}
	return &loomv1.MetricsReply{Error: fault.From(err).Proto()}
}

// metrics answers from the projection, once it has all that the journals have.
func (h *Host) metrics(ctx context.Context, q *loomv1.MetricsRequest) (*loomv1.MetricsReply, error) {
	if err := h.checkMetrics(q); err != nil {
		return nil, err
	}
	asOf := timestamppb.Now()
	for _, log := range h.logs {
		if q.Project != "" && log.Partition() != h.partition(q.Project) {
			continue
		}
		if err := h.caughtUp(ctx, log.Partition()); err != nil {
			return nil, err
		}
	}
	all, err := h.projection.Metrics(ctx, q)
	return &loomv1.MetricsReply{Workflows: all, AsOf: asOf}, err
}

// caughtUp waits until the projection has what a journal has now.
func (h *Host) caughtUp(ctx context.Context, partition int) error {
	last, _, err := h.logs[partition].Last(ctx)
	if err != nil {
		return err
	}
	return h.projection.WaitFor(ctx, partition, last)
}

func (h *Host) checkMetrics(q *loomv1.MetricsRequest) error {
	for name, value := range map[string]string{"project": q.Project, "process": q.Process} {
		if value == "" {
			continue
		}
		if _, err := subject.Parse(name, value); err != nil {
			return err
		}
	}
	if q.Project != "" && !h.known.Has(q.Project) {
		return h.known.Suggest(fault.New("project/unknown", "project is not known").At("project").Got(q.Project))
	}
	for name, t := range map[string]*timestamppb.Timestamp{"from": q.From, "to": q.To} {
		if t != nil && t.CheckValid() != nil {
			return fault.New("usage/argument", "not a time").At(name)
		}
	}
	if q.From != nil && q.To != nil && !q.From.AsTime().Before(q.To.AsTime()) {
		return fault.New("usage/argument", "the time ends before it begins").At("to").Got(q.To.AsTime().Format("2006-01-02T15:04:05Z07:00"))
	}
	return nil
}
