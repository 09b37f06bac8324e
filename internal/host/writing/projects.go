package writing

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// changeProjects registers a project while the host runs, or removes one.
func (w *Writer) changeProjects(ctx context.Context, q *loomv1.RegisterRequest, c service.Call) (reply *loomv1.RegisterReply, err error) {
	switch change := q.Change.(type) {
	case *loomv1.RegisterRequest_Add:
		if err = w.config.Admit(); err == nil {
			reply, err = w.config.Registrar.Add(ctx, change.Add, c.From)
		}
	case *loomv1.RegisterRequest_Remove:
		reply, err = w.config.Registrar.Remove(ctx, change.Remove, q.Reason, c.From)
	default:
		err = fault.New("command/malformed", "no project is to be added or removed")
	}
	return reply, w.config.Known.Suggest(err)
}
