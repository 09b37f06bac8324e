package verify

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/lazy"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// maxRows is how many rows of a table are looked at.
const maxRows = 10_000

// tableRule evaluates a rule over every row of the tables of a file: of a file with
// several, of those that have all its columns.
func tableRule(r *loomv1.Rule, c *content) (found []Finding) {
	grids := c.tables()
	if c.kind != "csv" && c.kind != "tsv" {
		grids = slices.DeleteFunc(slices.Clone(grids), func(g grid) bool { return !g.has(r.Check) })
		if len(grids) == 0 {
			what := "table"
			if c.kind == "xlsx" {
				what = "sheet"
			}
			return []Finding{{Rule: r.Name, Severity: severity(r), File: c.name, Text: about(r) + ": no " + what + " has all columns that the rule reads"}}
		}
	}
	for _, g := range grids {
		found = append(found, rowRule(r, c.name, g)...)
	}
	return found[:min(len(found), maxFound)]
}

var readColumn = regexp.MustCompile(`\brow\.([a-z0-9_]+)`)

// has says whether a table has the columns that an expression reads.
func (g *grid) has(check string) bool {
	for _, m := range readColumn.FindAllStringSubmatch(check, -1) {
		if !slices.ContainsFunc(g.header, func(h string) bool { return Column(h) == m[1] }) {
			return false
		}
	}
	return true
}

// place is where a row stands: the line of a text; of another file, in words.
func (g *grid) place(i int) (line int, words string) {
	switch {
	case g.sheet != "":
		return 0, fmt.Sprintf("sheet %q, row %d: ", g.sheet, g.number[i])
	case g.nth > 0:
		return 0, fmt.Sprintf("table %d, row %d: ", g.nth, g.number[i])
	}
	return g.number[i], ""
}

// top is where a table begins.
func (g *grid) top() (line int, words string) {
	switch {
	case g.sheet != "":
		return 0, fmt.Sprintf("sheet %q: ", g.sheet)
	case g.nth > 0:
		return 0, fmt.Sprintf("table %d: ", g.nth)
	}
	return max(g.line, 1), ""
}

// without are those of columns that a table has not.
func (g *grid) without(columns []string) (missing []string) {
	for _, name := range columns {
		if g.column(name) < 0 {
			missing = append(missing, name)
		}
	}
	return missing
}

// column is the place of a column, or -1.
func (g *grid) column(name string) int {
	return slices.IndexFunc(g.header, func(h string) bool { return figureName(h) == figureName(name) })
}

func rowRule(r *loomv1.Rule, name string, g grid) []Finding {
	wrong := func(line int, format string, args ...any) Finding {
		return Finding{Rule: r.Name, Severity: severity(r), File: name, Line: line, Text: fmt.Sprintf(format, args...)}
	}
	p, err := condition.CompileRow(r.Check)
	if err != nil {
		return []Finding{wrong(0, "%s", fault.From(err).Message)}
	}
	if len(g.header) == 0 {
		return []Finding{wrong(1, "the table has no header")}
	}
	header := make([]string, len(g.header))
	for i, column := range g.header {
		header[i] = Column(column)
	}
	var found []Finding
	for i, cells := range g.rows {
		if len(found) == maxFound {
			break
		}
		line, where := g.place(i)
		row := rowOf(header, cells)
		switch ok, err := p.Holds(row); {
		case err != nil:
			return append(found, wrong(line, "%s%s: %s; the columns are %s", where, about(r), fault.From(err).Message, strings.Join(header, ", ")))
		case !ok:
			found = append(found, wrong(line, "%s%s: %s does not hold for %s", where, about(r), r.Check, spellRow(header, row, r.Check)))
		}
	}
	return found
}

// Column returns a column's name as expressions write it: lower case, with
// "_" for everything but letters and digits.
func Column(name string) string {
	return strings.Trim(strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			return c
		case c >= 'A' && c <= 'Z':
			return c - 'A' + 'a'
		}
		return '_'
	}, strings.TrimSpace(name)), "_")
}

// rowOf makes numbers of the cells that are numbers.
func rowOf(header, cells []string) map[string]any {
	row := map[string]any{}
	for i, column := range header {
		row[column] = ""
		if i < len(cells) {
			row[column] = cell(cells[i])
		}
	}
	return row
}

// grouped are numbers with commas between groups of three digits; 0,5 is none.
var grouped = lazy.Compile(`^\d{1,3}(?:,\d{3})+(?:\.\d+)?$`)

// currencies are the signs that amounts have, and a blank.
const currencies = "$€£ \u00a0"

// german is a number with a comma before its decimals, and points between its groups: 8,5
// and 1.234,56. What both ways of writing take, 1,234 and 1.234, is read as in English.
var german = lazy.Compile(`^(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d{1,2}|\d{4,}))$`)

// cell reads a number as people write them in tables: 1,234.5, $12, 12 €, -$12 or (12)
// for what is negative, 12% or 12 % for 0.12, and 1.234,5; anything else is text.
func cell(s string) any {
	s = strings.TrimSpace(s)
	n, sign, scale := s, 1.0, 1.0
	n = strings.TrimLeft(n, currencies)
	if strings.HasPrefix(n, "(") && strings.HasSuffix(n, ")") {
		n, sign = n[1:len(n)-1], -1
	}
	if strings.HasSuffix(n, "%") {
		n, scale = n[:len(n)-1], 100
	}
	n = strings.Trim(n, currencies)
	for _, minus := range []string{"-", "−", "–"} {
		if rest, is := strings.CutPrefix(n, minus); is {
			n, sign = strings.TrimLeft(rest, currencies), -sign
			break
		}
	}
	if german.MatchString(n) {
		n = strings.ReplaceAll(strings.ReplaceAll(n, ".", ""), ",", ".")
	}
	if strings.HasPrefix(n, "-") || strings.Contains(n, ",") && !grouped.MatchString(n) {
		return s
	}
	n = strings.ReplaceAll(n, ",", "")
	v, err := strconv.ParseFloat(n, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || strings.ContainsAny(n, "xXpP_") {
		return s
	}
	return sign * v / scale
}

// spellRow names the cells that an expression speaks of.
func spellRow(header []string, row map[string]any, check string) string {
	var parts []string
	for _, column := range header {
		if strings.Contains(check, "row."+column) && !slices.Contains(parts, column) {
			parts = append(parts, fmt.Sprintf("%s = %v", column, row[column]))
		}
	}
	return short(strings.Join(parts, ", "))
}
