package docs_test

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loomrun/loom/test/docs"
)

var update = flag.Bool("update", false, "write the index of decision records")

// heading is how a decision record begins.
var heading = regexp.MustCompile(`^# (\d+)\. (.+)\n\n?Accepted (\d{4}-\d{2}-\d{2})\.([^*\n]*(?:\n[^*\n]+)*)`)

// TestTheIndexHasEveryDecision writes the index of decision records from the
// records: number, title, date, and what it adds to or replaces.
func TestTheIndexHasEveryDecision(t *testing.T) {
	rows := map[string]string{}
	for name, text := range pages(t) {
		base := filepath.Base(name)
		if filepath.Dir(name) != "docs/decisions" || base == "README.md" {
			continue
		}
		m := heading.FindStringSubmatch(text)
		if m == nil || !strings.HasPrefix(base, fmt.Sprintf("%04s-", m[1])) {
			t.Errorf("%s does not begin as a decision record does: a heading with its number, then \"Accepted\" and the date", name)
			continue
		}
		about := strings.Join(strings.Fields(strings.ReplaceAll(m[4], "Replaces none.", "")), " ")
		rows[base] = fmt.Sprintf("| [%s](%s) | %s | %s | %s |\n", m[1], base, m[2], m[3], strings.TrimSuffix(about, "."))
	}
	var table strings.Builder
	table.WriteString("| | decision | accepted | beside others |\n|---|---|---|---|\n")
	for _, base := range slices.Sorted(maps.Keys(rows)) {
		table.WriteString(rows[base])
	}
	docs.Part(t, filepath.Join(root, "docs/decisions/README.md"), "index", table.String(), *update)
}
