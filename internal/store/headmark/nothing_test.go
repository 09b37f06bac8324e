package headmark_test

import (
	"context"

	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// nothing is a log that takes everything at no cost.
type nothing struct{ journal.Log }

func (nothing) Partition() int { return 0 }

func (nothing) Append(_ context.Context, last uint64, _ *loomv1.Batch) (uint64, error) {
	return last + 1, nil
}
