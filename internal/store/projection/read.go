package projection

import (
	"context"
	"database/sql"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	selectTransitions = `SELECT id, execution_id, from_node_id, to_node_id, outcome, timestamp, summary, actor
		FROM workflow_transitions WHERE execution_id = ? ORDER BY number`
	selectHistory = `SELECT t.id, t.execution_id, t.from_node_id, t.to_node_id, t.outcome, t.timestamp, t.summary, t.actor
		FROM executions x JOIN workflow_transitions t ON t.execution_id = x.id
		WHERE x.bead_id = ? ORDER BY t.number`
	selectActive = `SELECT progress, state FROM executions WHERE bead_id = ? AND status = 'running' ORDER BY id`
)

// Transitions returns the transitions of an execution, oldest first; none for
// an execution that is not known.
func (d *DB) Transitions(ctx context.Context, execution string) ([]*loomv1.Transition, error) {
	return list(ctx, d.read.Load(), "read transitions", scanTransition, selectTransitions, execution)
}

// History returns the transitions of all executions of a bead, oldest first.
func (d *DB) History(ctx context.Context, bead string) ([]*loomv1.Transition, error) {
	return list(ctx, d.read.Load(), "read the history", scanTransition, selectHistory, bead)
}

// Active returns the executions of a bead that have not ended, by id.
func (d *DB) Active(ctx context.Context, bead string) ([]*loomv1.Execution, error) {
	return list(ctx, d.read.Load(), "read active executions", scanState, selectActive, bead)
}

func scanTransition(rows *sql.Rows) (*loomv1.Transition, error) {
	t, at, actor := &loomv1.Transition{Actor: &loomv1.Identity{}}, "", []byte(nil)
	err := rows.Scan(&t.Id, &t.Execution, &t.From, &t.To, &t.Outcome, &at, &t.Summary, &actor)
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(actor, t.Actor); err != nil {
		return nil, err
	}
	t.Time, err = unclock(at)
	return t, err
}

func scanState(rows *sql.Rows) (*loomv1.Execution, error) {
	var progress, text []byte
	if err := rows.Scan(&progress, &text); err != nil {
		return nil, err
	}
	return stateOf(progress, text)
}

// stateOf reads the state of an execution as its row has it: in one way or the other.
func stateOf(progress, text []byte) (*loomv1.Execution, error) {
	x := &loomv1.Execution{}
	if progress != nil {
		return x, proto.Unmarshal(progress, x)
	}
	return x, protojson.Unmarshal(text, x)
}

// list reads all rows of a query.
func list[T any](ctx context.Context, db *sql.DB, what string, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, failed(what, err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, failed(what, err)
	}
	return all, nil
}
