package projection

import (
	"context"
	"encoding/json"
	"time"
)

// End is what there is to know of an execution by who keeps something of it.
type End struct {
	Project string
	// At is when it ended; zero while it runs.
	At time.Time
	// Wanted says that an execution for which it works still runs.
	Wanted bool
}

const selectEnds = `SELECT x.id, x.project, COALESCE(x.ended_at, ''), EXISTS (
		SELECT 1 FROM executions p WHERE p.id = x.parent AND p.ended_at IS NULL)
	FROM executions x WHERE x.id IN (SELECT value FROM json_each(?))`

// Ends says of executions whose they are and when they ended; those that are not
// known are left out.
func (d *DB) Ends(ctx context.Context, executions []string) (map[string]End, error) {
	ids, err := json.Marshal(executions)
	if err != nil {
		return nil, err
	}
	rows, err := d.read.Load().QueryContext(ctx, selectEnds, string(ids))
	if err != nil {
		return nil, failed("read ends", err)
	}
	defer rows.Close()
	all := map[string]End{}
	for rows.Next() {
		var id, at string
		var e End
		if err := rows.Scan(&id, &e.Project, &at, &e.Wanted); err != nil {
			return nil, failed("read ends", err)
		}
		if at != "" {
			t, err := unclock(at)
			if err != nil {
				return nil, failed("read ends", err)
			}
			e.At = t.AsTime()
		}
		all[id] = e
	}
	if err := rows.Err(); err != nil {
		return nil, failed("read ends", err)
	}
	return all, nil
}
