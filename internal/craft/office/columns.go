package office

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The widths of letters and of a cell's edges, in parts of the size of the text: what a
// table is told of its page.
const (
	letterWide = 0.56
	cellEdges  = 2 // letters
)

// A table of more columns than these has smaller letters.
const manyColumns = 7

// lettersIn is how many letters of a size a width has room for.
func lettersIn(width, size float64) float64 { return width / (size * letterWide) }

// column is what a column of a table is wide for, in letters.
type column struct {
	want  float64 // its longest cell, 60 at most
	head  float64 // as label, and its header where that is short
	label float64 // its longest cell where that is short, and every number
	word  float64 // its longest word
}

const (
	longestLabel = 16
	longestWord  = 32 // what is longer, such as an address, is cut
)

func (g *grid) column(j int) column {
	c := column{want: 4, label: 4, word: 4}
	see := func(text string, whole bool, times float64) {
		n := float64(len([]rune(text))) * times
		c.want = math.Max(c.want, math.Min(n, 60))
		for word := range strings.FieldsSeq(text) {
			c.word = math.Max(c.word, math.Min(float64(len([]rune(word)))*times, longestWord))
		}
		if whole || n <= longestLabel {
			c.label = math.Max(c.label, n)
		}
		if whole {
			c.word = math.Max(c.word, n)
		}
	}
	const bold = 1.15
	for word := range strings.FieldsSeq(g.Headers[j]) { // a header goes over several lines
		see(word, false, bold)
	}
	for i := range min(len(g.Rows), 200) {
		if _, columns := g.span(i, j); columns == 1 && !g.under[[2]int{i, j}] {
			see(g.text(i, j), g.right[j], 1)
		}
	}
	if g.total {
		see(g.totalText(j), g.right[j], bold)
	}
	c.label = math.Max(c.label, c.word)
	if c.head = c.label; len([]rune(g.Headers[j])) <= longestLabel {
		c.head = math.Max(c.head, float64(len([]rune(g.Headers[j])))*bold)
	}
	return c
}

// weights are the widths of the columns as parts of one, for a table that is so many
// letters wide: no word is cut and no number broken while there is room, short cells and
// headers stand on one line where there is more, and the rest goes to columns by what
// they say. Where there is no room for the words, the longest are cut.
func (g *grid) weights(room float64) []float64 {
	columns, list, least, left := g.columns(), make([]float64, len(g.Headers)), make([]float64, len(g.Headers)), room
	for j, c := range columns {
		list[j] = math.Pow(c.want+cellEdges, 0.8)
		least[j] = c.word + cellEdges
		left -= least[j]
	}
	if left < 0 {
		return share(make([]float64, len(least)), capped(least, room), room)
	}
	order := make([]int, len(columns))
	for j := range order {
		order[j] = j
	}
	more := func(j int) float64 { return math.Max(columns[j].label+cellEdges-least[j], 0) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(more(a), more(b)) })
	for _, j := range order {
		if n := more(j); n <= left {
			least[j] += n
			left -= n
		}
	}
	headers, sum := make([]float64, len(columns)), 0.0
	for j, c := range columns { // all of them, or they look uneven
		headers[j] = math.Max(c.head+cellEdges, least[j])
		sum += headers[j]
	}
	if sum <= room {
		least = headers
	}
	return share(list, least, room)
}

func (g *grid) columns() (list []column) {
	for j := range g.Headers {
		list = append(list, g.column(j))
	}
	return list
}

// Sizes of the letters of tables, as parts of the size of the text.
const (
	tableTimes = 0.88
	smallTimes = 0.75
)

// small says whether a table that is so wide needs the smaller letters: it has many
// columns, no room for its words, or with them short cells stand on one line.
func (g *grid) small(width, size float64) bool {
	words, labels := 0.0, 0.0
	for _, c := range g.columns() {
		words += c.word + cellEdges
		labels += c.label + cellEdges
	}
	room := lettersIn(width, size*tableTimes)
	return len(g.Headers) > manyColumns || words > room || labels > room && labels <= lettersIn(width, size*smallTimes)
}

// capped takes from the largest until all is as much as there is room for.
func capped(list []float64, room float64) []float64 {
	low, high := 0.0, room
	for range 50 {
		most, sum := (low+high)/2, 0.0
		for _, n := range list {
			sum += math.Min(n, most)
		}
		if sum > room {
			high = most
		} else {
			low = most
		}
	}
	result := make([]float64, len(list))
	for j, n := range list {
		result[j] = math.Min(n, low)
	}
	return result
}

// share parts a room by weights, where each gets what it needs at least; there is room
// for all that is needed.
func share(weights, least []float64, room float64) []float64 {
	fixed, list := make([]bool, len(weights)), make([]float64, len(weights))
	for again := true; again; {
		again = false
		left, sum := room, 0.0
		for j, w := range weights {
			if fixed[j] {
				left -= least[j]
			} else {
				sum += w
			}
		}
		for j, w := range weights {
			if fixed[j] {
				list[j] = least[j] / room
				continue
			}
			list[j] = w / sum * left / room
		}
		for j := range weights {
			if !fixed[j] && list[j]*room < least[j] {
				fixed[j], again = true, true
			}
		}
	}
	if !slices.Contains(fixed, false) { // the last of them leaves nothing open
		sum := 0.0
		for _, n := range list {
			sum += n
		}
		for j := range list {
			list[j] /= sum
		}
	}
	return list
}

// lines is about how many lines a table has whose columns have these widths, the header
// not counted.
func (g *grid) lines(weights []float64, room float64) (n int) {
	for i := range g.Rows {
		most := 1
		for j := range g.Headers {
			if _, columns := g.span(i, j); columns == 1 && !g.under[[2]int{i, j}] {
				most = max(most, linesOf(g.text(i, j), weights[j]*room))
			}
		}
		n += most
	}
	if g.total {
		n++
	}
	return n
}

// linesOf is about how many lines a text has in a cell that is so many letters wide.
func linesOf(text string, wide float64) int {
	return int(math.Ceil(float64(len([]rune(text))) / math.Max(wide-cellEdges, 1)))
}

// A table of at most so many lines stands on one page.
const wholeTable = 15

// kept says of each row, the totals as the last of them, whether it stands on one page
// with what follows it.
func (g *grid) kept(weights []float64, room float64) []bool {
	rows := len(g.Rows)
	if g.total {
		rows++
	}
	list := make([]bool, rows)
	whole := rows <= wholeTable && g.lines(weights, room) <= wholeTable
	for i := range list {
		switch {
		case i == rows-1:
			list[i] = g.Note != ""
		case i == 0, i == rows-2, whole: // no row stands alone under the header
			list[i] = true
		}
	}
	for i := 0; i < len(g.Rows); {
		n := g.together(i)
		for k := i; k < min(i+n-1, rows-1); k++ {
			list[k] = true
		}
		i += n
	}
	return list
}
