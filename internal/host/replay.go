package host

import (
	"context"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/roles"
)

// Replayed is what became of one recorded turn.
type Replayed = agent.Replayed

// Replay goes through a recording without a host; see [agent.Replay].
func Replay(ctx context.Context, rec *recording.Recording, set *roles.Set, tell func(Replayed)) error {
	return agent.Replay(ctx, rec, set, tell)
}
