package natsjournal

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/loomrun/loom/internal/base/fault"
)

// Purge drops every batch up to sequence last, for good: whoever calls it has
// seen to it that the journal says so itself. On an empty journal it has the
// next batch be the one after last. It returns retention/refused when the stream
// was made by a release that forbade it. It is safe to repeat.
func (l *Log) Purge(ctx context.Context, last uint64) error {
	if err := l.Purgeable(ctx); err != nil {
		return err
	}
	err := l.patiently(ctx, func(ctx context.Context) error {
		return l.stream.Purge(ctx, jetstream.WithPurgeSequence(last+1))
	})
	if err != nil {
		return l.failed(ctx, err)
	}
	return nil
}

// Purgeable returns retention/refused when the server never lets anybody cut
// the stream: it was made to be so, and that is not to be taken back.
func (l *Log) Purgeable(ctx context.Context) error {
	var info *jetstream.StreamInfo
	err := l.patiently(ctx, func(ctx context.Context) (err error) {
		info, err = l.stream.Info(ctx)
		return err
	})
	if err != nil {
		return l.failed(ctx, err)
	}
	if info.Config.DenyPurge {
		return fault.New("retention/refused", "stream %s was made by a release that let nobody cut it, and the server never takes that back", Stream(l.partition)).
			At(Stream(l.partition)).Want("back the deployment up and restore it: the new directory's journals can be cut")
	}
	return nil
}
