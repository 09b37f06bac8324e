package projection

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Queries are the reads that must be answered by an index.
var Queries = map[string]string{
	"transitions": selectTransitions,
	"history":     selectHistory,
	"active":      selectActive,
}

// Current is what current_node_id says.
var Current = current

// Keeps gives an event to the keeper of a table, which then forgets it, and says
// whether it was one of its own.
func (d *DB) Keeps(ctx context.Context, table loomv1.FactTable, e *loomv1.Event) bool {
	w, kept := newWriter(d), false
	w.beads[e.Bead] = &loomv1.Bead{}
	undone := errors.New("undone")
	_ = inTx(ctx, d.write, func(tx *sql.Tx) error {
		w.tx = tx
		kept = fault.Code(keepers[table](w, ctx, e)) != "internal/error"
		return undone
	})
	return kept
}

// Tables are those that have a keeper.
func Tables() []loomv1.FactTable { return slices.Sorted(maps.Keys(keepers)) }
