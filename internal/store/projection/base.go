package projection

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bases returns what a journal that was cut begins with, or nil when it has the
// batch with that sequence.
type Bases func(ctx context.Context, partition int, sequence uint64) (*loomv1.JournalBase, error)

// SetBases says where [DB.Follow] gets what was cut off journals. It must be
// called before the first journal is followed, if any can have been cut.
func (d *DB) SetBases(from Bases) { d.bases = from }

// rebase takes a base in when the journal lacks the batch after sequence, and
// returns up to where the partition is applied then.
func (d *DB) rebase(ctx context.Context, log journal.Log, sequence uint64) (uint64, error) {
	if d.bases == nil {
		return sequence, nil
	}
	base, err := d.bases(ctx, log.Partition(), sequence+1)
	if err != nil || base == nil {
		return sequence, err
	}
	if sequence > 0 { // what was applied of one partition cannot be told from the rest
		if err := d.Reset(ctx); err != nil {
			return 0, err
		}
	}
	return base.Sequence, d.Adopt(ctx, base)
}

// upserts are how rows of tables that projects share are put in.
var upserts = map[string]string{
	"workflows": " ON CONFLICT (id) DO UPDATE SET created_at = min(created_at, excluded.created_at), updated_at = max(updated_at, excluded.updated_at)",
	"tallies":   " ON CONFLICT DO UPDATE SET value = value + excluded.value",
}

// Adopt puts a base where nothing of its partition was applied yet: its batches
// count as applied then. It returns projection/diverged when something was.
func (d *DB) Adopt(ctx context.Context, base *loomv1.JournalBase) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	w := newWriter(d)
	err := inTx(ctx, d.write, func(tx *sql.Tx) error {
		w.tx = tx
		return w.adopt(ctx, base)
	})
	if err != nil {
		return failed("begin with a base", err)
	}
	d.advance(base.Partition, base.Sequence, w.tallies)
	return nil
}

func (w *writer) adopt(ctx context.Context, base *loomv1.JournalBase) error {
	h, err := readHead(w.query(ctx, "head").QueryRowContext(ctx, base.Partition))
	if err != nil {
		return err
	}
	if h.sequence > 0 {
		return fault.New("projection/diverged", "partition %d: batches up to %d are applied, and a base is to go before them", base.Partition, h.sequence)
	}
	for _, t := range base.Tables {
		if err := w.fill(ctx, t); err != nil {
			return fmt.Errorf("table %q: %w", t.Name, err)
		}
	}
	return w.exec(ctx, "position", base.Partition, base.Epoch, base.Sequence, base.Hash)
}

// fill puts rows into a table, as far as this release has it and its columns.
func (w *writer) fill(ctx context.Context, t *loomv1.Table) error {
	have, err := columns(ctx, w.tx, t.Name)
	if err != nil {
		return err
	}
	var names []string
	var use []int
	for i, name := range t.Columns {
		if slices.Contains(have, name) {
			names, use = append(names, name), append(use, i)
		}
	}
	if len(names) == 0 {
		return nil
	}
	conflict := upserts[t.Name]
	verb := "INSERT"
	if conflict == "" {
		verb = "INSERT OR IGNORE"
	}
	into, err := w.tx.PrepareContext(ctx, fmt.Sprintf("%s INTO %s (%s) VALUES (%s)%s", verb, t.Name, strings.Join(names, ", "),
		strings.TrimSuffix(strings.Repeat("?, ", len(names)), ", "), conflict))
	if err != nil {
		return err
	}
	defer into.Close()
	for _, row := range t.Rows {
		if err := w.row(ctx, into, t, row, use); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) row(ctx context.Context, into *sql.Stmt, t *loomv1.Table, row *loomv1.Row, use []int) error {
	if len(row.Cells) != len(t.Columns) {
		return fmt.Errorf("a row has %d cells for %d columns", len(row.Cells), len(t.Columns))
	}
	args := make([]any, len(use))
	for i, at := range use {
		args[i] = valueOf(row.Cells[at])
	}
	if t.Name == "tallies" {
		c := row.Cells
		if i := slices.Index(t.Columns, "value"); i == 4 && slices.Equal(t.Columns[:4], []string{"name", "process", "node", "label"}) {
			w.tallies[tallyKey{c[0].GetText(), c[1].GetText(), c[2].GetText(), c[3].GetText()}] += c[4].GetInteger()
		}
	}
	_, err := into.ExecContext(ctx, args...)
	return err
}

// columns returns the columns of a table, none if there is no such table.
func columns(ctx context.Context, tx *sql.Tx, table string) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	return names(rows)
}

// names reads rows of one text.
func names(rows *sql.Rows) (list []string, err error) {
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, rows.Err()
}

// Dump returns all rows of all tables but the positions, sorted, with the
// columns in the order that the tables have them.
func (d *DB) Dump(ctx context.Context) (all []*loomv1.Table, err error) {
	if err := d.tell(ctx, 0); err != nil {
		return nil, err
	}
	err = inTx(ctx, d.read.Load(), func(tx *sql.Tx) error {
		tables, err := tablesOf(ctx, tx)
		for _, name := range tables {
			if err != nil || name == "positions" {
				continue
			}
			var t *loomv1.Table
			if t, err = dump(ctx, tx, name); err != nil {
				return err
			}
			all = append(all, t)
		}
		return err
	})
	if err != nil {
		return nil, failed("dump", err)
	}
	return all, nil
}

// tablesOf returns the names of all tables, sorted.
func tablesOf(ctx context.Context, tx *sql.Tx) ([]string, error) {
	rows, err := tx.QueryContext(ctx, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		return nil, err
	}
	return names(rows)
}

func dump(ctx context.Context, tx *sql.Tx, name string) (*loomv1.Table, error) {
	cols, err := columns(ctx, tx, name)
	if err != nil {
		return nil, err
	}
	order := make([]string, len(cols))
	for i := range cols {
		order[i] = fmt.Sprint(i + 1)
	}
	t := &loomv1.Table{Name: name, Columns: cols}
	rows, err := tx.QueryContext(ctx, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", strings.Join(cols, ", "), name, strings.Join(order, ", ")))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		values, into := make([]any, len(cols)), make([]any, len(cols))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		t.Rows = append(t.Rows, rowOf(values))
	}
	return t, rows.Err()
}

func rowOf(values []any) *loomv1.Row {
	r := &loomv1.Row{}
	for _, v := range values {
		c := &loomv1.Cell{}
		switch v := v.(type) {
		case string:
			c.Value = &loomv1.Cell_Text{Text: v}
		case int64:
			c.Value = &loomv1.Cell_Integer{Integer: v}
		case float64:
			c.Value = &loomv1.Cell_Real{Real: v}
		case []byte:
			c.Value = &loomv1.Cell_Blob{Blob: v}
		}
		r.Cells = append(r.Cells, c)
	}
	return r
}

// valueOf is a cell as the database takes it.
func valueOf(c *loomv1.Cell) any {
	switch v := c.GetValue().(type) {
	case *loomv1.Cell_Text:
		return v.Text
	case *loomv1.Cell_Integer:
		return v.Integer
	case *loomv1.Cell_Real:
		return v.Real
	case *loomv1.Cell_Blob:
		return v.Blob
	}
	return nil
}
