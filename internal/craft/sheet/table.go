package sheet

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Limits of a table and of a file that holds one.
const (
	MaxBytes     = 16 << 20  // of a file
	MaxUnpacked  = 128 << 20 // of a workbook, unpacked
	MaxRows      = 100_000
	MaxColumns   = 256
	MaxCells     = 1_000_000
	maxCell      = 32 << 10 // bytes of one cell
	maxName      = 200      // bytes of a column's name
	maxParts     = 2000     // files in a workbook
	maxSheetName = 31       // characters, by the format
)

// Value is one cell: text, and the number that it is, if it is one.
type Value struct {
	Text    string
	Number  decimal.Decimal
	Numeric bool
}

// Table is rows under named columns. Each row has as many values as there are
// columns.
type Table struct {
	Columns []string
	Rows    [][]Value
}

// New returns a table without rows. Names are trimmed; they must be unique,
// not empty, on one line, and not too many: table/column or table/limit.
func New(columns []string) (Table, error) {
	t := Table{}
	if len(columns) == 0 {
		return t, fault.New("table/invalid", "a table needs at least one column")
	}
	if len(columns) > MaxColumns {
		return t, fault.New("table/limit", "%d columns; at most %d are taken", len(columns), MaxColumns)
	}
	for _, c := range columns {
		if err := t.name(c); err != nil {
			return Table{}, err
		}
	}
	return t, nil
}

// name adds a column name.
func (t *Table) name(c string) error {
	c = strings.TrimSpace(c)
	switch {
	case c == "":
		return fault.New("table/column", "column %d has no name", len(t.Columns)+1)
	case len(c) > maxName || strings.ContainsFunc(c, func(r rune) bool { return r < ' ' || r == '{' || r == '}' }) || !utf8.ValidString(c):
		return fault.New("table/column", "a column's name is one line of at most %d bytes, without braces", maxName).Got(c)
	case slices.Contains(t.Columns, c):
		return fault.New("table/column", "two columns have this name").Got(c)
	case len(t.Columns) == MaxColumns:
		return fault.New("table/limit", "more than %d columns", MaxColumns)
	}
	t.Columns = append(t.Columns, c)
	return nil
}

// Column returns the place of a column, or table/column with the nearest name.
func (t *Table) Column(name string) (int, error) {
	if i := slices.Index(t.Columns, strings.TrimSpace(name)); i >= 0 {
		return i, nil
	}
	return 0, fault.New("table/column", "there is no such column").Got(name).Want("%s", suggest.Among(name, t.Columns))
}

// Add appends a row, which must have a value for each column.
func (t *Table) Add(row []Value) error {
	switch {
	case len(row) != len(t.Columns):
		return fault.New("table/invalid", "row %d has %d values under %d columns", len(t.Rows)+1, len(row), len(t.Columns))
	case len(t.Rows) == MaxRows:
		return fault.New("table/limit", "more than %d rows", MaxRows)
	case (len(t.Rows)+1)*len(t.Columns) > MaxCells:
		return fault.New("table/limit", "more than %d cells", MaxCells)
	}
	for i, v := range row {
		if len(v.Text) > maxCell {
			return fault.New("table/limit", "a cell has %d bytes; at most %d are taken", len(v.Text), maxCell).At(t.Columns[i])
		}
	}
	t.Rows = append(t.Rows, row)
	return nil
}

// Numbers returns a column's numbers and the rows, from 0, that they stand in;
// other values are left out.
func (t *Table) Numbers(column int) (list []decimal.Decimal, rows []int) {
	for i, row := range t.Rows {
		if row[column].Numeric {
			list, rows = append(list, row[column].Number), append(rows, i)
		}
	}
	return list, rows
}

// Select returns the table with these columns alone, in this order.
func (t *Table) Select(names []string) (Table, error) {
	out, err := New(names)
	if err != nil {
		return Table{}, err
	}
	places := make([]int, len(names))
	for i, n := range names {
		if places[i], err = t.Column(n); err != nil {
			return Table{}, err
		}
	}
	for _, row := range t.Rows {
		picked := make([]Value, len(places))
		for i, p := range places {
			picked[i] = row[p]
		}
		out.Rows = append(out.Rows, picked)
	}
	return out, nil
}
