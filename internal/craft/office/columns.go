package office

import (
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
// letters wide: no word is cut and no number broken while there is room, short cells
// stand on one line, and the rest goes to columns by what they say.
func (g *grid) weights(room float64) []float64 {
	columns, list := make([]column, len(g.Headers)), make([]float64, len(g.Headers))
	for j := range columns {
		columns[j] = g.column(j)
		list[j] = math.Pow(columns[j].want+cellEdges, 0.8)
	}
	least := make([]float64, len(columns))
	for _, need := range []func(column) float64{func(c column) float64 { return c.head }, func(c column) float64 { return c.label }, func(c column) float64 { return c.word }} {
		sum := 0.0
		for j, c := range columns {
			least[j] = need(c) + cellEdges
			sum += least[j]
		}
		if sum <= room {
			return share(list, least, room)
		}
	}
	return share(least, make([]float64, len(least)), room)
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
				most = max(most, int(math.Ceil(float64(len([]rune(g.text(i, j))))/math.Max(weights[j]*room-cellEdges, 1))))
			}
		}
		n += most
	}
	if g.total {
		n++
	}
	return n
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
