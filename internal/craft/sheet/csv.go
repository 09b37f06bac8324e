package sheet

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/loomrun/loom/internal/base/fault"
)

// ReadCSV reads a table with a header line. Fields are separated by commas, or
// by what the header has instead: semicolons or tabs. A byte order mark is
// passed over; rows that end early are filled with empty values. What is wrong
// is table/invalid with the line, or table/limit.
func ReadCSV(data []byte) (Table, error) {
	if len(data) > MaxBytes {
		return Table{}, fault.New("table/limit", "the file has %d bytes; at most %d are read", len(data), MaxBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if !utf8.Valid(data) {
		return Table{}, fault.New("table/invalid", "the file is not UTF-8")
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = separator(data), -1, true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return Table{}, fault.New("table/invalid", "the file is empty")
	}
	if err != nil {
		return Table{}, malformed(err)
	}
	for i, name := range header {
		header[i] = unguard(name)
	}
	t, err := New(header)
	if err != nil {
		return Table{}, err
	}
	return t, t.fill(r)
}

func (t *Table) fill(r *csv.Reader) error {
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return malformed(err)
		}
		if len(record) > len(t.Columns) {
			line, _ := r.FieldPos(len(t.Columns))
			return fault.New("table/invalid", "line %d has %d fields under %d columns", line, len(record), len(t.Columns))
		}
		row := make([]Value, len(t.Columns))
		for i, field := range record {
			row[i] = Parse(strings.Clone(unguard(field)))
		}
		if err := t.Add(row); err != nil {
			return err
		}
	}
}

func malformed(err error) *fault.Error {
	if p, ok := errors.AsType[*csv.ParseError](err); ok {
		return fault.New("table/invalid", "line %d, column %d: %s", p.Line, p.Column, p.Err)
	}
	return fault.New("table/invalid", "%s", err)
}

// separator is the one that the header line has most of.
func separator(data []byte) rune {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	best, most := ',', bytes.Count(line, []byte(","))
	for _, c := range []rune{';', '\t'} {
		if n := bytes.Count(line, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// CSV writes the table with commas and a header line. Text that a spreadsheet
// program would take for a formula is written with an apostrophe before it.
func (t *Table) CSV() []byte {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	record := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		record[i] = guard(c)
	}
	_ = w.Write(record) // to memory
	for _, row := range t.Rows {
		for i, v := range row {
			if record[i] = v.Text; !v.Numeric {
				record[i] = guard(v.Text)
			}
		}
		if len(record) == 1 && record[0] == "" {
			w.Flush()
			out.WriteString("\"\"\n") // an empty line would be no row
			continue
		}
		_ = w.Write(record)
	}
	w.Flush()
	return out.Bytes()
}

// starters are what makes a spreadsheet program take text for a formula.
const starters = "=+-@\t\r\n"

// guard puts an apostrophe before such text, also where one stands already, so
// that unguard gives back what it was.
func guard(s string) string {
	if rest := strings.TrimLeft(s, "'"); rest != "" && strings.ContainsRune(starters, rune(rest[0])) {
		return "'" + s
	}
	return s
}

// unguard takes the apostrophe away that guard put there.
func unguard(s string) string {
	if rest, ok := strings.CutPrefix(s, "'"); ok && guard(rest) != rest {
		return rest
	}
	return s
}
