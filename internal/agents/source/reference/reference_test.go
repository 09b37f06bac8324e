package reference_test

import (
	"fmt"
	"testing"

	"github.com/loomrun/loom/internal/agents/source/reference"
	"github.com/loomrun/loom/internal/base/fault"
)

func ExampleFind() {
	t, _ := reference.Find("units", "barrel")
	fmt.Printf("%s", t.CSV())
	// Output:
	// unit,symbol,quantity,si_value,si_unit,source
	// oil barrel,bbl,volume,0.158987294928,m3,"42 US gallons, exact"
}

// Every row says where it comes from, and nothing stands twice.
func TestTOOL07_EveryRowHasASource(t *testing.T) {
	for _, name := range reference.Names {
		table, err := reference.Find(name, "")
		if err != nil || len(table.Rows) < 5 {
			t.Fatalf("%s: %d rows, %v", name, len(table.Rows), err)
		}
		source, err := table.Column("source")
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, row := range table.Rows {
			key := fmt.Sprint(row[0].Text, row[1].Text, row[2].Text)
			if row[source].Text == "" || seen[key] {
				t.Errorf("%s: %v", name, row)
			}
			seen[key] = true
		}
	}
	if _, err := reference.Find("unit", ""); fault.Code(err) != "source/unknown" {
		t.Errorf("%v", err)
	}
	if none, err := reference.Find("units", "furlong"); err != nil || len(none.Rows) != 0 {
		t.Errorf("%v %v", none, err)
	}
}
