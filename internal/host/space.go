package host

import (
	"context"
	"errors"
	"log/slog"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/watermark"
)

// space is that on the disk of the data directory: how much there is, and whether a
// write has failed for want of it.
type space struct {
	*watermark.Watch
	path  string
	spent chan struct{} // closed when the host writes no more and there is space
	log   *slog.Logger
}

// watchSpace begins to watch the disk of the data directory.
func (h *Host) watchSpace(context.Context) error {
	w := watermark.Open(watermark.Config{Path: h.dir.Path(), Bytes: h.config.LeastFree, Free: h.config.Free, Logger: h.log})
	h.space = &space{Watch: w, path: h.dir.Path(), spent: make(chan struct{}), log: h.log}
	return nil
}

// watchWrites begins to wait for a write that fails.
func (h *Host) watchWrites(context.Context) error {
	h.background.Go(func() {
		select {
		case <-h.ctx.Done():
		case <-h.broker.Broken():
			h.space.unwritable(h.ctx, h.broker.Clustered())
		}
	})
	return nil
}

// Spent is closed when the disk could not be written, and, where no other host
// does the work meanwhile, there is space again: this host never writes again,
// and one that is started after its stop, and when there is space, does.
func (h *Host) Spent() <-chan struct{} { return h.space.spent }

// unwritable is called once, when a write has failed. The server then writes no
// more, even when there is space again. Where there are other hosts, this one is
// spent: they can do its work. One that is alone answers what it can until there
// is space, or ctx ends.
func (s *space) unwritable(ctx context.Context, others bool) {
	if others {
		s.log.Error("the disk could not be written; this host leaves its work to others, and begins anew when there is space", "path", s.path)
		close(s.spent)
		return
	}
	s.log.Error("the disk could not be written; this host writes nothing more, and begins anew when there is space", "path", s.path)
	if s.Space(ctx) == nil {
		close(s.spent)
	}
}

// orFull returns data/disk-full because of err if the disk is full and err may
// come of that, else err. It may be called of nil.
func (s *space) orFull(err error) error {
	if s == nil || fault.Status(err) == fault.Integrity && fault.Code(err) != "data/sync" {
		return err
	}
	if full, ok := errors.AsType[*fault.Error](s.Now()); ok {
		return full.Because(err)
	}
	return err
}

// gated are the tasks of the stream, as long as there is space: those that come
// meanwhile stay in the stream, and come again.
type gated struct {
	tasks
	admit func() error
}

// ConsumeTasks is that of package broker.
func (g gated) ConsumeTasks(ctx context.Context, handle func(context.Context, actors.Letter) error) error {
	return g.tasks.ConsumeTasks(ctx, func(ctx context.Context, l actors.Letter) error {
		if err := g.admit(); err != nil {
			return err
		}
		return handle(ctx, l)
	})
}
