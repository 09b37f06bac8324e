package verify

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/lazy"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// figureKinds are the types of rules about numbers.
var figureKinds = []Kind{
	{
		Name: "totals", Type: loomv1.RuleType_RULE_TYPE_TOTALS, Files: tables, look: (*look).totals,
		About: "each row and column that is called a total is the sum of what stands above or beside it",
		Params: []Param{
			{"total", "text", "what totals are called; total", false},
			{"columns", "texts", "the columns that are added up; all that have numbers", false},
			places,
		},
		Example: `{name: adds-up, type: totals, with: {columns: [amount]}, target: budget.csv, severity: error}`,
	},
	{
		Name: "balance", Type: loomv1.RuleType_RULE_TYPE_BALANCE, Files: tables, look: (*look).balance,
		About: "assets are liabilities plus equity, in each row, or in each column where these are rows",
		Params: []Param{
			{"assets", "text", "what assets are called; assets, or total assets", false},
			{"liabilities", "text", "the same of liabilities", false},
			{"equity", "text", "the same of equity", false},
			places,
		},
		Example: `{name: balances, type: balance, target: balance-sheet.csv, severity: error}`,
	},
	{
		Name: "range", Type: loomv1.RuleType_RULE_TYPE_RANGE, Output: true, look: (*look).within, sound: rangeSound,
		About: "a figure is given, and within min and max wherever it is; 8% is 0.08",
		Params: []Param{
			figured,
			{"min", "number", "the least that it may be", false},
			{"max", "number", "the most", false},
		},
		Example: `{name: wacc, type: range, with: {figure: WACC, min: 0.03, max: 0.2}, target: valuation.md}`,
	},
	{
		Name: "same_value", Type: loomv1.RuleType_RULE_TYPE_SAME_VALUE, look: (*look).same, sound: sameSound,
		About: "a figure of the target is among those that each of files, or each other sheet, gives for it",
		Params: []Param{
			figured,
			{"files", "texts", "the other files, each as NAME or NAME#SHEET; without it, the sheets of the target", false},
			places,
		},
		Example: `{name: same-price, type: same_value, with: {figure: value per share, files: [valuation.csv]}, target: memo.md}`,
	},
}

// figureName is a name as figures are compared: without units in brackets, in lower case,
// with "_" between words.
func figureName(s string) string {
	if at := strings.IndexAny(s, "(["); at > 0 {
		s = s[:at]
	}
	parts := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !isWordRune(r) })
	return strings.Join(parts, "_")
}

// figure is a number that a file gives under a name.
type figure struct {
	value float64
	text  string // as it is written
	sheet string
	line  int
	where string // for a place that has no line
}

// figures are the numbers that a file gives under a name: those of a column or a row of a
// table, and those behind the name in a text.
func (c *content) figures(name string) (list []figure) {
	want := figureName(name)
	for _, g := range c.tables() {
		list = append(list, g.figures(want)...)
	}
	if slices.Contains([]string{"csv", "tsv", "xlsx"}, c.kind) {
		return list
	}
	p := figurePattern(want)
	n := 0
	for line := range strings.Lines(c.prose()) {
		n++
		if c.kind != "html" && len(pipeCells(line)) > 1 { // of a table
			continue
		}
		for _, at := range p.FindAllStringSubmatchIndex(line, -1) {
			written, scale := group(line, at, 1), group(line, at, 2)
			if before := line[at[0]:at[2]]; figureName(before) == want && !strings.ContainsAny(before, ":=") { // in brackets, and not negative
				written = strings.Trim(written, "()")
			}
			if v, ok := cell(written).(float64); ok && !isYear(written) {
				list = append(list, figure{value: v * scales[strings.ToLower(scale)], text: strings.TrimSpace(written + scale), line: n})
			}
		}
	}
	return list
}

var scales = map[string]float64{
	"": 1, "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9, "trillion": 1e12,
}

// figurePattern finds a name and the number behind it, with at most 40 characters between
// the two in the same sentence.
func figurePattern(name string) *regexp.Regexp {
	var words []string
	for w := range strings.SplitSeq(name, "_") {
		words = append(words, regexp.QuoteMeta(w))
	}
	return regexp.MustCompile(`(?i)(?:^|[^\pL\pN])` + strings.Join(words, `[^\pL\pN\n]{1,3}`) +
		`(?:\b(?:in|for|by|fy)\s?(?:19|20)\d\d\b|[^0-9\n;.|$€£(−–-]){0,40}?([-−–(]?[$€£]?[-−–(]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:(?:\.\d{3})*,\d+)?\)?\s?%?)\s?(?:(k|m|mn|bn|thousand|million|billion|trillion)\b)?`)
}

var year = lazy.Compile(`^(?:19|20)\d\d$`)

func isYear(s string) bool { return year.MatchString(strings.TrimSpace(s)) }

func (g *grid) figures(want string) (list []figure) {
	add := func(row int, label, text string) {
		if v, ok := cell(text).(float64); ok {
			line, where := g.place(row)
			list = append(list, figure{value: v * unit(label, text), text: strings.TrimSpace(text), sheet: g.sheet, line: line, where: where})
		}
	}
	column := slices.IndexFunc(g.header, func(h string) bool { return figureName(h) == want })
	for i, cells := range g.rows {
		switch {
		case column >= 0 && column < len(cells):
			add(i, g.header[column], cells[column])
		case column < 0 && len(cells) > 0 && figureName(cells[0]) == want:
			for _, text := range cells[1:] {
				add(i, cells[0], text)
			}
		}
	}
	if column < 0 && len(g.header) > 1 && figureName(g.header[0]) == want { // of a table without a header
		for _, text := range g.header[1:] {
			if v, ok := cell(text).(float64); ok && !isYear(text) {
				line, where := g.top()
				list = append(list, figure{value: v, text: strings.TrimSpace(text), sheet: g.sheet, line: line, where: where})
			}
		}
	}
	return list
}

var inPercent = lazy.Compile(`[(\[]\s*(?:in\s+)?(?:%|(?i:percent|per cent))\s*[)\]]`)

// unit is what a number counts for whose column or row is labelled with a unit: with (%),
// 8.5 is 0.085, unless the cell has the sign itself.
func unit(label, text string) float64 {
	if inPercent.MatchString(label) && !strings.Contains(text, "%") {
		return 0.01
	}
	return 1
}

// alike says whether two numbers differ by at most a share of the second.
func alike(a, b, share float64) bool { return math.Abs(a-b) <= share*math.Abs(b)+1e-9*(1+math.Abs(b)) }

const usualTolerance = 0.001

func (l *look) tolerance() float64 { return l.with.number("tolerance", usualTolerance) }

func rangeSound(r *loomv1.Rule) []RuleFault {
	with := toldOf(r)
	list := nameless(r)
	switch {
	case !with.has("min") && !with.has("max"):
		list = append(list, wrongAt(ruleError("a rule of type range has neither min nor max"), "with"))
	case with.has("min") && with.has("max") && with.number("min", 0) > with.number("max", 0):
		list = append(list, wrongAt(ruleError("min is more than max").Got(number64(with.number("min", 0))), "with", "min"))
	}
	return list
}

// nameless refuses a figure without letters or digits.
func nameless(r *loomv1.Rule) []RuleFault {
	if name := toldOf(r).text("figure", ""); figureName(name) == "" {
		return []RuleFault{wrongAt(ruleError("figure names nothing").Got(name), "with", "figure")}
	}
	return nil
}

func sameSound(r *loomv1.Rule) []RuleFault {
	list := nameless(r)
	files := toldOf(r).texts("files")
	for i, f := range files {
		name, _, _ := strings.Cut(f, "#")
		if !nameIsSound(name) {
			list = append(list, wrongAt(ruleError("not the name of a file in the workspace").Got(f).Want("write it as NAME, or NAME#SHEET"), "with", "files", i))
		}
	}
	if len(files) == 0 && kindOf(r.Target) != "xlsx" {
		list = append(list, wrongAt(ruleError("without files a same_value rule compares the sheets of a workbook, which its target does not name").
			Got(r.Target).Want("name files under with, or a target of type xlsx"), "target"))
	}
	return list
}

// within wants a figure to be there, and within bounds.
func (l *look) within(c *content) {
	name := l.with.text("figure", "")
	all := c.figures(name)
	if len(all) == 0 {
		l.wrong(c, 0, "found no %s with a number, wanted one %s", name, l.bounds())
	}
	for _, f := range all {
		if l.with.has("min") && f.value < l.with.number("min", 0) || l.with.has("max") && f.value > l.with.number("max", 0) {
			l.wrong(c, f.line, "%sfound %s %s, wanted %s", f.where, name, f.text, l.bounds())
		}
	}
}

func (l *look) bounds() string {
	least, most := number64(l.with.number("min", 0)), number64(l.with.number("max", 0))
	switch {
	case !l.with.has("max"):
		return "of at least " + least
	case !l.with.has("min"):
		return "of at most " + most
	}
	return "from " + least + " to " + most
}

// same wants what a file gives as a figure to be among what others give for it.
func (l *look) same(c *content) {
	name := l.with.text("figure", "")
	own := c.figures(name)
	if files := l.with.texts("files"); len(files) > 0 {
		if len(own) == 0 {
			l.wrong(c, 0, "found no %s with a number, wanted that of %s", name, strings.Join(files, ", "))
			return
		}
		for _, f := range files {
			if f != c.name {
				l.sameAs(c, name, own, f)
			}
		}
		return
	}
	l.sameSheets(c, name, own)
}

// sameAs compares with another file, or a sheet of one.
func (l *look) sameAs(c *content, name string, own []figure, other string) {
	file, sheet, _ := strings.Cut(other, "#")
	data, f := delivered(l.files, Deliverable{Name: file})
	if f != nil { // another phase's, which may have been left out
		l.unseen(c, "%s: %s", file, f.Text)
		return
	}
	there := lookInto(file, data)
	if there.blind != "" || unsound(there.wrong) {
		l.unseen(c, "%s cannot be looked into", file)
		return
	}
	given := there.figures(name)
	if sheet != "" {
		given = slices.DeleteFunc(given, func(f figure) bool { return f.sheet != sheet })
	}
	if len(given) == 0 {
		l.wrong(c, own[0].line, "%sfound %s %s, but none in %s, wanted the same in both", own[0].where, name, own[0].text, other)
		return
	}
	l.among(c, name, own, given, other)
}

// among reports figures that are not among given ones.
func (l *look) among(c *content, name string, own, given []figure, where string) {
	for _, f := range own {
		if !slices.ContainsFunc(given, func(g figure) bool { return alike(f.value, g.value, l.tolerance()) }) {
			l.wrong(c, f.line, "%sfound %s %s, wanted %s as in %s", f.where, name, f.text, texts(given), where)
		}
	}
}

// texts lists how figures are written, each once.
func texts(list []figure) string {
	var all []string
	for _, f := range list {
		if !slices.Contains(all, f.text) && len(all) < maxFound {
			all = append(all, f.text)
		}
	}
	return strings.Join(all, " or ")
}

// sameSheets compares the sheets of a workbook with the first that has the figure.
func (l *look) sameSheets(c *content, name string, own []figure) {
	var sheets []string
	bySheet := map[string][]figure{}
	for _, f := range own {
		if bySheet[f.sheet] == nil {
			sheets = append(sheets, f.sheet)
		}
		bySheet[f.sheet] = append(bySheet[f.sheet], f)
	}
	if len(sheets) < 2 {
		l.wrong(c, 0, "found %s in %d sheets, wanted it in two or more", name, len(sheets))
		return
	}
	for _, s := range sheets[1:] {
		l.among(c, name, bySheet[s], bySheet[sheets[0]], fmt.Sprintf("sheet %q", sheets[0]))
	}
}
