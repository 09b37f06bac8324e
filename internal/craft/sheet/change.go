package sheet

import (
	"strconv"

	"github.com/shopspring/decimal"
	"github.com/xuri/excelize/v2"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
)

// Append adds rows below a sheet's table and leaves everything else of the
// workbook as it is; each column goes on in the format of its last row.
func (b *Book) Append(name string, rows [][]Value) (err error) {
	defer broken(&err)
	if name, err = b.sheet(name); err != nil {
		return err
	}
	t, _, err := b.Table(name)
	if err != nil {
		return err
	}
	first := len(t.Rows) + 2
	for i, row := range rows {
		if err := t.Add(row); err != nil {
			return err
		}
		for j, v := range row {
			if err := b.below(name, j+1, first-1, first+i, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// below writes a value in the style of the cell above the new ones.
func (b *Book) below(name string, column, above, row int, v Value) error {
	letter, err := excelize.ColumnNumberToName(column)
	if err != nil {
		return err
	}
	at, format := letter+strconv.Itoa(row), ""
	if model := letter + strconv.Itoa(above); above > 1 {
		id, err := b.file.GetCellStyle(name, model)
		if err != nil {
			return err
		}
		if b.dated(name, model) {
			format = "date"
		}
		if err := b.file.SetCellStyle(name, at, at, id); err != nil {
			return err
		}
	}
	return b.set(name, at, v, format)
}

// AddColumn adds a column to a sheet: formulas that spreadsheet programs
// compute anew, with the values that they have now, if e is given, and else
// the values alone. Values must be as many as there are rows.
func (b *Book) AddColumn(name, header, format string, e *calculator.Expression, values []Value) (err error) {
	defer broken(&err)
	if name, err = b.sheet(name); err != nil {
		return err
	}
	t, _, err := b.Table(name)
	if err != nil {
		return err
	}
	if len(values) != len(t.Rows) {
		return fault.New("table/invalid", "%d values for %d rows", len(values), len(t.Rows))
	}
	wider := Table{Columns: t.Columns}
	if err := wider.name(header); err != nil {
		return err
	}
	column := Table{Columns: wider.Columns[len(t.Columns):]}
	for _, v := range values {
		column.Rows = append(column.Rows, []Value{v})
	}
	if err := checkFormats(&column, map[string]string{column.Columns[0]: format}); err != nil {
		return err
	}
	return b.extend(name, &t, &column, format, e)
}

func (b *Book) extend(name string, t, column *Table, format string, e *calculator.Expression) error {
	place := len(t.Columns)
	letter, err := excelize.ColumnNumberToName(place + 1)
	if err != nil {
		return err
	}
	if err := b.offset(name, letter, column, format); err != nil {
		return err
	}
	if e != nil {
		if err := b.formulas(name, letter, t, e, column); err != nil {
			return err
		}
	}
	return b.finish(name, place+1, len(t.Rows))
}

// offset writes a column of values under its header.
func (b *Book) offset(name, letter string, column *Table, format string) error {
	if err := b.file.SetCellStr(name, letter+"1", column.Columns[0]); err != nil {
		return err
	}
	for n, row := range column.Rows {
		if err := b.set(name, letter+strconv.Itoa(n+2), row[0], format); err != nil {
			return err
		}
	}
	if err := b.file.SetColWidth(name, letter, letter, float64(min(len(column.Columns[0])+5, 60))); err != nil {
		return err
	}
	return b.format(name, letter, format, len(column.Rows)+1)
}

// formulas puts the expression behind the values, row by row.
func (b *Book) formulas(name, letter string, t *Table, e *calculator.Expression, column *Table) error {
	for n, row := range column.Rows {
		if !row[0].Numeric {
			continue // it has no value here, and should not get one there
		}
		formula := e.Spreadsheet(func(of string) string {
			i, err := t.Column(of)
			if err != nil {
				return "NA()"
			}
			cell, _ := excelize.CoordinatesToCellName(i+1, n+2)
			return cell
		})
		if err := b.file.SetCellFormula(name, letter+strconv.Itoa(n+2), formula); err != nil {
			return err
		}
	}
	b.computed = true
	always := true
	return b.file.SetCalcProps(&excelize.CalcPropsOptions{FullCalcOnLoad: &always})
}

// Compute evaluates an expression over the columns of each row. A row in which
// a column that it names has no number, or which has no value (a division by
// zero), is reported in failed by its number from 1, with the reason.
func (t *Table) Compute(e *calculator.Expression) (values []Value, failed map[int]error, err error) {
	places := map[string]int{}
	for _, n := range e.Names() {
		if places[n], err = t.Column(n); err != nil {
			return nil, nil, err
		}
	}
	values, failed = make([]Value, len(t.Rows)), map[int]error{}
	for i, row := range t.Rows {
		given := map[string]decimal.Decimal{}
		var missing error
		for _, n := range e.Names() {
			v := row[places[n]]
			if given[n] = v.Number; !v.Numeric && missing == nil {
				missing = fault.New("table/invalid", "it is not a number").At(n).Got(v.Text)
			}
		}
		if missing != nil {
			failed[i+1] = missing
			continue
		}
		r, err := e.Evaluate(given)
		if err != nil {
			failed[i+1] = err
			continue
		}
		values[i] = Number(r.Value)
		values[i].Text = calculator.Format(r.Value, r.Rounded, -1)
	}
	return values, failed, nil
}

// WithColumn returns the table with one more column; values must be as many as
// there are rows.
func (t *Table) WithColumn(header string, values []Value) (Table, error) {
	out := Table{Columns: append([]string{}, t.Columns...)}
	if err := out.name(header); err != nil {
		return Table{}, err
	}
	if len(values) != len(t.Rows) {
		return Table{}, fault.New("table/invalid", "%d values for %d rows", len(values), len(t.Rows))
	}
	for i, row := range t.Rows {
		if err := out.Add(append(append([]Value{}, row...), values[i])); err != nil {
			return Table{}, err
		}
	}
	return out, nil
}
