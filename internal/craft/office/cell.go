package office

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// number is the number that a cell is.
func number(v *structpb.Value) (float64, bool) {
	n, ok := v.GetKind().(*structpb.Value_NumberValue)
	if !ok {
		return 0, false
	}
	return n.NumberValue, true
}

// shown is a cell as people read it, in the format of its column; commas says that
// the column's numbers have them between thousands.
func shown(v *structpb.Value, format string, commas bool) string {
	n, ok := number(v)
	if !ok {
		switch k := v.GetKind().(type) {
		case *structpb.Value_StringValue:
			return k.StringValue
		case *structpb.Value_BoolValue:
			return map[bool]string{true: "yes", false: "no"}[k.BoolValue]
		}
		return ""
	}
	switch format {
	case "text":
		return strconv.FormatFloat(n, 'f', -1, 64)
	case "integer":
		return grouped(n, 0)
	case "number":
		return grouped(n, 2)
	case "percent":
		return strconv.FormatFloat(n*100, 'f', 1, 64) + "%"
	case finePercent:
		return strconv.FormatFloat(n*100, 'f', 2, 64) + "%"
	case "usd":
		return money(n, "$", "")
	case "gbp":
		return money(n, "£", "")
	case "eur":
		return money(n, "", " €")
	}
	if !commas {
		return strconv.FormatFloat(n, 'f', -1, 64) // years, codes, small numbers
	}
	return grouped(n, -1)
}

func money(n float64, before, after string) string {
	sign := ""
	if n < 0 {
		sign, n = "-", -n
	}
	return sign + before + grouped(n, 2) + after
}

// grouped writes a number with commas between thousands and with a given number of
// places; -1 keeps the places that it has.
func grouped(n float64, places int) string {
	text := strconv.FormatFloat(n, 'f', places, 64)
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "-", text[1:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// grid is a table as writers need it: what stands where, and what is covered.
type grid struct {
	*loomv1.SpecTable
	// right says which columns are numbers.
	right []bool
	// commas says which columns have them between thousands: those with a number from
	// 10,000 on.
	commas []bool
	spans  map[[2]int][2]int // rows and columns, by the first cell
	under  map[[2]int]bool   // covered by another cell
	// total says whether there is a row of totals, and sum what it is called in a first
	// column without one: where all of it are sums.
	total bool
	sum   string
}

func gridOf(t *loomv1.SpecTable, l labels) *grid {
	g := &grid{SpecTable: t, spans: map[[2]int][2]int{}, under: map[[2]int]bool{}, total: len(t.Totals) > 0}
	for j, h := range t.Headers {
		numbers, texts, large := 0, 0, false
		if n, ok := number(t.Totals[h]); ok {
			large = math.Abs(n) >= 10000
		}
		for _, r := range t.Rows {
			if n, ok := number(r.Values[j]); ok {
				numbers++
				large = large || math.Abs(n) >= 10000
			} else if shown(r.Values[j], "", false) != "" {
				texts++
			}
		}
		f := t.Formats[h]
		g.right = append(g.right, f != "text" && f != "date" && numbers > texts)
		g.commas = append(g.commas, large)
	}
	if g.sums() {
		g.sum = l.total
	}
	for _, m := range t.Merges {
		rows, columns := max(int(m.Rows), 1), max(int(m.Columns), 1)
		at := [2]int{int(m.Row), int(m.Column)}
		g.spans[at] = [2]int{rows, columns}
		for r := range rows {
			for c := range columns {
				if r+c > 0 {
					g.under[[2]int{at[0] + r, at[1] + c}] = true
				}
			}
		}
	}
	return g
}

func (g *grid) span(row, column int) (rows, columns int) {
	if s, ok := g.spans[[2]int{row, column}]; ok {
		return s[0], s[1]
	}
	return 1, 1
}

// finePercent is the format of a column of percentages that were given with two places.
const finePercent = "percent with two places"

// format is the format of a column.
func (g *grid) format(column int) string {
	f := g.Formats[g.Headers[column]]
	if f != "percent" {
		return f
	}
	fine := false
	for _, r := range g.Rows {
		n, ok := number(r.Values[column])
		if n *= 10_000; !ok {
			continue
		}
		if math.Abs(n-math.Round(n)) > 1e-6 {
			return f // it was calculated
		}
		fine = fine || math.Mod(math.Round(n), 10) != 0
	}
	if fine {
		return finePercent
	}
	return f
}

func (g *grid) text(row, column int) string {
	return shown(g.Rows[row].Values[column], g.format(column), g.commas[column])
}

// sums says whether the row of totals has sums alone, and room for their name.
func (g *grid) sums() bool {
	for _, a := range g.Aggregates {
		if a != "" && a != "sum" {
			return false
		}
	}
	for _, v := range g.Totals {
		if _, ok := number(v); !ok {
			return false // it has words of its own
		}
	}
	return g.total && len(g.Headers) > 0 && g.Totals[g.Headers[0]] == nil
}

func (g *grid) totalText(column int) string {
	if column == 0 && g.sum != "" {
		return g.sum
	}
	return shown(g.Totals[g.Headers[column]], g.format(column), g.commas[column])
}

// functions are the aggregates as spreadsheet programs name them; Word has no MEDIAN,
// and names these four alike.
var functions = map[string]string{"": "SUM", "sum": "SUM", "average": "AVERAGE", "min": "MIN", "max": "MAX", "count": "COUNT"}

// function is the aggregate of a column's total, and whether the total is a number.
func (g *grid) function(column int) (string, bool) {
	h := g.Headers[column]
	_, ok := number(g.Totals[h])
	return functions[g.Aggregates[h]], ok
}

// letters are a column as spreadsheet programs name it: A for 0.
func letters(column int) string {
	s := ""
	for column++; column > 0; column = (column - 1) / 26 {
		s = string(rune('A'+(column-1)%26)) + s
	}
	return s
}

// caption is "Table 3: " and what it says.
func caption(label string, n int, text string) string {
	return fmt.Sprintf("%s %d: %s", label, n, text)
}

// serial is a day as workbooks count it.
func serial(s string) (int64, bool) {
	t, err := time.Parse(time.DateOnly, strings.TrimSpace(s))
	if err != nil {
		return 0, false
	}
	return int64(t.Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours() / 24), true
}
