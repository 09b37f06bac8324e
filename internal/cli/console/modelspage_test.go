package console

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/roles"
	"github.com/loomrun/loom/test/docs"
)

var update = flag.Bool("update", false, "write the parts of pages that are made from the code")

const modelsPage = "../../../docs/models.md"

// The page has the entries of the table and what holds where nothing is said.
func TestAGENT02_ProviderSettingsAreWrittenDown(t *testing.T) {
	var b strings.Builder
	b.WriteString("| entry | where nothing is said | takes |\n|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(ProviderSettings)) {
		s := ProviderSettings[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, s.Usual, s.want)
	}
	docs.Part(t, modelsPage, "settings", b.String(), *update)
}

// The page has the tiers of the built-in roles.
func TestAGENT02_TiersAreWrittenDown(t *testing.T) {
	set := roles.Builtin()
	var b strings.Builder
	b.WriteString("| tier | built-in roles |\n|---|---|\n")
	for tier := 1; tier <= 3; tier++ {
		var names []string
		for _, name := range set.Names() {
			if r, _ := set.Get(name); !r.Human && r.Tier == tier {
				names = append(names, "`"+name+"`")
			}
		}
		fmt.Fprintf(&b, "| %d | %s |\n", tier, strings.Join(names, ", "))
	}
	docs.Part(t, modelsPage, "tiers", b.String(), *update)
}
