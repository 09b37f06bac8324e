package host

import (
	"context"
	"time"

	"github.com/loomrun/loom/internal/base/format"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stayAgreed finds out again and again what all hosts read.
func (h *Host) stayAgreed() {
	look := time.NewTicker(sayAgain)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			h.agree(h.ctx)
		case <-h.ctx.Done():
			return
		}
	}
}

// agree finds out what all hosts of the deployment read. A host that belongs to
// it and that nobody can say anything of counts as the oldest.
func (h *Host) agree(ctx context.Context) {
	now := format.Agree(h.readers(ctx))
	old := h.fleet.agreed.Swap(&now)
	if old == nil || old.Number != now.Number {
		h.log.Info("all hosts read events", "format", now.Number, "held by", now.Host, "version", now.Version)
	}
}

// readers are the hosts that read journals: those that live, and those that are
// gone and belong to the deployment. It asks the deployment only of those that
// were not seen since this start.
func (h *Host) readers(ctx context.Context) (list []*loomv1.HostPresence) {
	members, seen := h.broker.Members(), map[string]bool{}
	for _, p := range h.hosts() {
		_, member := members.Member(p.Host)
		if p.Alive || member || len(members.Members) == 0 {
			list, seen[p.Host] = append(list, p), true
		}
	}
	for _, m := range members.Members {
		if !seen[m.Host] {
			return append(list, h.unseen(ctx, seen)...)
		}
	}
	return list
}

// unseen are the hosts of the deployment that this one has not seen, as they
// were when they said something last.
func (h *Host) unseen(ctx context.Context, seen map[string]bool) (list []*loomv1.HostPresence) {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	for _, p := range h.broker.Register(ctx) {
		if !seen[p.Host] {
			list = append(list, p)
		}
	}
	return list
}

// agreed is what all hosts read, as far as this one knows. It never blocks.
func (h *Host) agreed() format.Agreed {
	if a := h.fleet.agreed.Load(); a != nil {
		return *a
	}
	return format.Agreed{Number: h.config.Format.Number(), Host: h.name(), Version: Version}
}
