package reading

import (
	"context"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Executions answers what executions were.
type Executions struct {
	*Views
	pasts *pasts
	// Room refuses to fold a project that has no room on this host. Nil refuses nothing.
	Room func(project string) error
}

// At shows an execution as of a moment of its history.
func (e *Executions) At(ctx context.Context, q *loomv1.StateRequest) (*loomv1.StateReply, error) {
	m, err := momentOf(q.At, q.Time, q.Number)
	if err != nil {
		return nil, err
	}
	x, err := e.Execution(ctx, q.Execution)
	if err == nil && e.Room != nil {
		err = e.Room(x.Project)
	}
	if err != nil {
		return nil, err
	}
	reply, err := e.pasts.state(ctx, x.Id, m)
	if fault.Code(err) == "position/before" {
		return nil, fault.From(err).Want("it began at %s", x.StartedAt.AsTime().Format(time.RFC3339Nano))
	}
	return reply, err
}
