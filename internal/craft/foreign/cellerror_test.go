package foreign

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Cells whose formulas came to nothing are named, and rows by the numbers that a
// spreadsheet program shows.
func TestPROC05_CellErrorsAreFound(t *testing.T) {
	d, err := Read(xlsx(t, 1, `
		<row r="1"><c r="A1" t="str"><v>total</v></c></row>
		<row r="4"><c r="A4"><f>B4*2</f><v>4</v></c><c r="B4" t="e"><f>C4/0</f><v>#DIV/0!</v></c></row>
		<row r="7"><c r="A7"><f>SUM(#REF!)</f><v>0</v></c><c r="B7" t="str"><f>X()</f><v>#NAME?</v></c><c r="C7" t="str"><v>#REF! is a word here</v></c></row>
	`), on)
	if err != nil {
		t.Fatal(err)
	}
	name := d.Blocks[0].Text
	want := []CellError{{name, "B4", "#DIV/0!"}, {name, "A7", "the formula has lost a reference: SUM(#REF!)"}, {name, "B7", "#NAME?"}}
	if diff := cmp.Diff(want, d.CellErrors); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if a, b := d.RowNumber(1, 1), d.RowNumber(1, 2); a != 4 || b != 7 {
		t.Errorf("rows %d and %d, want 4 and 7", a, b)
	}
}
