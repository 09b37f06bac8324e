package projection

import (
	"context"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// selectTree adds up an execution and all that work for it, however deep. A money sum
// is known when every call of their beads was priced.
const selectTree = `WITH RECURSIVE tree(id, bead_id, project) AS (
		SELECT id, bead_id, project FROM executions WHERE id = ?
		UNION SELECT x.id, x.bead_id, x.project FROM tree JOIN executions x ON x.parent = tree.id AND x.parent <> ''
	)
	SELECT count(*), coalesce(sum(x.model_calls), 0), coalesce(sum(x.input_tokens), 0), coalesce(sum(x.output_tokens), 0), coalesce(sum(x.cost_micro_usd), 0),
		NOT EXISTS (SELECT 1 FROM model_calls c WHERE c.priced = 0 AND c.project IN (SELECT project FROM tree) AND c.bead_id IN (SELECT bead_id FROM tree))
	FROM tree JOIN executions x ON x.id = tree.id`

// Tree returns what an execution has used with all that work for it, and so on; no
// executions where it is not known. A batch that is not applied yet is not counted,
// see [DB.WaitFor].
func (d *DB) Tree(ctx context.Context, execution string) (*loomv1.TreeUsage, error) {
	t := &loomv1.TreeUsage{Usage: &loomv1.Usage{}}
	err := d.read.Load().QueryRowContext(ctx, selectTree, execution).
		Scan(&t.Executions, &t.ModelCalls, &t.Usage.InputTokens, &t.Usage.OutputTokens, &t.Usage.CostMicroUsd, &t.Usage.CostKnown)
	if err != nil {
		return nil, failed("add up a tree of executions", err)
	}
	return t, nil
}
