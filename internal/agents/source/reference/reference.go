// Package reference is data that is in the program: units, currencies,
// divisions of industry and published thresholds, each row with its source.
//
// It promises that everything in it was published by somebody, who is named,
// and answers without a network. It holds nothing that changes with the
// market, and no averages of industries: those age, and their sources are not
// free to copy.
package reference

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/craft/sheet"
)

//go:embed data/*.csv
var files embed.FS

// Names of the tables there are.
var Names = []string{"currencies", "industries", "thresholds", "units"}

var tables = sync.OnceValue(func() map[string]sheet.Table {
	all := map[string]sheet.Table{}
	for _, name := range Names {
		data, err := files.ReadFile("data/" + name + ".csv")
		if err != nil {
			panic(fmt.Sprintf("reference: %v", err))
		}
		if all[name], err = sheet.ReadCSV(data); err != nil {
			panic(fmt.Sprintf("reference %s: %v", name, err))
		}
	}
	return all
})

// Find returns the rows of a table that have all the words of a query, in any
// case; all rows without one. It returns source/unknown for a name that is
// not in Names; no rows are an answer.
func Find(name, query string) (sheet.Table, error) {
	if !slices.Contains(Names, name) {
		return sheet.Table{}, fault.New("source/unknown", "there is no such table").At("table").Got(name).Want("%s", suggest.Among(name, Names))
	}
	whole := tables()[name]
	words := strings.Fields(strings.ToLower(query))
	found := sheet.Table{Columns: slices.Clone(whole.Columns)}
	for _, row := range whole.Rows {
		var text strings.Builder
		for _, v := range row {
			text.WriteString(strings.ToLower(v.Text) + "\n")
		}
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text.String(), w) }) {
			found.Rows = append(found.Rows, slices.Clone(row))
		}
	}
	return found, nil
}
