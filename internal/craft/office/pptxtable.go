package office

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Sizes of letters in a table on a slide, in points.
const (
	fewPoints   = 12 // of one that is parted among slides
	leastPoints = 10
)

// calloutHigh is how high a callout stands at the foot of a slide.
func calloutHigh(c *loomv1.Callout) int {
	if len([]rune(c.Text)) > 110 {
		return 800000
	}
	return 520000
}

// tableArea is what a slide has for its table, beside its texts and above its callouts.
func tableArea(s *loomv1.Slide) (wide, high int) {
	columns, high := 1, slideEnd-slideTop
	if len(s.Body)+len(s.Bullets) > 0 {
		columns++
	}
	if len(s.Right) > 0 {
		columns++
	}
	for _, c := range s.Callouts {
		high -= calloutHigh(c) + slideGap/3
	}
	return (inner - (columns-1)*slideGap) / columns, high
}

// rowHeights are about how high the rows are at a size of letters: the header, the rows
// and the totals.
func (g *grid) rowHeights(points, wide int) (list []int) {
	room := lettersIn(float64(wide)/pointUnits, float64(points))
	weights := g.weights(room)
	add := func(text func(j int) string) {
		lines := 1
		for j := range g.Headers {
			lines = max(lines, linesOf(text(j), weights[j]*room))
		}
		list = append(list, (lines*points*6/5+5)*pointUnits)
	}
	add(func(j int) string { return g.Headers[j] })
	for i := range g.Rows {
		add(func(j int) string {
			if _, columns := g.span(i, j); columns > 1 {
				return ""
			}
			return g.cellText(i, j)
		})
	}
	if g.total {
		add(g.totalText)
	}
	return list
}

// points are the size of a table's letters: as large as they can be with all of its rows
// on the slide.
func (g *grid) points(rows, wide, high int) int {
	points := 16
	if rows > 7 || len(g.Headers) > 5 || wide < inner*2/3 {
		points = fewPoints
	}
	points = g.narrow(points)
	for points > leastPoints && sum(g.rowHeights(points, wide)) > high {
		points -= 2
	}
	return points
}

// narrow is a size of letters, or the least for a table of many columns.
func (g *grid) narrow(points int) int {
	if len(g.Headers) > 8 {
		return leastPoints
	}
	return points
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

// splitTable makes several slides of one whose table it has no room for, each about as
// full as the others.
func splitTable(s *loomv1.Slide) (list []*loomv1.Slide) {
	if s.Table == nil || len(s.Table.Merges) > 0 {
		return []*loomv1.Slide{s}
	}
	wide, high := tableArea(s)
	g := gridOf(s.Table, labels{})
	heights := g.rowHeights(g.narrow(fewPoints), wide)
	ends := cut(heights[0], heights[1:1+len(g.Rows)], high, mostRows)
	if len(ends) <= 1 {
		return []*loomv1.Slide{s}
	}
	rows := (len(g.Rows) + len(ends) - 1) / len(ends)
	if even := cut(heights[0], heights[1:1+len(g.Rows)], high, rows); len(even) == len(ends) {
		ends = even
	}
	from := 0
	for i, end := range ends {
		t := &loomv1.SpecTable{Caption: s.Table.Caption, Headers: s.Table.Headers, Formats: s.Table.Formats, Aggregates: s.Table.Aggregates, Rows: s.Table.Rows[from:end]}
		if from = end; i == len(ends)-1 {
			t.Totals, t.Note = s.Table.Totals, s.Table.Note
		}
		x := &loomv1.Slide{Id: s.Id, Heading: fmt.Sprintf("%s (%d)", s.Heading, i+1), Table: t}
		if i == 0 {
			x.Heading, x.Layout, x.Body, x.Bullets, x.Right, x.Callouts, x.Notes = s.Heading, s.Layout, s.Body, s.Bullets, s.Right, s.Callouts, s.Notes
		}
		list = append(list, x)
	}
	return list
}

// cut says before which rows a slide ends, each with a row at least.
func cut(head int, heights []int, high, most int) (ends []int) {
	from, used := 0, head
	for i, h := range heights {
		if i > from && (used+h > high || i-from == most) {
			ends = append(ends, i)
			from, used = i, head
		}
		used += h
	}
	return append(ends, len(heights))
}
