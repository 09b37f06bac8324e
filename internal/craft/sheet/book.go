package sheet

import (
	"archive/zip"
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"github.com/xuri/excelize/v2"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Book is a workbook. It must be closed, and is for one goroutine.
type Book struct {
	file     *excelize.File
	computed bool // a formula was written
}

// options keep the library from unpacking too much, and from the disk.
func options() excelize.Options {
	return excelize.Options{UnzipSizeLimit: MaxUnpacked, UnzipXMLSizeLimit: MaxUnpacked, RawCellValue: true}
}

// NewBook returns a workbook without sheets.
func NewBook() *Book { return &Book{file: excelize.NewFile(options())} }

// OpenBook reads a workbook. It returns table/invalid for what is none, and
// table/limit for one that is too large, packed or unpacked.
func OpenBook(data []byte) (b *Book, err error) {
	if err := checkPacked(data); err != nil {
		return nil, err
	}
	defer broken(&err)
	f, err := excelize.OpenReader(bytes.NewReader(data), options())
	if err != nil {
		return nil, fault.New("table/invalid", "it is not a workbook: %s", err)
	}
	return &Book{file: f}, nil
}

// broken makes an error of a library that broke down on what it was given.
func broken(err *error) {
	if p := recover(); p != nil {
		*err = fault.New("table/invalid", "the workbook is damaged: %v", p)
	}
}

func checkPacked(data []byte) error {
	if len(data) > MaxBytes {
		return fault.New("table/limit", "the file has %d bytes; at most %d are read", len(data), MaxBytes)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fault.New("table/invalid", "it is not a workbook: %s", err)
	}
	if len(z.File) > maxParts {
		return fault.New("table/limit", "the workbook has %d parts; at most %d are read", len(z.File), maxParts)
	}
	total := uint64(0)
	for _, f := range z.File {
		if total += min(f.UncompressedSize64, 2*MaxUnpacked); total > MaxUnpacked {
			return fault.New("table/limit", "the workbook is larger than %d bytes when it is unpacked", MaxUnpacked)
		}
	}
	return nil
}

// Close frees what the workbook holds.
func (b *Book) Close() error { return b.file.Close() }

// Sheets returns the names of the sheets, in order.
func (b *Book) Sheets() []string { return b.file.GetSheetList() }

// sheet finds a sheet; an empty name is the first one.
func (b *Book) sheet(name string) (string, error) {
	list := b.Sheets()
	if name == "" && len(list) > 0 {
		return list[0], nil
	}
	if i := slices.IndexFunc(list, func(s string) bool { return strings.EqualFold(s, name) }); i >= 0 {
		return list[i], nil
	}
	return "", fault.New("table/sheet", "there is no such sheet").Got(name).Want("%s", suggest.Among(name, list))
}

// Table reads a sheet, the first one if name is empty: its first row names the
// columns, and empty rows at the end are left out. Dates are as 2026-11-21.
// Formulas have the values that were saved with them; unsaved says how many
// have none.
func (b *Book) Table(name string) (t Table, unsaved int, err error) {
	defer broken(&err)
	if name, err = b.sheet(name); err != nil {
		return Table{}, 0, err
	}
	rows, err := b.raw(name)
	if err != nil {
		return Table{}, 0, err
	}
	if len(rows) == 0 {
		return Table{}, 0, fault.New("table/invalid", "the sheet %q is empty", name)
	}
	header := rows[0]
	if t, err = New(header); err != nil {
		return Table{}, 0, err
	}
	for i, cells := range rows[1:] {
		row := make([]Value, len(header))
		for j := range row {
			var none bool
			if row[j], none, err = b.value(name, cells, j, i+2); err != nil {
				return Table{}, 0, err
			}
			if none {
				unsaved++
			}
		}
		if err := t.Add(row); err != nil {
			return Table{}, 0, err
		}
	}
	return t, unsaved, nil
}

// raw reads the cells of a sheet as they are stored, row by row, so that a
// sheet that is too large is refused before it is in memory.
func (b *Book) raw(name string) (list [][]string, err error) {
	rows, err := b.file.Rows(name)
	if err != nil {
		return nil, fault.New("table/invalid", "the sheet %q cannot be read: %s", name, err)
	}
	defer rows.Close()
	cells, last := 0, 0
	for n := 0; rows.Next(); n++ {
		if n > MaxRows {
			return nil, fault.New("table/limit", "the sheet %q has more than %d rows", name, MaxRows)
		}
		row, err := rows.Columns()
		if err != nil {
			return nil, fault.New("table/invalid", "row %d of the sheet %q cannot be read: %s", n+1, name, err)
		}
		for len(row) > 0 && row[len(row)-1] == "" {
			row = row[:len(row)-1]
		}
		if cells += len(row); len(row) > MaxColumns || cells > MaxCells {
			return nil, fault.New("table/limit", "the sheet %q has more than %d columns or %d cells", name, MaxColumns, MaxCells)
		}
		if n > 0 && len(list) > 0 && len(row) > len(list[0]) {
			return nil, fault.New("table/invalid", "row %d of the sheet %q has %d values under %d columns", n+1, name, len(row), len(list[0]))
		}
		if list = append(list, slices.Clone(row)); len(row) > 0 { // without the empty cells behind it
			last = len(list)
		}
	}
	return list[:last], rows.Error()
}

// value reads one cell; none says that it has a formula without a value.
func (b *Book) value(sheet string, cells []string, column, row int) (v Value, none bool, err error) {
	at, err := excelize.CoordinatesToCellName(column+1, row)
	if err != nil {
		return Value{}, false, err
	}
	if column >= len(cells) || cells[column] == "" {
		formula, err := b.file.GetCellFormula(sheet, at)
		return Value{}, err == nil && formula != "", nil
	}
	text := cells[column]
	kind, err := b.file.GetCellType(sheet, at)
	if err != nil {
		return Value{}, false, fault.New("table/invalid", "the cell %s cannot be read: %s", at, err)
	}
	if kind == excelize.CellTypeSharedString || kind == excelize.CellTypeInlineString {
		return Text(text), false, nil
	}
	v = Parse(text)
	if v.Numeric && b.dated(sheet, at) {
		return Text(b.date(v.Number)), false, nil
	}
	return v, false, nil
}

// dated reports whether a cell is shown as a date.
func (b *Book) dated(sheet, at string) bool {
	id, err := b.file.GetCellStyle(sheet, at)
	if err != nil || id == 0 {
		return false
	}
	style, err := b.file.GetStyle(id)
	if err != nil {
		return false
	}
	if f := style.CustomNumFmt; f != nil {
		return dateFormat(*f)
	}
	return style.NumFmt >= 14 && style.NumFmt <= 22 || style.NumFmt >= 45 && style.NumFmt <= 47
}

// dateFormat reports whether a number format has a year, month or day outside
// of quotes and brackets.
func dateFormat(f string) bool {
	quoted, bracket := false, false
	for _, c := range strings.ToLower(f) {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			bracket = true
		case c == ']':
			bracket = false
		case !bracket && (c == 'y' || c == 'd'):
			return true
		}
	}
	return false
}

func (b *Book) date(serial decimal.Decimal) string {
	system := false
	if p, err := b.file.GetWorkbookProps(); err == nil && p.Date1904 != nil {
		system = *p.Date1904
	}
	t, err := excelize.ExcelDateToTime(serial.InexactFloat64(), system)
	if err != nil {
		return serial.String()
	}
	if t = t.Round(time.Second); serial.IsInteger() {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02T15:04:05")
}
