package writing

import (
	"context"

	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fork begins a new execution with the state that one has, or had.
func (w *Writer) fork(ctx context.Context, q *loomv1.ForkRequest, c service.Call) (*loomv1.SubmitReply, error) {
	x, err := w.config.Executions.Execution(ctx, q.Execution)
	if err != nil {
		return nil, err
	}
	fork := &loomv1.ForkExecution{Execution: x.Id, Node: q.Node, Reason: q.Reason, Request: q.Request}
	if q.At != nil || q.Time != nil || q.Number != 0 {
		state, err := w.config.Executions.At(ctx, &loomv1.StateRequest{Execution: x.Id, At: q.At, Time: q.Time, Number: q.Number})
		if err != nil {
			return nil, err
		}
		fork.State, fork.Number = state.Execution, state.Number
	}
	return w.carryOut(ctx, &loomv1.Command{Project: x.Project, Actor: c.From, Body: &loomv1.Command_ForkExecution{ForkExecution: fork}})
}
