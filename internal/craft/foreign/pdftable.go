package foreign

import (
	"cmp"
	"slices"
	"strings"
)

// pdfGrid is the table that is being put together.
type pdfGrid struct {
	columns []pdfPart // from and to where they reach; no text
	rows    [][]string
	lines   []*pdfLine
	places  [][]int // of the parts of lines, which column each is in
	first   []int   // the line that each row begins with
	ruled   bool
}

// table takes the lines from i on that are rows of a table, and returns how many: 0 where
// there is none.
func (l *pdfLayout) table(i int) int {
	x := l.lines[i]
	if _, _, item := itemOf(x); len(x.parts) < 2 || len(x.parts) > maxColumns || item && len(x.parts) == 2 {
		return 0
	}
	if _, n := l.heading(i); n > 0 && len(x.parts) == 2 && len(x.parts[0].text) < 8 {
		return 0 // its number stands apart
	}
	g := &pdfGrid{}
	for _, p := range x.parts {
		g.columns = append(g.columns, pdfPart{x: p.x, end: p.end})
	}
	for k, y := range l.lines[i:] {
		if y.page != x.page || len(g.rows) > maxRows {
			break
		}
		if _, n := l.heading(i + k); n > 0 && len(y.parts) == 1 || !g.take(l, y) {
			break
		}
	}
	g.trim()
	full := 0
	for _, p := range g.places {
		if len(p) > 1 {
			full++
		}
	}
	switch {
	case full < 2 || len(g.rows) < 2:
		return 0
	case g.contents():
		l.flush()
		for _, y := range g.lines {
			l.d.add(Block{Kind: "paragraph", Text: y.text()})
		}
		return len(g.lines)
	}
	if g.prose() {
		l.columns(g)
		return len(g.lines)
	}
	l.flush()
	rows := g.filled()
	if last := len(l.d.Blocks) - 1; last >= 0 && l.onPage < x.page && l.d.Blocks[last].Kind == "table" && slices.Equal(l.d.Blocks[last].Rows[0], rows[0]) {
		l.d.Blocks[last].Rows = append(l.d.Blocks[last].Rows, rows[1:]...) // it goes on, under the same head
	} else {
		l.d.add(Block{Kind: "table", Rows: rows})
	}
	l.onPage = x.page
	return len(g.lines)
}

// take adds a line to the table, and reports false where it does not belong to it.
func (g *pdfGrid) take(l *pdfLayout, y *pdfLine) bool {
	page := l.pages[y.page]
	var last *pdfLine
	ruled, gap, above := false, 0.0, pdfEdge{}
	if len(g.lines) > 0 {
		last = g.lines[len(g.lines)-1]
		above, ruled = page.rule(last.y, y.y, y.x())
		gap = y.y - last.y
	}
	if last != nil && (gap > 4*y.size || gap > 2.2*y.size && !ruled) {
		return false
	}
	places, columns := make([]int, 0, len(y.parts)), slices.Clone(g.columns)
	for _, p := range y.parts {
		at := -1
		for c, column := range columns {
			if p.x < column.end && p.end > column.x {
				if at >= 0 {
					return false // over two of them
				}
				at = c
			}
		}
		if at < 0 {
			if len(y.parts) == 1 || len(columns) == maxColumns {
				return false
			}
			return g.widen(l, y, p)
		}
		if slices.Contains(places, at) {
			return false
		}
		columns[at].x, columns[at].end = min(columns[at].x, p.x), max(columns[at].end, p.end)
		places = append(places, at)
	}
	for c := 1; c < len(columns); c++ {
		if columns[c-1].end > columns[c].x {
			return false
		}
	}
	if len(y.parts) == 1 && !ruled && gap > 1.7*y.size {
		return false
	}
	if below, more := page.rule(y.y, y.y+4*y.size, y.x()); len(y.parts) == 1 && g.ruled && (!more || ruled && !alike(above, below)) {
		return false // behind the last rule: a text below the table
	}
	more := last != nil && !ruled && (g.ruled || (len(places) == 1 || places[0] > 0) && gap < 1.6*y.size)
	g.ruled = g.ruled || ruled
	g.columns, g.lines, g.places = columns, append(g.lines, y), append(g.places, places)
	if !more {
		g.first = append(g.first, len(g.lines)-1)
		g.rows = append(g.rows, nil)
	}
	return true
}

// widen adds a column that the lines before have empty.
func (g *pdfGrid) widen(l *pdfLayout, y *pdfLine, p pdfPart) bool {
	columns := g.columns
	at, _ := slices.BinarySearchFunc(g.columns, p.x, func(c pdfPart, x float64) int { return cmp.Compare(c.x, x) })
	g.columns = slices.Insert(slices.Clone(columns), at, pdfPart{x: p.x, end: p.end})
	shift := func(by int) {
		for _, places := range g.places {
			for i := range places {
				if places[i] >= at {
					places[i] += by
				}
			}
		}
	}
	shift(1)
	if g.take(l, y) {
		return true
	}
	g.columns, at = columns, at+1
	shift(-1)
	return false
}

// trim gives back lines at the end that only look like a part of the table.
func (g *pdfGrid) trim() {
	for n := len(g.lines); n > 0 && len(g.places[n-1]) == 1 && !g.ruled; n-- {
		if last := len(g.first) - 1; g.first[last] == n-1 {
			g.first, g.rows = g.first[:last], g.rows[:last]
		}
		g.lines, g.places = g.lines[:n-1], g.places[:n-1]
	}
}

// filled are the rows with their texts.
func (g *pdfGrid) filled() [][]string {
	for r, from := range g.first {
		to := len(g.lines)
		if r+1 < len(g.first) {
			to = g.first[r+1]
		}
		row := make([]string, len(g.columns))
		for n := from; n < to; n++ {
			for i, c := range g.places[n] {
				row[c] = strings.TrimSpace(joined(row[c], g.lines[n].parts[i].text))
			}
		}
		g.rows[r] = row
	}
	return g.rows
}

// prose says that the columns are those of a page: long lines that fill them.
func (g *pdfGrid) prose() bool {
	if len(g.columns) > 3 || len(g.lines) < 5 || g.ruled {
		return false
	}
	letters, parts, wide := make([]int, len(g.columns)), make([]int, len(g.columns)), 0.0
	for n, y := range g.lines {
		for i, p := range y.parts {
			c := g.places[n][i]
			letters[c] += len(p.text)
			parts[c]++
			wide += (p.end - p.x) / max(g.columns[c].end-g.columns[c].x, 1)
		}
	}
	all := 0
	for c := range letters {
		if letters[c] <= 25*parts[c] {
			return false
		}
		all += parts[c]
	}
	return wide > 0.75*float64(all)
}

// columns reads the columns of a page one after the other.
func (l *pdfLayout) columns(g *pdfGrid) {
	right := l.right
	for c := range g.columns {
		l.right = g.columns[c].end
		for n, y := range g.lines {
			for i, at := range g.places[n] {
				if at != c {
					continue
				}
				one := *y
				one.parts = y.parts[i : i+1]
				if l.last != nil && l.goesOn(&one) || l.last != nil && n == 0 && one.y < l.last.y {
					l.open.Text = joined(l.open.Text, one.text())
				} else {
					l.flush()
					l.open = Block{Kind: "paragraph", Text: one.text()}
				}
				l.last = &one
			}
		}
	}
	l.right = right
}

// contents says that most lines lead to the number of a page.
func (g *pdfGrid) contents() bool {
	n := 0
	for _, y := range g.lines {
		if leader.MatchString(y.text()) {
			n++
		}
	}
	return n*2 > len(g.lines)
}
