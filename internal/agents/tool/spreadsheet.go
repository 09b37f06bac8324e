package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/sheet"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var spreadsheet = &tool{
	Spec: Spec{
		Name:  "spreadsheet",
		Class: writes,
		Description: "Work on a table in a .csv or .xlsx file. create (columns, rows, formats; replaces the sheet), " +
			"read (columns, offset, limit), add_rows (rows), add_column (column, with formula over the others, such as {Revenue} - {Cost}, " +
			"which stays one in .xlsx, or values), pivot (group_by, aggregate, to), export (to a .csv, .xlsx or .md file), sheets (their names).",
		Schema: schema(`"action","path"`, `
			"action": {"enum": ["create", "read", "add_rows", "add_column", "pivot", "export", "sheets"]},
			"path": {"type": "string", "minLength": 1},
			"sheet": {"type": "string", "maxLength": 31, "description": "default the first"},
			"columns": {"type": "array", "minItems": 1, "maxItems": 256, "items": {"type": "string"}},
			"rows": {"type": "array", "maxItems": 10000, "description": "in the order of columns, or by name",
				"items": {"type": ["array", "object"]}},
			"formats": {"type": "object", "description": "by column, for .xlsx", "additionalProperties": {"enum": ["`+strings.Join(sheet.Formats, `","`)+`"]}},
			"column": {"type": "string", "minLength": 1},
			"formula": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "as in calculator"},
			"values": {"type": "array", "maxItems": 100000},
			"group_by": {"type": "array", "minItems": 1, "maxItems": 10, "items": {"type": "string"}},
			"aggregate": {"type": "object", "description": "by column: `+strings.Join(sheet.Aggregates, ", ")+`, or a list of these", "additionalProperties": {"type": ["string", "array"]}},
			"to": {"type": "string", "minLength": 1},
			"offset": {"type": "integer", "minimum": 1, "description": "first row"},
			"limit": {"type": "integer", "minimum": 1, "description": "default 200"}`),
	},
	run:       with(workOnSheet),
	reconcile: reconcileSheet,
}

type sheetArguments struct {
	Action    string                     `json:"action"`
	Path      string                     `json:"path"`
	Sheet     string                     `json:"sheet"`
	Columns   []string                   `json:"columns"`
	Rows      []json.RawMessage          `json:"rows"`
	Formats   map[string]string          `json:"formats"`
	Column    string                     `json:"column"`
	Formula   string                     `json:"formula"`
	Values    []json.RawMessage          `json:"values"`
	GroupBy   []string                   `json:"group_by"`
	Aggregate map[string]json.RawMessage `json:"aggregate"`
	To        string                     `json:"to"`
	Offset    int                        `json:"offset"`
	Limit     int                        `json:"limit"`
}

// sheetActions says which arguments beside action, path and sheet an action
// takes, and which of them it needs.
var sheetActions = map[string]struct {
	run         func(job, sheetArguments) (Result, error)
	needs, also []string
}{
	"create":     {createSheet, []string{"columns"}, []string{"rows", "formats"}},
	"read":       {readSheet, nil, []string{"columns", "offset", "limit"}},
	"add_rows":   {addRows, []string{"rows"}, nil},
	"add_column": {addColumn, []string{"column"}, []string{"formula", "values", "formats"}},
	"pivot":      {pivotSheet, []string{"group_by", "aggregate"}, []string{"to"}},
	"export":     {exportSheet, []string{"to"}, nil},
	"sheets":     {listSheets, nil, nil},
}

func workOnSheet(_ context.Context, j job, a sheetArguments) (Result, error) {
	action := sheetActions[a.Action]
	given := map[string]bool{
		"columns": a.Columns != nil, "rows": a.Rows != nil, "formats": a.Formats != nil, "column": a.Column != "", "formula": a.Formula != "",
		"values": a.Values != nil, "group_by": a.GroupBy != nil, "aggregate": a.Aggregate != nil, "to": a.To != "", "offset": a.Offset > 0, "limit": a.Limit > 0,
	}
	var errs []*fault.Error
	for _, name := range slices.Sorted(maps.Keys(given)) {
		switch needed := slices.Contains(action.needs, name); {
		case needed && !given[name]:
			errs = append(errs, unfit(name, "%s needs it", a.Action))
		case given[name] && !needed && !slices.Contains(action.also, name):
			errs = append(errs, unfit(name, "%s does not take it", a.Action))
		}
	}
	if err := fault.Join(errs); err != nil {
		return Result{}, err
	}
	return action.run(j, a)
}

func (a sheetArguments) file() tableFile { return tableFile{a.Path, a.Sheet} }

func createSheet(j job, a sheetArguments) (Result, error) {
	ext, err := extensionOf("path", a.Path, ".csv", ".xlsx")
	if err != nil {
		return Result{}, err
	}
	t, err := sheet.New(a.Columns)
	if err != nil {
		return Result{}, err
	}
	rows, err := readRows(&t, a.Rows)
	if err != nil {
		return Result{}, err
	}
	for _, row := range rows {
		if err := t.Add(row); err != nil {
			return Result{}, err
		}
	}
	if ext == ".csv" {
		return j.save(a.Path, &t)
	}
	r, err := j.inBook(a.Path, true, func(b *sheet.Book) error { return b.Write(a.Sheet, &t, a.Formats) })
	return r.rows(&t), err
}

// rows adds the size of a table to what a result says.
func (r Result) rows(t *sheet.Table) Result {
	if r.Status == loomv1.ToolStatus_TOOL_STATUS_OK {
		r.Summary += fmt.Sprintf(", %d rows of %d columns", len(t.Rows), len(t.Columns))
		r.Output = r.Summary + "\n"
	}
	return r
}

// save writes a table as a file by itself.
func (j job) save(path string, t *sheet.Table) (Result, error) {
	ext, err := extensionOf("to", path, ".csv", ".xlsx", ".md")
	if err != nil {
		return Result{}, err
	}
	data := t.CSV()
	switch ext {
	case ".md":
		data = []byte(t.Markdown())
	case ".xlsx":
		b := sheet.NewBook()
		defer b.Close()
		if err := b.Write("", t, nil); err != nil {
			return Result{}, err
		}
		if data, err = b.Bytes(); err != nil {
			return Result{}, err
		}
	}
	r, err := j.deliver(path, data)
	return r.rows(t), err
}

// inBook changes a workbook of the workspace, a new one if it is not there and
// may be made.
func (j job) inBook(path string, make bool, change func(*sheet.Book) error) (Result, error) {
	data, err := j.bytes(path)
	var b *sheet.Book
	switch {
	case err == nil:
		if b, err = sheet.OpenBook(data); err != nil {
			return Result{}, at(path, err)
		}
	case make && fault.Code(err) == "tool/not-found":
		b = sheet.NewBook()
	default:
		return Result{}, err
	}
	defer b.Close()
	if err := change(b); err != nil {
		return Result{}, at(path, err)
	}
	if data, err = b.Bytes(); err != nil {
		return Result{}, at(path, err)
	}
	return j.deliver(path, data)
}

// readRows reads rows that are lists in the order of the columns, or objects
// by column name.
func readRows(t *sheet.Table, raw []json.RawMessage) (rows [][]sheet.Value, err error) {
	for i, r := range raw {
		row := make([]sheet.Value, len(t.Columns))
		if bytes.HasPrefix(bytes.TrimSpace(r), []byte("{")) {
			err = namedRow(t, r, row)
		} else {
			err = listedRow(r, row)
		}
		if err != nil {
			e := fault.From(err)
			return nil, e.At(strings.TrimSuffix(fmt.Sprintf("rows[%d]: %s", i, e.Where), ": "))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func namedRow(t *sheet.Table, raw json.RawMessage, row []sheet.Value) error {
	var cells map[string]json.RawMessage
	if err := json.Unmarshal(raw, &cells); err != nil {
		return unfit("", "%s", err)
	}
	for _, name := range slices.Sorted(maps.Keys(cells)) {
		i, err := t.Column(name)
		if err != nil {
			return err
		}
		if row[i], err = cell(cells[name]); err != nil {
			return err
		}
	}
	return nil
}

func listedRow(raw json.RawMessage, row []sheet.Value) error {
	var cells []json.RawMessage
	if err := json.Unmarshal(raw, &cells); err != nil {
		return unfit("", "%s", err)
	}
	if len(cells) != len(row) {
		return unfit("", "it has %d values for %d columns", len(cells), len(row))
	}
	for i, c := range cells {
		v, err := cell(c)
		if err != nil {
			return err
		}
		row[i] = v
	}
	return nil
}

// cell is a JSON value as a table has it: numbers with all their digits, and
// text as people write it, so that "12%" is a number.
func cell(raw json.RawMessage) (sheet.Value, error) {
	text := string(bytes.TrimSpace(raw))
	switch {
	case text == "null":
		return sheet.Value{}, nil
	case text == "true" || text == "false":
		return sheet.Text(text), nil
	case strings.HasPrefix(text, `"`):
		if err := json.Unmarshal(raw, &text); err != nil {
			return sheet.Value{}, unfit("", "%s", err)
		}
		return sheet.Parse(text), nil
	}
	d, err := calculator.ParseNumber(text)
	if err != nil {
		return sheet.Value{}, unfit("", "a cell is text, a number, true, false or null").Got(text)
	}
	return sheet.Number(d), nil
}

func addRows(j job, a sheetArguments) (Result, error) {
	t, _, err := j.table(a.file())
	if err != nil {
		return Result{}, err
	}
	rows, err := readRows(&t, a.Rows)
	if err != nil {
		return Result{}, err
	}
	for _, row := range rows {
		if err := t.Add(row); err != nil {
			return Result{}, err
		}
	}
	if extension(a.Path) != ".xlsx" {
		return j.save(a.Path, &t)
	}
	r, err := j.inBook(a.Path, false, func(b *sheet.Book) error { return b.Append(a.Sheet, rows) })
	return r.rows(&t), err
}

func addColumn(j job, a sheetArguments) (Result, error) {
	if (a.Formula == "") == (a.Values == nil) {
		return Result{}, unfit("arguments", "give formula or values, one of them")
	}
	t, _, err := j.table(a.file())
	if err != nil {
		return Result{}, err
	}
	values, e, failed, err := a.newColumn(&t)
	if err != nil {
		return Result{}, err
	}
	wider, err := t.WithColumn(a.Column, values)
	if err != nil {
		return Result{}, err
	}
	var r Result
	if extension(a.Path) == ".xlsx" {
		r, err = j.inBook(a.Path, false, func(b *sheet.Book) error { return b.AddColumn(a.Sheet, a.Column, a.Formats[a.Column], e, values) })
		r = r.rows(&wider)
	} else {
		r, err = j.save(a.Path, &wider)
	}
	r.Output += failures(failed)
	return r, err
}

// newColumn computes or reads the values of a column.
func (a sheetArguments) newColumn(t *sheet.Table) (values []sheet.Value, e *calculator.Expression, failed map[int]error, err error) {
	if a.Formula != "" {
		if e, err = calculator.Parse(a.Formula); err != nil {
			return nil, nil, nil, err
		}
		values, failed, err = t.Compute(e)
		return values, e, failed, err
	}
	for _, raw := range a.Values {
		v, err := cell(raw)
		if err != nil {
			return nil, nil, nil, err
		}
		values = append(values, v)
	}
	return values, nil, nil, nil
}

// failures lists rows without a value.
func failures(failed map[int]error) string {
	const most = 20
	var b strings.Builder
	for i, row := range slices.Sorted(maps.Keys(failed)) {
		if i == most {
			fmt.Fprintf(&b, "[%d more rows have no value]\n", len(failed)-most)
			break
		}
		fmt.Fprintf(&b, "row %d has no value: %s\n", row, failed[row])
	}
	return b.String()
}
