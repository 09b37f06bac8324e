package board

import (
	"strings"
	"unicode"

	"github.com/loomrun/loom/internal/cli/console"
)

// plainly is a text on one line that steers no terminal, and whose width is known: what
// asks for another look of the rune before it is left out.
func plainly(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Variation_Selector, r) {
			return -1
		}
		return r
	}, console.Line(text, 1000))
}

// cell is a text of a row.
type cell struct {
	text string
	ink  console.Ink
}

// gap is between two cells.
const gap = 2

// leastText is how many columns the last cell of a row has at least, or none.
const leastText = 6

// leastWide is how many columns a wide cell has where it would have more.
const leastWide = 16

// columnsOfRows are rows of the same number of cells, one below the other, in at most
// room columns each. The last cell has what the others leave; where that is too little,
// columns are left out in the order of drop. A cell of column wide takes two fifths of
// the room at most.
func columnsOfRows(rows [][]cell, room, wide int, drop []int, paint Paint) []string {
	if len(rows) == 0 {
		return nil
	}
	last := len(rows[0]) - 1
	widths, kept := make([]int, last+1), make([]bool, last+1)
	for i := range widths {
		for _, r := range rows {
			widths[i] = max(widths[i], console.Columns(r[i].text))
		}
		kept[i] = widths[i] > 0
	}
	widths[wide] = min(widths[wide], max(room*2/5, leastWide))
	for _, d := range drop {
		if needed(widths, kept) <= room {
			break
		}
		kept[d] = false
	}
	widths[last] = max(0, room-taken(widths[:last], kept))
	lines := make([]string, 0, len(rows))
	for _, r := range rows {
		lines = append(lines, row(r, widths, kept, room, paint))
	}
	return lines
}

// needed is how many columns rows take, if their last cells have the least.
func needed(widths []int, kept []bool) int {
	last := len(widths) - 1
	if !kept[last] {
		return taken(widths[:last], kept) - gap
	}
	return taken(widths[:last], kept) + min(widths[last], leastText)
}

// taken is how many columns the kept cells take with the gaps behind them.
func taken(widths []int, kept []bool) (n int) {
	for i, w := range widths {
		if kept[i] {
			n += w + gap
		}
	}
	return n
}

// row is a line of cells in their columns.
func row(cells []cell, widths []int, kept []bool, room int, paint Paint) string {
	var b strings.Builder
	blanks := 0
	for i, c := range cells {
		if !kept[i] {
			continue
		}
		text := console.Cut(c.text, min(widths[i], room-blanks))
		if text != "" {
			b.WriteString(strings.Repeat(" ", blanks))
			b.WriteString(paint(c.ink, text))
			room, blanks = room-blanks-console.Columns(text), 0
		}
		blanks += widths[i] - console.Columns(text) + gap
		if blanks >= room {
			break
		}
	}
	return b.String()
}
