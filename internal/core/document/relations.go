package document

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// relations checks what one value says of another: rows under headers, figures in
// sections.
func (c *checker) relations(m proto.Message) {
	switch m := m.(type) {
	case *loomv1.PlanningOutline:
		c.outline(m)
	case *loomv1.DocumentSpec:
		for i, s := range m.Sections {
			if s.Table != nil {
				c.table(s.Table, fmt.Sprintf("sections[%d].table", i))
			}
		}
		c.figures(m.Figures)
	case *loomv1.SheetSpec:
		c.sheets(m)
		c.figures(m.Figures)
	case *loomv1.PresentationSpec:
		for i, s := range m.Slides {
			if s.Table != nil {
				c.table(s.Table, fmt.Sprintf("slides[%d].table", i))
			}
		}
		c.figures(m.Figures)
	}
}

func (c *checker) outline(o *loomv1.PlanningOutline) {
	var ids []string
	for _, s := range o.Sections {
		ids = append(ids, s.Id)
	}
	for i, s := range o.Sections {
		for j, id := range s.Dependencies {
			at := fmt.Sprintf("sections[%d].dependencies[%d]", i, j)
			switch {
			case id == s.Id:
				c.refuse(at, "a section cannot build on itself").Got(id)
			case !slices.Contains(ids, id):
				c.refuse(at, "there is no such section").Got(id).Want("%s", suggest.Among(id, ids))
			}
		}
	}
	c.cycle(o)
}

// cycle refuses sections that build on each other in a ring.
func (c *checker) cycle(o *loomv1.PlanningOutline) {
	at := map[string]int{}
	for i, s := range o.Sections {
		at[s.Id] = i
	}
	state := make([]int, len(o.Sections)) // 1: on the way, 2: done
	var visit func(i int) bool
	visit = func(i int) bool {
		state[i] = 1
		for _, id := range o.Sections[i].Dependencies {
			j, known := at[id]
			if known && j != i && (state[j] == 1 || state[j] == 0 && visit(j)) {
				return true
			}
		}
		state[i] = 2
		return false
	}
	for i := range o.Sections {
		if state[i] == 0 && visit(i) {
			c.refuse(fmt.Sprintf("sections[%d].dependencies", i), "sections depend on each other in a ring")
			return
		}
	}
}

func (c *checker) table(t *loomv1.SpecTable, path string) {
	for i, row := range t.Rows {
		at := fmt.Sprintf("%s.rows[%d]", path, i)
		if n := len(row.GetValues()); n != len(t.Headers) {
			c.refuse(at, "the row has %d cells under %d headers", n, len(t.Headers))
			continue
		}
		for j, v := range row.GetValues() {
			c.cell(v, fmt.Sprintf("%s[%d]", at, j))
		}
	}
	named := func(list, key string) {
		if !slices.Contains(t.Headers, key) {
			c.refuse(join(path+"."+list, key), "there is no column of this name").Got(key).Want("%s", suggest.Among(key, t.Headers))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(t.Totals)) {
		named("totals", key)
		c.cell(t.Totals[key], join(path+".totals", key))
	}
	for _, key := range slices.Sorted(maps.Keys(t.Aggregates)) {
		named("aggregates", key)
	}
	for _, key := range slices.Sorted(maps.Keys(t.Formats)) {
		named("formats", key)
	}
	c.merges(t, path+".merges")
}

// cell refuses what does not fit into a cell.
func (c *checker) cell(v *structpb.Value, path string) {
	switch v.GetKind().(type) {
	case *structpb.Value_ListValue:
		c.refuse(path, "a cell is a text, a number, true, false or null, not a list")
	case *structpb.Value_StructValue:
		c.refuse(path, "a cell is a text, a number, true, false or null, not an object")
	case *structpb.Value_StringValue:
		const most = 8000
		if n := len(v.GetStringValue()); n > most {
			c.refuse(path, "the cell has %d bytes; at most %d are taken", n, most)
		}
		if i := strings.IndexFunc(v.GetStringValue(), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }); i >= 0 {
			c.refuse(path, "the cell has a control character at byte %d", i)
		}
	}
}

func (c *checker) merges(t *loomv1.SpecTable, path string) {
	taken := map[[2]int32]bool{}
	for i, m := range t.Merges {
		at := fmt.Sprintf("%s[%d]", path, i)
		rows, columns := Span(m)
		if int(m.Row+rows) > len(t.Rows) || int(m.Column+columns) > len(t.Headers) {
			c.refuse(at, "the merge leaves the table of %d rows and %d columns", len(t.Rows), len(t.Headers))
			continue
		}
		if rows*columns < 2 {
			c.refuse(at, "a merge is of two cells at least")
		}
		for r := m.Row; r < m.Row+rows; r++ {
			for k := m.Column; k < m.Column+columns; k++ {
				if taken[[2]int32{r, k}] {
					c.refuse(at, "the merge overlaps another one at row %d, column %d", r, k)
					return
				}
				taken[[2]int32{r, k}] = true
			}
		}
	}
}

// Span is how many rows and columns a merge has.
func Span(m *loomv1.CellMerge) (rows, columns int32) { return max(m.Rows, 1), max(m.Columns, 1) }

// figures checks that a figure has a picture or a chart, and that charts have one
// value a category. Whether its section is there is for the review to say: a spec
// from which a section was taken can still be read.
func (c *checker) figures(list []*loomv1.Figure) {
	for i, f := range list {
		at := fmt.Sprintf("figures[%d]", i)
		if (f.Image == "") == (f.Chart == nil) {
			c.refuse(at, "a figure has either an image or a chart")
		}
		if f.Image != "" && (strings.HasPrefix(f.Image, "/") || strings.Contains("/"+f.Image+"/", "/../") || strings.ContainsAny(f.Image, `\:`)) {
			c.refuse(at+".image", "an image is a file below the spec's directory").Got(f.Image)
		}
		for j, s := range f.GetChart().GetSeries() {
			if len(s.Values) != len(f.Chart.Categories) {
				c.refuse(fmt.Sprintf("%s.chart.series[%d].values", at, j), "%d values for %d categories", len(s.Values), len(f.Chart.Categories))
			}
		}
		if f.GetChart().GetKind() == "pie" && len(f.Chart.Series) > 1 {
			c.refuse(at+".chart.series", "a pie shows one series")
		}
	}
}

func (c *checker) sheets(m *loomv1.SheetSpec) {
	seen := map[string]bool{}
	for i, s := range m.Sheets {
		at := fmt.Sprintf("sheets[%d]", i)
		if name := strings.ToLower(s.Name); seen[name] {
			c.refuse(at+".name", "two sheets have this name; capitals do not count").Got(s.Name)
		} else {
			seen[name] = true
		}
		c.table(s.Table, at+".table")
		for j, column := range s.Computed {
			if slices.Contains(s.Table.Headers, column.Header) {
				c.refuse(fmt.Sprintf("%s.computed[%d].header", at, j), "the table has a column of this name").Got(column.Header)
			}
		}
	}
}
