package actors

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/internal/store/journal"
)

// Projection is what follows journals into tables.
type Projection interface {
	// Follow applies a journal from where the projection is, until ctx ends or
	// something fails; then it may be called again.
	Follow(ctx context.Context, log journal.Log) error
}

// StartFollower starts the actor that has one journal followed into a
// projection.
func (s *System) StartFollower(ctx context.Context, log journal.Log, to Projection) {
	s.start(fmt.Sprintf("follower-%02d", log.Partition()), actor.PropsFromProducer(func() actor.Actor {
		return newLoop(ctx, s, func(ctx context.Context) error { return to.Follow(ctx, log) })
	}))
}
