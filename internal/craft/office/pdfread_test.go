package office

import (
	"slices"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"

	"github.com/loomrun/loom/internal/craft/foreign"
)

// What our own writer sets in subset fonts comes back: headings with levels, tables over
// pages, lists.
func TestDOC06_OurPDFsAreReadAsThoseOfOthers(t *testing.T) {
	spec := everything(t)
	d, err := foreign.Read(render(t, "read", spec, "pdf").Data, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var tables [][][]string
	levels, items := map[string]int{}, 0
	for _, b := range d.Blocks {
		switch b.Kind {
		case "heading":
			_, title, found := strings.Cut(b.Text, " ")
			if !found {
				title = b.Text
			}
			levels[title] = b.Level
		case "table":
			tables = append(tables, b.Rows)
		case "item":
			items++
		}
	}
	var wanted []*loomv1.SpecTable
	for _, s := range spec.Sections {
		if level := levels[s.Heading]; level != int(max(s.Level, 1)) {
			t.Errorf("the heading %q has level %d, want %d", s.Heading, level, s.Level)
		}
		if s.Table != nil {
			wanted = append(wanted, s.Table)
		}
	}
	if len(tables) != len(wanted) {
		t.Fatalf("%d tables, want %d:\n%s", len(tables), len(wanted), d.Markdown())
	}
	for i, w := range wanted {
		if rows := len(w.Rows) + 2; len(tables[i]) != rows || !slices.Equal(tables[i][0], w.Headers) {
			t.Errorf("table %d has %d rows under %q, want %d under %q", i+1, len(tables[i]), tables[i][0], rows, w.Headers)
		}
	}
	if items < 9 {
		t.Errorf("%d items of lists:\n%s", items, d.Markdown())
	}
}
