package chaos

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite" // reads what the host wrote, as any tool would

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// tables returns the rows of every table and view of a stopped host, sorted, with "|"
// between columns.
func tables(t *testing.T, data string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "projection.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string][]string{}
	for _, name := range query(t, db, "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')") {
		all[name] = query(t, db, "SELECT * FROM "+name)
	}
	return all
}

// executions counts those in the tables at the path; -1 while there are no tables.
func executions(data string) (n int) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "projection.db")+"?mode=ro")
	if err != nil {
		return -1
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM workflow_executions").Scan(&n); err != nil {
		return -1
	}
	return n
}

func query(t *testing.T, db *sql.DB, text string) (list []string) {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			row[i] = new(any)
		}
		if err := rows.Scan(row...); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var line []string
		for _, cell := range row {
			line = append(line, fmt.Sprint(*cell.(*any)))
		}
		list = append(list, strings.Join(line, "|"))
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	slices.Sort(list)
	return list
}

// sameTables checks that tables which were deleted and made again are as before.
// How far the journals were read is not: each start and stop of a host is told.
func sameTables(t *testing.T, before, after map[string][]string) {
	t.Helper()
	delete(before, "positions")
	for name, rows := range before {
		if d := cmp.Diff(rows, after[name]); d != "" {
			t.Errorf("table %s after it was deleted and made again (-before +after):\n%s", name, d)
		}
	}
}

// sameTransitions checks that the tables have the transitions of the journals
// and no others.
func sameTransitions(t *testing.T, tables map[string][]string, all []*loomv1.Notice) {
	t.Helper()
	var want, got []string
	for _, n := range all {
		e := n.Event
		if from, to, outcome, ok := workflow.Transition(e); ok {
			want = append(want, fmt.Sprintf("%s-%d|%s|%s|%s|%s", e.Project, e.Number, e.Execution, from, to, outcome))
		}
	}
	slices.Sort(want)
	for _, row := range tables["workflow_transitions"] {
		got = append(got, strings.Join(strings.SplitN(row, "|", 6)[:5], "|"))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("workflow_transitions (-journal +table):\n%s", d)
	}
}

// sameStatuses checks the column of a table, with ids in its first, that holds
// statuses.
func sameStatuses(t *testing.T, name string, rows []string, column int, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, row := range rows {
		cells := strings.SplitN(row, "|", column+2)
		got[cells[0]] = cells[column]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("statuses in %s (-journal +table):\n%s", name, d)
	}
}
