package chaos

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // reads what the host wrote, as any tool would
)

// tables returns the rows of every table of a stopped host, sorted, with "|"
// between columns.
func tables(t *testing.T, data string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(data, "projection.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string][]string{}
	for _, name := range query(t, db, "SELECT name FROM sqlite_master WHERE type = 'table'") {
		all[name] = query(t, db, "SELECT * FROM "+name)
	}
	return all
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
