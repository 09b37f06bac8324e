package host

import (
	"context"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/watermark"
)

// watchSpace begins to watch the disk of the data directory.
func (h *Host) watchSpace(context.Context) error {
	h.space = watermark.Open(watermark.Config{Path: h.dir.Path(), Bytes: h.config.LeastFree, Free: h.config.Free, Logger: h.log})
	return nil
}

// gated are the tasks of the stream, as long as there is space.
type gated struct {
	tasks
	host *Host
}

// ConsumeTasks is that of package broker.
func (g gated) ConsumeTasks(ctx context.Context, handle func(context.Context, actors.Letter) error) error {
	return g.tasks.ConsumeTasks(ctx, g.host.admitted(handle))
}

// admitted hands tasks of the stream on while there is space. Those that come
// meanwhile stay in the stream, and come again.
func (h *Host) admitted(handle func(context.Context, actors.Letter) error) func(context.Context, actors.Letter) error {
	return func(ctx context.Context, l actors.Letter) error {
		if err := h.space.Admit(); err != nil {
			return err
		}
		return handle(ctx, l)
	}
}
