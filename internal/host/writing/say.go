package writing

import (
	"context"

	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// say keeps a message for whoever works on an execution. Who may say something the
// project says.
func (w *Writer) say(ctx context.Context, q *loomv1.SayRequest, c service.Call) (*loomv1.SubmitReply, error) {
	x, err := w.config.Executions.Execution(ctx, q.Id)
	if err != nil {
		return nil, err
	}
	tell := &loomv1.TellExecution{Execution: x.Id, Node: q.Node, Text: q.Text, Request: q.Request}
	return w.carryOut(ctx, &loomv1.Command{Project: x.Project, Actor: c.From, Body: &loomv1.Command_TellExecution{TellExecution: tell}})
}
