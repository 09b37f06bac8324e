package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Projection is what follows a journal into tables.
type Projection interface {
	// Position returns the sequence it has for a partition, 0 for none.
	Position(ctx context.Context, partition int) (uint64, []byte, error)
	// Apply adds the batch after that; one it has already changes nothing.
	Apply(ctx context.Context, seq uint64, b *loomv1.Batch) error
}

// StartFollower starts the actor that follows one journal into a projection,
// from where the projection is.
func (s *System) StartFollower(ctx context.Context, log journal.Log, to Projection) {
	s.start(fmt.Sprintf("follower-%02d", log.Partition()), actor.PropsFromProducer(func() actor.Actor {
		return newLoop(ctx, s, func(ctx context.Context) error {
			seq, _, err := to.Position(ctx, log.Partition())
			if err != nil {
				return err
			}
			return log.Follow(ctx, seq+1, func(seq uint64, b *loomv1.Batch) error { return to.Apply(ctx, seq, b) })
		})
	}))
}
