package office

import (
	"fmt"
	"math"
)

// table writes rows whose header comes again on each page. Rows that share a merged
// cell stay together.
func (l *pdfPages) table(x block) {
	t, g := l.tableOf(x), x.grid
	if x.caption != "" {
		l.y += l.size * 0.3
	}
	l.room(t.least(x))
	if x.caption != "" {
		l.SetLink(l.links[fmt.Sprint("table", x.count)], l.y, -1)
		l.text(run{Text: caption(l.f.style.labels.table, x.count, x.caption), Bold: true}, 0.9, "404040", 0)
	}
	t.header()
	for i := 0; i < len(g.Rows); {
		n := g.together(i)
		t.rows(i, n)
		i += n
	}
	if g.total {
		t.total()
	}
	l.y += l.size * 0.4
	if g.Note != "" {
		l.text(run{Text: g.Note, Italic: true}, 0.8, "595959", 0)
	}
	l.y += l.size * 0.5
}

func (l *pdfPages) tableOf(x block) *pdfTable {
	g := x.grid
	t := &pdfTable{pdfPages: l, g: g, size: l.size * tableTimes}
	if g.small(l.width, l.size) {
		t.size = l.size * smallTimes
	}
	room := lettersIn(l.width, t.size)
	weights := g.weights(room)
	for _, share := range weights {
		t.widths = append(t.widths, share*l.width)
	}
	t.kept = g.kept(weights, room)
	return t
}

// least is how high the part of a table is that stands on one page with its caption: all
// of a small one, or else the rows that stay with the header.
func (t *pdfTable) least(x block) float64 {
	high := t.headerHigh()
	if x.caption != "" {
		high += float64(len(t.wrap([]run{{Text: caption(t.f.style.labels.table, x.count, x.caption), Bold: true}}, t.size, t.width)))*t.size*leading + t.size
	}
	for i, kept := range t.kept {
		high += t.rowHigh(i)
		if !kept {
			break
		}
		if i == len(t.kept)-1 {
			high += t.noteHigh()
		}
	}
	return math.Min(high, t.page())
}

// page is how much of a page a table may take before it is broken all the same.
func (t *pdfTable) page() float64 { return t.end - margin - 4*t.high(1) }

// rowHigh is how high a row is whose cells are not merged with others; the row after the
// last is that of the totals.
func (t *pdfTable) rowHigh(i int) float64 {
	most := 1
	for j := range t.g.Headers {
		r := run{Text: t.g.totalText(j), Bold: true}
		if i < len(t.g.Rows) {
			if _, columns := t.g.span(i, j); columns > 1 || t.g.under[[2]int{i, j}] {
				continue
			}
			r = run{Text: t.g.text(i, j)}
		}
		most = max(most, len(t.wrap([]run{r}, t.size, t.widths[j]-2*cellPad)))
	}
	return t.high(most)
}

func (t *pdfTable) noteHigh() float64 {
	if t.g.Note == "" {
		return 0
	}
	size := t.pdfPages.size * 0.8
	return t.pdfPages.size*0.4 + float64(len(t.wrap([]run{{Text: t.g.Note, Italic: true}}, size, t.width)))*size*leading
}

// after is how high the rows are that stand on the page of the row before them.
func (t *pdfTable) after(row int) (high float64) {
	for i := row; i > 0 && i <= len(t.kept) && t.kept[i-1]; i++ {
		if i == len(t.kept) {
			return high + t.noteHigh()
		}
		high += t.rowHigh(i)
	}
	return high
}

// together is how many rows from this one on share merged cells.
func (g *grid) together(row int) int {
	n := 1
	for i := row; i < row+n && i < len(g.Rows); i++ {
		for j := range g.Headers {
			rows, _ := g.span(i, j)
			n = max(n, i-row+rows)
		}
	}
	return n
}

type pdfTable struct {
	*pdfPages
	g      *grid
	size   float64
	widths []float64
	kept   []bool
}

const cellPad = 4

func (t *pdfTable) high(lines int) float64 {
	return float64(max(lines, 1))*t.size*leading + cellPad
}

// cell draws a cell and its text.
func (t *pdfTable) cell(x, y, wide, high float64, lines []line, right bool, ground, color string) {
	style := "D"
	if ground != "" {
		t.SetFillColor(rgb(ground))
		style = "FD"
	}
	t.SetDrawColor(200, 204, 210)
	t.SetLineWidth(0.5)
	t.Rect(x, y, wide, high, style)
	saved := t.y
	t.y = y + cellPad/2
	for _, ln := range lines {
		at := x + cellPad
		if right {
			used := 0.0
			for _, a := range ln {
				used += a.space + a.wide
			}
			at = x + wide - cellPad - used
		}
		t.line(ln, t.size, color, at)
		t.y += t.size * leading
	}
	t.y = saved
}

func (t *pdfTable) headerLines() (lines [][]line, most int) {
	lines, most = make([][]line, len(t.g.Headers)), 1
	for j, h := range t.g.Headers {
		lines[j] = t.wrap([]run{{Text: h, Bold: true}}, t.size, t.widths[j]-2*cellPad)
		most = max(most, len(lines[j]))
	}
	return lines, most
}

func (t *pdfTable) headerHigh() float64 {
	_, most := t.headerLines()
	return t.high(most)
}

func (t *pdfTable) header() {
	lines, most := t.headerLines()
	high := t.high(most)
	x := t.left
	for j := range t.g.Headers {
		t.cell(x, t.y, t.widths[j], high, lines[j], t.g.right[j], t.f.style.primary, "FFFFFF")
		x += t.widths[j]
	}
	t.y += high
}

// fits begins a page, with the header, if what comes is too high for what is left.
func (t *pdfTable) fits(high float64) {
	if t.y+high > t.bottom && t.y > margin {
		t.newPage()
		t.header()
	}
}

// rows draws rows that stay together, or, if they are higher than a page, as far as
// they go.
func (t *pdfTable) rows(from, n int) {
	g := t.g
	n = min(n, len(g.Rows)-from)
	heights := make([]float64, n)
	text := map[[2]int][]line{}
	for i := range n {
		most := 1
		for j := range g.Headers {
			at := [2]int{from + i, j}
			if g.under[at] {
				continue
			}
			rows, columns := g.span(from+i, j)
			wide := 0.0
			for k := j; k < j+columns; k++ {
				wide += t.widths[k]
			}
			text[at] = t.wrap([]run{{Text: g.text(from+i, j)}}, t.size, wide-2*cellPad)
			if rows == 1 {
				most = max(most, len(text[at]))
			}
		}
		heights[i] = t.high(most)
	}
	for at, lines := range text { // a cell of several rows makes the last of them as high as it needs
		rows, _ := g.span(at[0], at[1])
		have := 0.0
		for i := at[0] - from; i < at[0]-from+rows; i++ {
			have += heights[i]
		}
		last := at[0] - from + rows - 1
		heights[last] = math.Max(heights[last], heights[last]+t.high(len(lines))-have)
	}
	all := 0.0
	for _, h := range heights {
		all += h
	}
	t.fits(math.Min(all+t.after(from+n), t.bottom-margin-4*t.high(1)))
	for i := range n {
		if n > 1 && all > t.bottom-margin {
			t.fits(heights[i])
		}
		x := t.left
		for j := range g.Headers {
			if lines, ok := text[[2]int{from + i, j}]; ok {
				rows, columns := g.span(from+i, j)
				wide, high := 0.0, 0.0
				for k := j; k < j+columns; k++ {
					wide += t.widths[k]
				}
				for k := i; k < i+rows; k++ {
					high += heights[k]
				}
				t.cell(x, t.y, wide, high, lines, g.right[j] && columns == 1, "", "222222")
			}
			x += t.widths[j]
		}
		t.y += heights[i]
	}
}

func (t *pdfTable) total() {
	lines, most := make([][]line, len(t.g.Headers)), 1
	for j := range t.g.Headers {
		lines[j] = t.wrap([]run{{Text: t.g.totalText(j), Bold: true}}, t.size, t.widths[j]-2*cellPad)
		most = max(most, len(lines[j]))
	}
	high := t.high(most)
	t.fits(high + t.after(len(t.g.Rows)+1))
	x := t.left
	for j := range t.g.Headers {
		t.cell(x, t.y, t.widths[j], high, lines[j], t.g.right[j], "F2F4F7", "222222")
		x += t.widths[j]
	}
	t.y += high
}
