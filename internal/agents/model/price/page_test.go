package price

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/loomrun/loom/test/docs"
)

var update = flag.Bool("update", false, "write the list prices of docs/models.md")

// The page has the list prices as they are.
func TestAGENT02_ListPricesAreWrittenDown(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "List prices of %s, in dollars for a million tokens:\n\n| model | prompt | cache write | cache read | answer |\n|---|---|---|---|---|\n", AsOf)
	for _, provider := range slices.Sorted(maps.Keys(table)) {
		for _, model := range slices.Sorted(maps.Keys(table[provider])) {
			r := table[provider][model]
			fmt.Fprintf(&b, "| `%s:%s` | %s |\n", provider, model, columns(r))
			if r.Long != nil {
				fmt.Fprintf(&b, "| prompts beyond %d tokens | %s |\n", r.Above, columns(*r.Long))
			}
		}
	}
	docs.Part(t, "../../../../docs/models.md", "prices", b.String(), *update)
}

func columns(r Rate) string {
	var list []string
	for _, units := range []uint64{r.Input, r.CacheWrite, r.CacheRead, r.Output} {
		list = append(list, strconv.FormatFloat(float64(units)/dollar, 'f', -1, 64))
	}
	return strings.Join(list, " | ")
}
