package host

import (
	"context"
	"errors"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/watermark"
)

// watchSpace begins to watch the disk of the data directory.
func (h *Host) watchSpace(context.Context) error {
	h.space = watermark.Open(watermark.Config{Path: h.dir.Path(), Bytes: h.config.LeastFree, Free: h.config.Free, Logger: h.log})
	return nil
}

// watchWrites begins to wait for a write that fails.
func (h *Host) watchWrites(context.Context) error {
	h.spent = make(chan struct{})
	h.background.Go(func() {
		select {
		case <-h.ctx.Done():
		case <-h.broker.Broken():
			h.unwritable()
		}
	})
	return nil
}

// unwritable is called once, when a write has failed. The server then writes no
// more, even when there is space again. Where there are other hosts, this one is
// spent: they can do its work. One that is alone answers what it can until there
// is space.
func (h *Host) unwritable() {
	if h.broker.Clustered() {
		h.log.Error("the disk could not be written; this host leaves its work to others, and begins anew when there is space", "path", h.dir.Path())
		close(h.spent)
		return
	}
	h.log.Error("the disk could not be written; this host writes nothing more, and begins anew when there is space", "path", h.dir.Path())
	if h.awaitSpace(h.ctx) == nil {
		close(h.spent)
	}
}

// awaitSpace waits until there is space, also when the host has stopped.
func (h *Host) awaitSpace(ctx context.Context) error { return h.space.Space(ctx) }

// Spent is closed when the disk could not be written, and, where no other host
// does the work meanwhile, there is space again: this host never writes again,
// and one that is started after its stop, and when there is space, does.
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
