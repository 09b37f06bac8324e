package sheet_test

import (
	"fmt"

	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/sheet"
)

// A column is computed from others by their names; a row without a number says
// so, and the others have their values.
func ExampleTable_Compute() {
	t, _ := sheet.ReadCSV([]byte("Region,Revenue,Cost\nNorth,\"$1,200\",800\nSouth,n/a,950\n"))
	e, _ := calculator.Parse("round(({Revenue} - {Cost}) / {Revenue}, 3)")
	values, failed, _ := t.Compute(e)
	fmt.Println(values[0].Text)
	fmt.Println(failed[2])
	// Output:
	// 0.333
	// Revenue: it is not a number (got "n/a")
}
