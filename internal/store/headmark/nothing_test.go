package headmark_test

import (
	"context"

	"github.com/loomrun/loom/internal/store/journal"
)

// nothing is a log that takes everything at no cost.
type nothing struct{ journal.Log }

func (nothing) Partition() int { return 0 }

func (nothing) Append(_ context.Context, last uint64, _ journal.Sealed) (uint64, error) {
	return last + 1, nil
}
