package writing

import (
	"context"

	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// set gives values of an execution's context. Who may, and which, the project says.
func (w *Writer) set(ctx context.Context, q *loomv1.SetRequest, c service.Call) (*loomv1.SubmitReply, error) {
	x, err := w.config.Executions.Execution(ctx, q.Id)
	if err != nil {
		return nil, err
	}
	set := &loomv1.SetContext{Execution: x.Id, Values: q.Values, Reason: q.Reason}
	return w.carryOut(ctx, &loomv1.Command{Project: x.Project, Actor: c.From, Body: &loomv1.Command_SetContext{SetContext: set}})
}
