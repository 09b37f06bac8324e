package fleet

import (
	"context"
	"time"

	"github.com/loomrun/loom/internal/base/format"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// stayAgreed finds out again and again what all hosts read.
func (f *Fleet) stayAgreed() {
	look := time.NewTicker(sayAgain)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			f.agree(f.config.Running)
		case <-f.config.Running.Done():
			return
		}
	}
}

// agree finds out what all hosts of the deployment read. A host that belongs to
// it and that nobody can say anything of counts as the oldest.
func (f *Fleet) agree(ctx context.Context) {
	now := format.Agree(f.readers(ctx))
	old := f.agreed.Swap(&now)
	if old == nil || old.Number != now.Number {
		f.config.Log.Info("all hosts read events", "format", now.Number, "held by", now.Host, "version", now.Version)
	}
}

// readers are the hosts that read journals: those that live, and those that are
// gone and belong to the deployment. It asks the deployment only of those that
// were not seen since this start.
func (f *Fleet) readers(ctx context.Context) (list []*loomv1.HostPresence) {
	members, seen := f.config.Broker.Members(), map[string]bool{}
	for _, p := range f.Hosts() {
		_, member := members.Member(p.Host)
		if p.Alive || member || len(members.Members) == 0 {
			list, seen[p.Host] = append(list, p), true
		}
	}
	for _, m := range members.Members {
		if !seen[m.Host] {
			return append(list, f.unseen(ctx, seen)...)
		}
	}
	return list
}

// unseen are the hosts of the deployment that this one has not seen, as they
// were when they said something last.
func (f *Fleet) unseen(ctx context.Context, seen map[string]bool) (list []*loomv1.HostPresence) {
	ctx, cancel := context.WithTimeout(ctx, tellWithin)
	defer cancel()
	for _, p := range f.config.Broker.Register(ctx) {
		if !seen[p.Host] {
			list = append(list, p)
		}
	}
	return list
}

// Agreed is what all hosts read, as far as this one knows. It never blocks.
func (f *Fleet) Agreed() format.Agreed {
	if a := f.agreed.Load(); a != nil {
		return *a
	}
	return format.Agreed{Number: f.config.Format.Number(), Host: f.config.Host, Version: f.config.Version}
}
