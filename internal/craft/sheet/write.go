package sheet

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Formats are how a column of a workbook is shown.
var Formats = []string{"general", "integer", "number", "percent", "usd", "eur", "gbp", "date", "text"}

var formats = map[string]string{
	"integer": "#,##0", "number": "#,##0.00", "percent": "0.0%", "date": "yyyy-mm-dd", "text": "@",
	"usd": `"$"#,##0.00`, "eur": `#,##0.00\ "€"`, "gbp": `"£"#,##0.00`,
}

// Write makes a sheet with the table, or replaces the one of this name: a
// bold header that stays in view, a filter, columns as wide as their text, and
// the formats of columns by name, from Formats. An empty name is "Sheet1".
func (b *Book) Write(name string, t *Table, formats map[string]string) (err error) {
	defer broken(&err)
	if name == "" {
		name = "Sheet1"
	}
	if err := checkSheetName(name); err != nil {
		return err
	}
	if err := checkFormats(t, formats); err != nil {
		return err
	}
	if err := b.empty(name); err != nil {
		return err
	}
	for i, c := range t.Columns {
		if err := b.column(name, i, c, t, formats[c]); err != nil {
			return err
		}
	}
	return b.finish(name, len(t.Columns), len(t.Rows))
}

func checkSheetName(name string) error {
	if utf8.RuneCountInString(name) > maxSheetName || strings.ContainsAny(name, `:\/?*[]'`) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return fault.New("table/sheet", "a sheet's name has at most %d characters, without : \\ / ? * [ ] '", maxSheetName).Got(name)
	}
	return nil
}

func checkFormats(t *Table, given map[string]string) error {
	for column, f := range given {
		if _, err := t.Column(column); err != nil {
			return err
		}
		if _, ok := formats[f]; !ok && f != "general" && f != "" {
			return fault.New("table/invalid", "there is no such format of a column").At(column).Got(f).Want("%s", suggest.Among(f, Formats))
		}
	}
	return nil
}

// empty makes sure that there is a sheet of this name with nothing in it.
func (b *Book) empty(name string) error {
	list := b.Sheets()
	if fresh, err := b.file.GetCellValue(list[0], "A1"); len(list) == 1 && err == nil && fresh == "" {
		return b.file.SetSheetName(list[0], name) // as the library makes it
	}
	old, err := b.sheet(name)
	if err != nil {
		_, err = b.file.NewSheet(name)
		return err
	}
	rows, err := b.raw(old)
	if err != nil {
		return err
	}
	for range rows {
		if err := b.file.RemoveRow(old, 1); err != nil {
			return err
		}
	}
	return nil
}

// column writes a column from its header down.
func (b *Book) column(name string, i int, header string, t *Table, format string) error {
	letter, err := excelize.ColumnNumberToName(i + 1)
	if err != nil {
		return err
	}
	if err := b.file.SetCellStr(name, letter+"1", header); err != nil {
		return err
	}
	width := utf8.RuneCountInString(header) + 3
	for n, row := range t.Rows {
		if err := b.set(name, letter+strconv.Itoa(n+2), row[i], format); err != nil {
			return err
		}
		width = max(width, utf8.RuneCountInString(row[i].Text)+2)
	}
	if err := b.file.SetColWidth(name, letter, letter, float64(min(width, 60))); err != nil {
		return err
	}
	return b.format(name, letter, format, len(t.Rows)+1)
}

// set writes a number with all its digits, a date where the column is one,
// and everything else as text, so that nothing becomes a formula.
func (b *Book) set(name, at string, v Value, format string) error {
	day, err := time.Parse(time.DateOnly, v.Text)
	switch {
	case v.Text == "" && !v.Numeric:
		return nil
	case format == "date" && err == nil:
		serial := day.Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours() / 24
		return b.file.SetCellDefault(name, at, strconv.Itoa(int(serial)))
	case v.Numeric && format != "text":
		return b.file.SetCellDefault(name, at, v.Number.String())
	}
	return b.file.SetCellStr(name, at, v.Text)
}

func (b *Book) format(name, letter, format string, last int) error {
	code, ok := formats[format]
	if !ok || last < 2 {
		return nil
	}
	id, err := b.file.NewStyle(&excelize.Style{CustomNumFmt: &code})
	if err != nil {
		return err
	}
	return b.file.SetCellStyle(name, letter+"2", letter+strconv.Itoa(last), id)
}

// finish gives a sheet its header's looks and a filter.
func (b *Book) finish(name string, columns, rows int) error {
	last, err := excelize.ColumnNumberToName(columns)
	if err != nil {
		return err
	}
	id, err := b.file.NewStyle(&excelize.Style{
		Font: &excelize.Font{Bold: true}, Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"E8EEF7"}},
		Border: []excelize.Border{{Type: "bottom", Style: 1, Color: "7F7F7F"}},
	})
	if err != nil {
		return err
	}
	if err := b.file.SetCellStyle(name, "A1", last+"1", id); err != nil {
		return err
	}
	if err := b.file.AutoFilter(name, "A1:"+last+strconv.Itoa(rows+1), nil); err != nil {
		return err
	}
	return b.file.SetPanes(name, &excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft"})
}

// Bytes packs the workbook.
func (b *Book) Bytes() (data []byte, err error) {
	defer broken(&err)
	out, err := b.file.WriteToBuffer()
	if err == nil && b.computed {
		out, err = numbered(out)
	}
	if err != nil {
		return nil, fault.New("table/invalid", "the workbook cannot be written: %s", err)
	}
	if out.Len() > MaxBytes {
		return nil, fault.New("table/limit", "the workbook would have %d bytes; at most %d are written", out.Len(), MaxBytes)
	}
	return out.Bytes(), nil
}

// numbered packs a workbook again, with numbers that formulas gave as numbers.
func numbered(packed *bytes.Buffer) (*bytes.Buffer, error) {
	z, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		return nil, err
	}
	out := &bytes.Buffer{}
	w := zip.NewWriter(out)
	for _, f := range z.File {
		data, err := content(f)
		if err != nil {
			return nil, err
		}
		part, err := w.Create(f.Name)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(NumbersOfFormulas(data)); err != nil {
			return nil, err
		}
	}
	return out, w.Close()
}

func content(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}

// textNumber is a cell whose formula has a number as its saved value, which the library
// marks as a text.
var textNumber = regexp.MustCompile(`(<c [^>]*?) t="str"(><f>[^<]*</f><v>-?[0-9.]+(?:[eE][-+]?[0-9]+)?</v>)`)

// NumbersOfFormulas returns a part of a workbook in which numbers that formulas gave are
// marked as numbers: readers that do not compute would take them for texts.
func NumbersOfFormulas(part []byte) []byte { return textNumber.ReplaceAll(part, []byte("$1$2")) }
