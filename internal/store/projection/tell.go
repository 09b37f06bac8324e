package projection

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// rest is how long the state of an execution that runs waits to be written as JSON:
// what ends sooner is written once.
const rest = time.Second

// mostTold is how many are written in one transaction.
const mostTold = 256

// untold are the executions whose rows have their state as protobuf alone, and since
// when.
type untold map[string]time.Time

// note adds an execution, unless it is there. Where the transaction fails it is there
// in vain, and does no harm.
func (u untold) note(id string) {
	if _, ok := u[id]; !ok {
		u[id] = time.Now()
	}
}

// due takes out at most mostTold of those that wait for so long.
func (u untold) due(atLeast time.Duration) (ids []string) {
	for id, since := range u {
		if len(ids) == mostTold {
			break
		}
		if time.Since(since) >= atLeast {
			ids = append(ids, id)
			delete(u, id)
		}
	}
	return ids
}

// tell writes the states that have waited for so long as JSON, into the rows that have
// none. It may be called again after any error.
func (d *DB) tell(ctx context.Context, atLeast time.Duration) error {
	for {
		n, err := d.tellSome(ctx, atLeast)
		if err != nil {
			return failed("write states", err)
		}
		if n < mostTold {
			return nil
		}
	}
}

func (d *DB) tellSome(ctx context.Context, atLeast time.Duration) (int, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	ids := d.untold.due(atLeast)
	if len(ids) == 0 {
		return 0, nil
	}
	err := inTx(ctx, d.write, func(tx *sql.Tx) error {
		for _, id := range ids {
			if err := d.tellOne(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, id := range ids {
			d.untold.note(id)
		}
	}
	return len(ids), err
}

func (d *DB) tellOne(ctx context.Context, tx *sql.Tx, id string) error {
	var progress []byte
	err := tx.StmtContext(ctx, d.queries["progress"]).QueryRowContext(ctx, id).Scan(&progress)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // it has ended
	}
	if err != nil {
		return err
	}
	state, err := stateOf(progress, nil)
	if err != nil {
		return err
	}
	text, err := toJSON(state)
	if err != nil {
		return err
	}
	_, err = tx.StmtContext(ctx, d.queries["told"]).ExecContext(ctx, text, id)
	return err
}

// loadUntold finds what an earlier process has not told.
func (d *DB) loadUntold(ctx context.Context) error {
	rows, err := d.write.QueryContext(ctx, "SELECT id FROM executions WHERE progress IS NOT NULL")
	if err != nil {
		return failed("read what runs", err)
	}
	ids, err := names(rows)
	for _, id := range ids {
		d.untold.note(id)
	}
	if err != nil {
		return failed("read what runs", err)
	}
	return nil
}
