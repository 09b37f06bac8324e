package host

import (
	"context"
	"errors"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/watermark"
)

// watchSpace begins to watch the disk of the data directory.
func (h *Host) watchSpace(context.Context) error {
	h.space = watermark.Open(watermark.Config{Path: h.dir.Path(), Bytes: h.config.LeastFree, Free: h.config.Free, Logger: h.log})
	return nil
}

// watchWrites begins to wait for a write that fails. The server then writes no
// more, even when there is space again; so this host answers what it can until
// then, and is spent.
func (h *Host) watchWrites(context.Context) error {
	h.spent = make(chan struct{})
	h.own.done.Go(func() {
		select {
		case <-h.ctx.Done():
			return
		case <-h.broker.Broken():
		}
		h.log.Error("the disk could not be written; this host writes nothing more, and begins anew when there is space", "path", h.dir.Path())
		if h.space.Space(h.ctx) == nil {
			close(h.spent)
		}
	})
	return nil
}

// Spent is closed when the disk could not be written and there is space again:
// this host never writes again, and one that is started after its stop does.
func (h *Host) Spent() <-chan struct{} { return h.spent }

// orFull returns data/disk-full because of err if the disk is full and err may
// come of that, else err.
func (h *Host) orFull(err error) error {
	if h.space == nil || fault.Status(err) == fault.Integrity && fault.Code(err) != "data/sync" {
		return err
	}
	if full, ok := errors.AsType[*fault.Error](h.space.Now()); ok {
		return full.Because(err)
	}
	return err
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
