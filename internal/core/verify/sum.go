package verify

import (
	"math"
	"slices"
	"strings"
)

// totals adds up what rows and columns say that they are the total of.
func (l *look) totals(c *content) {
	name := figureName(l.with.text("total", "total"))
	found := false
	for _, g := range c.tables() {
		down, across := l.columnSums(c, g, name), l.rowSums(c, g, name)
		found = found || down || across
	}
	if !found && !unsound(c.wrong) {
		l.wrong(c, 0, "found no row or column with numbers that is called %s, wanted one", strings.ReplaceAll(name, "_", " "))
	}
}

// isTotal says whether a label is that of a total.
func isTotal(label, name string) bool {
	label = figureName(label)
	return label == name || strings.HasPrefix(label, name+"_") || strings.HasSuffix(label, "_"+name)
}

// added says whether the rule is about a column.
func (l *look) added(column string) bool {
	only := l.with.texts("columns")
	return len(only) == 0 || slices.ContainsFunc(only, func(o string) bool { return figureName(o) == figureName(column) })
}

// isGrand says whether a label is that of the total of all totals.
func isGrand(label, name string) bool {
	for _, all := range []string{"grand", "overall"} {
		if strings.HasPrefix(label, all+"_"+name) {
			return true
		}
	}
	return strings.HasPrefix(label, name+"_of_all")
}

// totalLabel is what a row is called: the first of its cells, or of those before its
// numbers the one that calls it a total.
func totalLabel(cells []string, name string) string {
	for _, c := range cells {
		label := figureName(c)
		if _, number := cell(c).(float64); number && label != figureName(cells[0]) {
			break
		}
		if isTotal(label, name) || strings.HasPrefix(label, "sub"+name) || strings.HasPrefix(label, "sub_"+name) {
			return label
		}
	}
	if len(cells) == 0 {
		return ""
	}
	return figureName(cells[0])
}

// columnSums holds each row of totals against the rows above it, back to the one before;
// one of subtotals against those since the last of these, and a grand one against all totals
// since the last of its kind.
func (l *look) columnSums(c *content, g grid, name string) (found bool) {
	for col := 1; col < len(g.header); col++ {
		if !l.added(g.header[col]) {
			continue
		}
		all, part, items := 0.0, 0.0, 0
		grand, totals := 0.0, 0 // of rows of totals since the last grand one
		for i, cells := range g.rows {
			if col >= len(cells) {
				continue
			}
			v, ok := cell(cells[col]).(float64)
			label := totalLabel(cells, name)
			sub := strings.HasPrefix(label, "sub"+name) || strings.HasPrefix(label, "sub_"+name)
			whole := isGrand(label, name) || label == name && items == 0 && totals > 1
			switch {
			case !ok:
			case whole && items+totals > 0:
				l.sum(c, g, i, g.header[col], v, grand+all)
				all, part, items, grand, totals, found = 0, 0, 0, 0, 0, true
			case sub && items > 0:
				l.sum(c, g, i, g.header[col], v, part)
				part, found = 0, true
			case isTotal(label, name) && items > 0:
				l.sum(c, g, i, g.header[col], v, all)
				grand, totals = grand+all, totals+1
				all, part, items, found = 0, 0, 0, true
			case !sub:
				all, part, items = all+v, part+v, items+1
			}
		}
	}
	return found
}

// rowSums holds a column of totals against the other numbers of its row.
func (l *look) rowSums(c *content, g grid, name string) (found bool) {
	total := slices.IndexFunc(g.header, func(h string) bool { return isTotal(h, name) })
	if total < 1 {
		return false
	}
	for i, cells := range g.rows {
		if total >= len(cells) {
			continue
		}
		stated, ok := cell(cells[total]).(float64)
		sum, items := 0.0, 0
		for col := 1; col < total; col++ {
			if v, number := cell(cells[col]).(float64); number && l.added(g.header[col]) {
				sum, items = sum+v, items+1
			}
		}
		if ok && items > 0 {
			found = true
			l.sum(c, g, i, g.header[total], stated, sum)
		}
	}
	return found
}

func (l *look) sum(c *content, g grid, row int, column string, stated, sum float64) {
	if alike(stated, sum, l.tolerance()) {
		return
	}
	line, where := g.place(row)
	l.wrong(c, line, "%sfound %s as the total of %q, wanted %s, which is the sum", where, number64(stated), column, number64(sum))
}

// balance wants assets to be liabilities plus equity.
func (l *look) balance(c *content) {
	names := []string{l.with.text("assets", "assets"), l.with.text("liabilities", "liabilities"), l.with.text("equity", "equity")}
	found := false
	for _, g := range c.tables() {
		found = l.balanceDown(c, g, names) || found
		found = l.balanceAcross(c, g, names) || found
	}
	if !found && !unsound(c.wrong) {
		l.wrong(c, 0, "found no table with numbers for %s, wanted one", strings.Join(names, ", "))
	}
}

// labelled is the place of a name among labels, also with "total" before it, which is
// taken first; or -1.
func labelled(labels []string, name string) int {
	want := figureName(name)
	for _, w := range []string{"total_" + want, want} {
		if i := slices.IndexFunc(labels, func(s string) bool { return figureName(s) == w }); i >= 0 {
			return i
		}
	}
	if want == "equity" {
		return slices.IndexFunc(labels, func(s string) bool {
			n := strings.TrimPrefix(figureName(s), "total_")
			return slices.Contains([]string{"shareholders_equity", "shareholder_s_equity", "stockholders_equity", "stockholder_s_equity", "own_funds"}, n)
		})
	}
	return -1
}

// balanceDown is of a table with a column for each of the three.
func (l *look) balanceDown(c *content, g grid, names []string) (found bool) {
	var at [3]int
	for i, n := range names {
		if at[i] = labelled(g.header, n); at[i] < 0 {
			return false
		}
	}
	for i, cells := range g.rows {
		var v [3]float64
		line, where := g.place(i)
		if !numbersAt(cells, at[:], v[:]) {
			l.someNumber(c, line, where, names, cells, at)
			continue
		}
		l.balanced(c, line, where, names, v)
		found = true
	}
	return found
}

// someNumber reports a row in which one of the three is a number and another is not.
func (l *look) someNumber(c *content, line int, where string, names, cells []string, at [3]int) {
	some, not := false, -1
	for i, col := range at {
		is := numbersAt(cells, []int{col}, make([]float64, 1))
		if some = some || is; !is && not < 0 {
			not = i
		}
	}
	if !some {
		return // a row of words
	}
	has := ""
	if at[not] < len(cells) {
		has = cells[at[not]]
	}
	l.wrong(c, line, "%sfound %q as %s, wanted a number", where, short(has), names[not])
}

// balanceAcross is of a statement with a row for each of the three, and a column a period.
func (l *look) balanceAcross(c *content, g grid, names []string) (found bool) {
	labels := make([]string, len(g.rows))
	for i, cells := range g.rows {
		if len(cells) > 0 {
			labels[i] = cells[0]
		}
	}
	var at [3]int
	for i, n := range names {
		if at[i] = labelled(labels, n); at[i] < 0 {
			return false
		}
	}
	for col := 1; col < len(g.header); col++ {
		var v [3]float64
		whole := true
		for i := range at {
			whole = whole && numbersAt(g.rows[at[i]], []int{col}, v[i:i+1])
		}
		if !whole {
			continue
		}
		line, where := g.place(at[0])
		l.balanced(c, line, where+"column "+quoted(g.header[col:col+1])+": ", names, v)
		found = true
	}
	return found
}

// numbersAt takes the numbers of some cells; false if one is none.
func numbersAt(cells []string, at []int, into []float64) bool {
	for i, col := range at {
		if col >= len(cells) {
			return false
		}
		v, ok := cell(cells[col]).(float64)
		if !ok {
			return false
		}
		into[i] = v
	}
	return true
}

func (l *look) balanced(c *content, line int, where string, names []string, v [3]float64) {
	if math.Abs(v[0]-v[1]-v[2]) <= l.tolerance()*math.Abs(v[0])+1e-9 {
		return
	}
	l.wrong(c, line, "%sfound %s %s, wanted %s, which is %s %s plus %s %s", where, names[0], number64(v[0]), number64(v[1]+v[2]), names[1], number64(v[1]), names[2], number64(v[2]))
}
