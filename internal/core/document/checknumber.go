package document

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// tables calls do for each table.
func (v *validation) tables(do func(path string, t *loomv1.SpecTable)) {
	for _, p := range v.parts {
		if p.table != nil {
			do(p.path+".table", p.table)
		}
	}
}

// totals: a total is what its column adds up to.
func (v *validation) totals() {
	v.tables(func(path string, t *loomv1.SpecTable) {
		for _, header := range slices.Sorted(maps.Keys(t.Totals)) {
			said, ok := cellNumber(t.Totals[header])
			column := slices.Index(t.Headers, header)
			if !ok || column < 0 {
				continue
			}
			target := join(path+".totals", header)
			computed, none := Total(t.Aggregates[header], t.Rows, column)
			how := t.Aggregates[header]
			if how == "" {
				how = "sum"
			}
			switch {
			case none:
				v.found(target, "", "the total of %q is %v, and the column has no numbers", header, said)
			case !near(said, computed, bound(v.rule.Max, 0.005)):
				v.found(target, v.patch(target, "replace", computed), "the total of %q is %v, and the %s of the column is %v", header, said, how, computed)
			}
		}
	})
}

// totalWords begin a row that adds up those before it.
var totalWords = lazy.Compile(`(?i)^(grand |sub)?(total|totals|sum|summe|gesamt|insgesamt)\b`)

// totalRow: a last row that says that it is the total has what the rows before it make,
// by some way of making it; and what is asked to be aggregated has its total.
func (v *validation) totalRow() {
	v.tables(func(path string, t *loomv1.SpecTable) {
		for _, header := range slices.Sorted(maps.Keys(t.Aggregates)) {
			if _, said := t.Totals[header]; !said {
				v.found(join(path+".aggregates", header), "", "the %s of %q is asked for, and totals has no value for it: no row of totals is shown", t.Aggregates[header], header)
			}
		}
		last := len(t.Rows) - 1
		if last < 2 || len(t.Totals) > 0 || !totalWords.MatchString(strings.TrimSpace(CellText(t.Rows[last].Values[0]))) {
			return
		}
		for j := 1; j < len(t.Headers); j++ {
			said, ok := cellNumber(t.Rows[last].Values[j])
			sum, none := Total("", t.Rows[:last], j)
			if !ok || none || slices.ContainsFunc([]string{"", "average", "min", "max", "count"}, func(how string) bool {
				made, _ := Total(how, t.Rows[:last], j)
				return near(said, made, bound(v.rule.Max, 0.005))
			}) {
				continue
			}
			v.found(fmt.Sprintf("%s.rows[%d][%d]", path, last, j), "", "the row of totals has %v for %q, and the rows above add up to %v; totals would have the program add them", said, t.Headers[j], sum)
		}
	})
}

// numberAsText: a column of numbers has no numbers that are texts, which no program
// would add up.
func (v *validation) numberAsText() {
	v.tables(func(path string, t *loomv1.SpecTable) {
		for j, header := range t.Headers {
			if f := t.Formats[header]; f == "text" || f == "date" {
				continue
			}
			numbers, texts := 0, []int{}
			for i, r := range t.Rows {
				if _, ok := cellNumber(r.Values[j]); ok {
					numbers++
				} else if _, ok := NumberIn(CellText(r.Values[j])); ok && r.Values[j].GetStringValue() != "" {
					texts = append(texts, i)
				}
			}
			if f := t.Formats[header]; numbers == 0 && (f == "" || len(texts) == 0) {
				continue // numbers of houses, years, codes
			}
			for _, i := range texts {
				target := fmt.Sprintf("%s.rows[%d][%d]", path, i, j)
				v.found(target, v.patch(target, "normalize", "number"), "%q is a text in the column of numbers %q", CellText(t.Rows[i].Values[j]), header)
			}
		}
	})
}

var shares = lazy.Compile(`(?i)\b(share|percent|percentage)\b|%`)

// percentSum: shares that nearly make a whole make one.
func (v *validation) percentSum() {
	v.tables(func(path string, t *loomv1.SpecTable) {
		for j, header := range t.Headers {
			if !shares.MatchString(header) && t.Formats[header] != "percent" {
				continue
			}
			total, none := Total("", t.Rows, j)
			whole := 100.0
			if t.Formats[header] == "percent" && total < 2 {
				whole = 1
			}
			off := math.Abs(total - whole)
			if !none && len(t.Rows) > 2 && off > bound(v.rule.Max, 0.5)*whole/100 && off <= 0.05*whole {
				v.found(fmt.Sprintf("%s.headers[%d]", path, j), "", "the shares in %q add up to %v and not to %v", header, total, whole)
			}
		}
	})
}

// columnOf is the column whose header has one of the words, from a column on.
func columnOf(headers []string, words ...string) int {
	return slices.IndexFunc(headers, func(h string) bool {
		return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(h), func(r rune) bool { return !unicode.IsLetter(r) }), func(w string) bool { return slices.Contains(words, w) })
	})
}

func day(v *structpb.Value) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, strings.TrimSpace(CellText(v)))
	return t, err == nil
}

// spans calls do for each row that has a first and a last day.
func (v *validation) spans(do func(path string, t *loomv1.SpecTable, row, last int, from, to time.Time)) {
	v.tables(func(path string, t *loomv1.SpecTable) {
		i, j := columnOf(t.Headers, "start", "from", "begin", "begins"), columnOf(t.Headers, "end", "ends", "finish", "to", "until", "due")
		if i < 0 || j < 0 || i == j {
			return
		}
		for n, r := range t.Rows {
			from, ok := day(r.Values[i])
			to, also := day(r.Values[j])
			if ok && also {
				do(path, t, n, j, from, to)
			}
		}
	})
}

func (v *validation) dateRange() {
	v.spans(func(path string, _ *loomv1.SpecTable, row, last int, from, to time.Time) {
		if to.Before(from) {
			v.found(fmt.Sprintf("%s.rows[%d][%d]", path, row, last), "", "the row ends on %s and begins on %s", to.Format(time.DateOnly), from.Format(time.DateOnly))
		}
	})
}

// duration: days are those from the first to the last, which may count or not.
func (v *validation) duration() {
	v.spans(func(path string, t *loomv1.SpecTable, row, _ int, from, to time.Time) {
		k := columnOf(t.Headers, "days")
		if k < 0 {
			return
		}
		said, ok := cellNumber(t.Rows[row].Values[k])
		days := to.Sub(from).Hours() / 24
		if ok && days >= 0 && (said < math.Floor(days*5/7)-1 || said > days+1) {
			v.found(fmt.Sprintf("%s.rows[%d][%d]", path, row, k), "", "%v days are said, and from %s to %s it is %v", said, from.Format(time.DateOnly), to.Format(time.DateOnly), days+1)
		}
	})
}

// sameFigure: a number that is told twice is told the same: a cell of the same row and
// column in two tables, a total in a table and in a sentence.
func (v *validation) sameFigure() {
	type place struct {
		path  string
		value float64
	}
	cells := map[string]place{}
	v.tables(func(path string, t *loomv1.SpecTable) {
		for i, r := range t.Rows {
			label := strings.ToLower(strings.TrimSpace(CellText(r.Values[0])))
			if _, isNumber := cellNumber(r.Values[0]); label == "" || isNumber {
				continue
			}
			for j := 1; j < len(t.Headers); j++ {
				n, ok := cellNumber(r.Values[j])
				key := label + "\x00" + strings.ToLower(t.Headers[j])
				at := fmt.Sprintf("%s.rows[%d][%d]", path, i, j)
				first, there := cells[key]
				switch {
				case !ok:
				case !there:
					cells[key] = place{at, n}
				case !strings.HasPrefix(first.path, path+".") && !near(first.value, n, 0):
					v.found(at, "", "%s of %s is %v here and %v at %s", t.Headers[j], CellText(r.Values[0]), n, first.value, first.path)
				}
			}
		}
		v.toldTotals(path, t)
	})
}

var inBrackets = lazy.Compile(`\s*[(\[][^)\]]*[)\]]\s*`)

func (v *validation) toldTotals(path string, t *loomv1.SpecTable) {
	for _, header := range slices.Sorted(maps.Keys(t.Totals)) {
		total, ok := cellNumber(t.Totals[header])
		name := strings.TrimSpace(inBrackets.ReplaceAllString(header, " "))
		if !ok || len(name) < 3 || t.Aggregates[header] != "" && t.Aggregates[header] != "sum" {
			continue
		}
		find := regexp.MustCompile(`(?i)\btotal\s+` + strings.ReplaceAll(regexp.QuoteMeta(name), " ", `\s+`) + `\s+(?:is|are|of|was|were|will be|comes to|:)\s*[$€£]?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\b`)
		for _, x := range v.texts() {
			for _, m := range find.FindAllStringSubmatch(x.text, -1) {
				if said, ok := NumberIn(m[1]); ok && !near(said, total, 0.005) {
					v.found(x.path, "", "the text has %v as the total of %q, and the table %v (%s)", said, header, total, join(path+".totals", header))
				}
			}
		}
	}
}
