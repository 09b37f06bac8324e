package sheet_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"github.com/xuri/excelize/v2"
	"pgregory.net/rapid"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/sheet"
)

func read(t testing.TB, text string) sheet.Table {
	t.Helper()
	table, err := sheet.ReadCSV([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// pack writes a table as a workbook of one sheet.
func pack(t testing.TB, table *sheet.Table, formats map[string]string) []byte {
	t.Helper()
	b := sheet.NewBook()
	defer b.Close()
	if err := b.Write("", table, formats); err != nil {
		t.Fatal(err)
	}
	data, err := b.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// change opens a workbook, changes it and reads its first sheet again.
func change(t testing.TB, data []byte, f func(*sheet.Book) error) (sheet.Table, []byte) {
	t.Helper()
	b, err := sheet.OpenBook(data)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := f(b); err != nil {
		t.Fatal(err)
	}
	if data, err = b.Bytes(); err != nil {
		t.Fatal(err)
	}
	again, err := sheet.OpenBook(data)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	table, _, err := again.Table("")
	if err != nil {
		t.Fatal(err)
	}
	return table, data
}

const quarters = "Region,Quarter,Revenue,Cost,Day\nNorth,Q1,1200.50,800,2026-03-31\nSouth,Q1,900,950.25,2026-03-31\nNorth,Q2,0.1,0.2,2026-06-30\nSüd-Ost,Q2,,5,\n"

func TestTOOL05_ValuesOfPeople(t *testing.T) {
	for _, tt := range []struct {
		text, number string // empty is text
	}{
		{"1", "1"},
		{"-1.50", "-1.5"},
		{" 12 ", "12"},
		{"1,234,567.89", "1234567.89"},
		{"12,34", ""},
		{"1,2345", ""},
		{"$1,200", "1200"},
		{"-$5", "-5"},
		{"€ 7.5", "7.5"},
		{"12.5%", "0.125"},
		{"(1,000)", "-1000"},
		{"(1", ""},
		{"1e3", "1000"},
		{"0.30000000000000000004", "0.30000000000000000004"},
		{"007", ""},
		{"0", "0"},
		{"+49 30 1234", ""},
		{"+1", ""},
		{"--1", ""},
		{"1.2.3", ""},
		{"2026-03-31", ""},
		{"NaN", ""},
		{"", ""},
		{"=1+1", ""},
		{strings.Repeat("9", 100), ""},
	} {
		v := sheet.Parse(tt.text)
		if v.Numeric != (tt.number != "") || v.Numeric && !v.Number.Equal(decimal.RequireFromString(tt.number)) {
			t.Errorf("Parse(%q) = %v %v, want %q", tt.text, v.Numeric, v.Number, tt.number)
		}
	}
}

func TestTOOL05_CSV(t *testing.T) {
	table := read(t, "\ufeffA;B;\"C;D\"\n1;x;\"two\nlines\"\n2\n")
	if fmt.Sprint(table.Columns) != "[A B C;D]" || len(table.Rows) != 2 || table.Rows[0][2].Text != "two\nlines" || table.Rows[1][1].Text != "" {
		t.Errorf("%q %v", table.Columns, table.Rows)
	}
	if got := string(table.CSV()); got != "A,B,C;D\n1,x,\"two\nlines\"\n2,,\n" {
		t.Errorf("written as %q", got)
	}
	for _, tt := range []struct{ text, code, want string }{
		{"", "table/invalid", "the file is empty"},
		{"A,A\n", "table/column", `two columns have this name (got "A")`},
		{"A,,C\n", "table/column", "column 2 has no name"},
		{"A,B\n1,2,3\n", "table/invalid", "line 2 has 3 fields under 2 columns"},
		{"A,B\n1,\"2\n", "table/invalid", `line 2, column 6: extraneous or missing " in quoted-field`},
		{"A\n\xff\n", "table/invalid", "the file is not UTF-8"},
		{strings.Repeat("c,", 300) + "c\n", "table/limit", "301 columns; at most 256 are taken"},
		{"A\n" + strings.Repeat("1\n", sheet.MaxRows+1), "table/limit", "more than 100000 rows"},
		{"A\n" + strings.Repeat("x", 40_000), "table/limit", "A: a cell has 40000 bytes; at most 32768 are taken"},
	} {
		_, err := sheet.ReadCSV([]byte(tt.text))
		if fault.Code(err) != tt.code || err.Error() != tt.want {
			t.Errorf("%.30q: %v (%s), want %s (%s)", tt.text, err, fault.Code(err), tt.want, tt.code)
		}
	}
}

// Nothing that is written as text is run by the program that opens it, and it
// is read back as it was.
func TestTOOL05_FormulaInjection(t *testing.T) {
	table, err := sheet.New([]string{"=cmd|'/c calc'!A1", "Note"})
	if err != nil {
		t.Fatal(err)
	}
	attacks := []string{"=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", `=HYPERLINK("http://evil","x")`}
	for _, a := range attacks {
		if err := table.Add([]sheet.Value{sheet.Text(a), sheet.Text("'" + a)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range strings.Split(string(table.CSV()), "\n") {
		if line = strings.TrimPrefix(line, `"`); line != "" && strings.ContainsAny(line[:1], "=+-@\t\r") {
			t.Errorf("the line %q begins with a formula", line)
		}
	}
	back := read(t, string(table.CSV()))
	for i, a := range attacks {
		if got := back.Rows[i]; got[0].Text != a || got[1].Text != "'"+a {
			t.Errorf("%q came back as %q and %q", a, got[0].Text, got[1].Text)
		}
	}
	f, err := excelize.OpenReader(bytes.NewReader(pack(t, &table, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i := range attacks {
		at := fmt.Sprintf("A%d", i+2)
		formula, _ := f.GetCellFormula("Sheet1", at)
		if kind, _ := f.GetCellType("Sheet1", at); formula != "" || kind != excelize.CellTypeSharedString {
			t.Errorf("%s is a formula %q, of type %v", at, formula, kind)
		}
	}
}

func TestTOOL05_WorkbookRoundTrip(t *testing.T) {
	table := read(t, quarters)
	formats := map[string]string{"Revenue": "usd", "Cost": "number", "Day": "date"}
	data := pack(t, &table, formats)
	back, _ := change(t, data, func(*sheet.Book) error { return nil })
	if diff := cmp.Diff(string(table.CSV()), strings.ReplaceAll(string(back.CSV()), "1200.5,", "1200.50,")); diff != "" {
		t.Errorf("(-written +read)\n%s", diff)
	}
	if !bytes.Equal(data, pack(t, &table, formats)) {
		t.Error("the same table makes another file")
	}
}

func TestTOOL05_AddRowsAndColumns(t *testing.T) {
	table := read(t, quarters)
	data := pack(t, &table, map[string]string{"Revenue": "usd", "Day": "date"})
	rows := [][]sheet.Value{{sheet.Text("West"), sheet.Text("Q2"), sheet.Parse("10"), sheet.Parse("4"), sheet.Text("2026-06-30")}}
	table, data = change(t, data, func(b *sheet.Book) error { return b.Append("", rows) })
	if len(table.Rows) != 5 || table.Rows[4][0].Text != "West" || table.Rows[4][4].Text != "2026-06-30" {
		t.Fatalf("%s", table.CSV())
	}
	e, err := calculator.Parse("round(({Revenue} - {Cost}) / {Revenue}, 4)")
	if err != nil {
		t.Fatal(err)
	}
	values, failed, err := table.Compute(e)
	if err != nil || len(failed) != 1 || failed[4].Error() != `Revenue: it is not a number (got "")` {
		t.Fatalf("%v %v", failed, err)
	}
	table, data = change(t, data, func(b *sheet.Book) error { return b.AddColumn("", "Margin", "percent", e, values) })
	want := "Region,Quarter,Revenue,Cost,Day,Margin\nNorth,Q1,1200.5,800,2026-03-31,0.3336\nSouth,Q1,900,950.25,2026-03-31,-0.0558\n" +
		"North,Q2,0.1,0.2,2026-06-30,-1\nSüd-Ost,Q2,,5,,\nWest,Q2,10,4,2026-06-30,0.6\n"
	if diff := cmp.Diff(want, string(table.CSV())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	f, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// Readers that do not compute take the saved value for the number that it is.
	if kind, _ := f.GetCellType("Sheet1", "F2"); kind != excelize.CellTypeUnset && kind != excelize.CellTypeNumber {
		t.Errorf("the saved value of a formula is of type %v", kind)
	}
	formula, _ := f.GetCellFormula("Sheet1", "F2")
	computed, err := f.CalcCellValue("Sheet1", "F2", excelize.Options{RawCellValue: true})
	none, _ := f.GetCellFormula("Sheet1", "F5") // it has no revenue
	if none != "" || formula != "ROUND(((C2-D2)/C2),4)" || computed != "0.3336" || err != nil {
		t.Errorf("the formula is %q, which gives %q (%v)", formula, computed, err)
	}
}

func TestTOOL05_Pivot(t *testing.T) {
	table := read(t, quarters)
	p, err := table.Pivot([]string{"Region"}, []sheet.Aggregate{
		{Of: "Revenue", Make: "sum"}, {Of: "Cost", Make: "max"}, {Of: "Revenue", Make: "average"}, {Of: "Revenue", Make: "count"}, {Make: "count"},
	})
	want := "Region,sum of Revenue,max of Cost,average of Revenue,count of Revenue,rows\nNorth,1200.6,800,600.3,2,2\nSouth,900,950.25,900,1,1\nSüd-Ost,,5,,0,1\n"
	if err != nil || string(p.CSV()) != want {
		t.Errorf("%v\n%s", err, p.CSV())
	}
	if _, err := table.Pivot([]string{"Regoin"}, nil); fault.Code(err) != "table/column" || !strings.Contains(err.Error(), `"Region"`) {
		t.Errorf("a wrong name: %v", err)
	}
	if _, err := table.Pivot([]string{"Region"}, []sheet.Aggregate{{Of: "Cost", Make: "median"}}); fault.Code(err) != "table/invalid" {
		t.Errorf("a wrong aggregate: %v", err)
	}
}

// forge makes a workbook whose only sheet is the XML given.
func forge(t testing.TB, xml string, more map[string]string) []byte {
	t.Helper()
	table := read(t, "A\n1\n")
	z, err := zip.NewReader(bytes.NewReader(pack(t, &table, nil)), int64(len(pack(t, &table, nil))))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	put := func(name, text string) {
		p, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(p, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range z.File {
		if f.Name == "xl/worksheets/sheet1.xml" {
			put(f.Name, xml)
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		put(f.Name, string(text))
	}
	for name, text := range more {
		put(name, text)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bomb is a workbook with a part that says how large it is, and is a MiB.
func bomb(t testing.TB, says uint64) []byte {
	t.Helper()
	data := forge(t, sheetXML(""), nil)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out, packed bytes.Buffer
	f, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write(make([]byte, 1<<20))
	_ = f.Close()
	w := zip.NewWriter(&out)
	for _, part := range z.File {
		if err := w.Copy(part); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.CreateRaw(&zip.FileHeader{Name: "xl/sharedStrings2.xml", Method: zip.Deflate, CompressedSize64: uint64(packed.Len()), UncompressedSize64: says})
	if err == nil {
		_, err = p.Write(packed.Bytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func sheetXML(rows string) string {
	return `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + rows + `</sheetData></worksheet>`
}

// Files that are made to fill the memory, or to break the reader, are refused.
func TestTOOL05_HostileWorkbooks(t *testing.T) {
	sparse := strings.Repeat(`<row><c r="XFD1"><v>1</v></c></row>`, 1000)
	many := map[string]string{}
	for i := range 2100 {
		many[fmt.Sprintf("x/%d", i)] = ""
	}
	for _, tt := range []struct {
		name string
		data []byte
		code string
	}{
		{"no zip", []byte("PK but not really"), "table/invalid"},
		{"empty", nil, "table/invalid"},
		{"far columns", forge(t, sheetXML(`<row r="1"><c r="A1"><v>1</v></c><c r="XFD1"><v>1</v></c></row>`), nil), "table/limit"},
		{"far columns in many rows", forge(t, sheetXML(sparse), nil), "table/limit"},
		{"a far row", forge(t, sheetXML(`<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>1</v></c></row>`), nil), "table/limit"},
		{"a bomb", bomb(t, sheet.MaxUnpacked+1), "table/limit"},
		{"a bomb that lies", bomb(t, 10), "table/invalid"},
		{"too many parts", forge(t, sheetXML(""), many), "table/limit"},
		{"entities", forge(t, `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>`+sheetXML(`<row r="1"><c r="A1" t="str"><v>&b;</v></c></row>`), nil), "table/invalid"},
		{"no sheet data", forge(t, "<worksheet/>", nil), "table/invalid"},
		{"not XML", forge(t, "<row<row", nil), "table/invalid"},
		{"a bad address", forge(t, sheetXML(`<row r="1"><c r="?"><v>1</v></c></row>`), nil), "table/invalid"},
	} {
		b, err := sheet.OpenBook(tt.data)
		if err == nil {
			_, _, err = b.Table("")
			_ = b.Close()
		}
		if fault.Code(err) != tt.code {
			t.Errorf("%s: %v (%s), want %s", tt.name, err, fault.Code(err), tt.code)
		}
	}
}

func TestTOOL05_RefusedChanges(t *testing.T) {
	table := read(t, "A,B\n1,2\n")
	b := sheet.NewBook()
	defer b.Close()
	for _, tt := range []struct {
		what string
		err  error
		code string
	}{
		{"sheet name", b.Write("a/b", &table, nil), "table/sheet"},
		{"format", b.Write("S", &table, map[string]string{"A": "roman"}), "table/invalid"},
		{"format of no column", b.Write("S", &table, map[string]string{"C": "usd"}), "table/column"},
		{"write", b.Write("S", &table, nil), ""},
		{"append to no sheet", b.Append("T", nil), "table/sheet"},
		{"append too wide", b.Append("S", [][]sheet.Value{{{}, {}, {}}}), "table/invalid"},
		{"a column twice", b.AddColumn("S", "B", "", nil, []sheet.Value{{}}), "table/column"},
		{"too few values", b.AddColumn("S", "C", "", nil, nil), "table/invalid"},
	} {
		if fault.Code(tt.err) != tt.code {
			t.Errorf("%s: %v (%s), want %s", tt.what, tt.err, fault.Code(tt.err), tt.code)
		}
	}
}

// Any table survives both formats.
func TestTOOL05_TablesSurvive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~äöü€]{0,12}`)
		table, _ := sheet.New([]string{"a", "b", "c"})
		for range rapid.IntRange(0, 8).Draw(t, "rows") {
			number := decimal.New(rapid.Int64Range(-1e15, 1e15).Draw(t, "coefficient"), rapid.Int32Range(-8, 3).Draw(t, "exponent"))
			row := []sheet.Value{sheet.Number(number), sheet.Parse(text.Draw(t, "text")), sheet.Parse("x")}
			if err := table.Add(row); err != nil {
				t.Fatal(err)
			}
		}
		back, err := sheet.ReadCSV(table.CSV())
		if err != nil || string(back.CSV()) != string(table.CSV()) {
			t.Fatalf("%v\n%s\n%s", err, table.CSV(), back.CSV())
		}
		b := sheet.NewBook()
		defer b.Close()
		if err := b.Write("", &table, nil); err != nil {
			t.Fatal(err)
		}
		book, _, err := b.Table("")
		if err != nil || len(book.Rows) != len(table.Rows) {
			t.Fatalf("%v: %d rows of %d", err, len(book.Rows), len(table.Rows))
		}
		for i, row := range book.Rows {
			if !row[0].Number.Equal(table.Rows[i][0].Number) || row[1].Numeric != table.Rows[i][1].Numeric {
				t.Fatalf("row %d: %v, want %v", i, row, table.Rows[i])
			}
		}
	})
}

func FuzzReadCSV(f *testing.F) {
	f.Add([]byte(quarters))
	f.Add([]byte("a\tb\n\"1\t2"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := sheet.ReadCSV(data)
		if err != nil {
			if !strings.HasPrefix(fault.Code(err), "table/") {
				t.Fatalf("%v has the code %q", err, fault.Code(err))
			}
			return
		}
		if again, err := sheet.ReadCSV(table.CSV()); err != nil || !bytes.Equal(again.CSV(), table.CSV()) {
			t.Fatalf("%v\n%q\n%q", err, table.CSV(), again.CSV())
		}
	})
}

func FuzzOpenBook(f *testing.F) {
	table := read(f, quarters)
	f.Add(pack(f, &table, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := sheet.OpenBook(data)
		if err != nil {
			return
		}
		defer b.Close()
		if _, _, err := b.Table(""); err != nil && !strings.HasPrefix(fault.Code(err), "table/") {
			t.Fatalf("%v has the code %q", err, fault.Code(err))
		}
	})
}
