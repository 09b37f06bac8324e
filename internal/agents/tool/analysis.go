package tool

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/sheet"
	"github.com/loomrun/loom/internal/craft/statistics"
)

var dataAnalysis = &tool{
	Spec: Spec{
		Name:  "data_analysis",
		Class: reads,
		Description: "Describe columns of a table: summary, trend (along column at, or by row), correlation (of each two), " +
			"regression (of target by columns, with p-values). Rows without a number are left out, and counted.",
		Schema: schema(`"action","table"`, `
			"action": {"enum": ["summary", "trend", "correlation", "regression"]},
			"table": `+tableSchema+`,
			"columns": {"type": "array", "minItems": 1, "maxItems": 20, "items": {"type": "string"}, "description": "default all with numbers"},
			"at": {"type": "string", "description": "numbers or dates"},
			"target": {"type": "string"},
			"method": {"enum": ["pearson", "spearman"]}`),
	},
	run: with(analyse),
}

type analysisArguments struct {
	Action  string    `json:"action"`
	Table   tableFile `json:"table"`
	Columns []string  `json:"columns"`
	At      string    `json:"at"`
	Target  string    `json:"target"`
	Method  string    `json:"method"`
}

func analyse(ctx context.Context, j job, a analysisArguments) (Result, error) {
	for name, misplaced := range map[string]bool{
		"at": a.At != "" && a.Action != "trend", "target": (a.Target != "") != (a.Action == "regression"), "method": a.Method != "" && a.Action != "correlation",
	} {
		if misplaced {
			return Result{}, unfit(name, "it belongs to trend (at), regression (target, needed) or correlation (method)")
		}
	}
	t, note, err := j.table(a.Table)
	if err != nil {
		return Result{}, err
	}
	if len(t.Rows) == 0 {
		return Result{}, unfit("table", "the table has no rows").Got(a.Table.Path)
	}
	columns, err := a.columns(&t)
	if err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return Result{}, ended(ctx)
	}
	actions := map[string]func(*sheet.Table, []int) (string, error){
		"summary": summarize, "trend": a.trend, "correlation": a.correlation, "regression": a.regression,
	}
	text, err := actions[a.Action](&t, columns)
	if err != nil {
		return Result{}, err
	}
	return done(note+text, "%s of %d columns, %d rows of %s", a.Action, len(columns), len(t.Rows), a.Table.Path), nil
}

// columns are those that are named, or else all that have numbers, and for a
// summary all there are.
func (a analysisArguments) columns(t *sheet.Table) (list []int, err error) {
	for _, name := range a.Columns {
		i, err := t.Column(name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(list, i) {
			return nil, unfit("columns", "the column is named twice").Got(name)
		}
		list = append(list, i)
	}
	if list != nil {
		return list, nil
	}
	for i, name := range t.Columns {
		numbers, _ := t.Numbers(i)
		if a.Action == "summary" || len(numbers)*2 > len(t.Rows) && name != a.At && name != a.Target {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return nil, unfit("table", "no column has numbers in most of its rows")
	}
	return list[:min(len(list), 50)], nil
}

// short writes a figure with 6 digits.
func short(v float64) string {
	if math.IsNaN(v) {
		return "none"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

func summarize(t *sheet.Table, columns []int) (string, error) {
	var b strings.Builder
	for _, i := range columns {
		numbers, _ := t.Numbers(i)
		empty := 0
		for _, row := range t.Rows {
			if strings.TrimSpace(row[i].Text) == "" {
				empty++
			}
		}
		fmt.Fprintf(&b, "%s: %d numbers, %d other, %d empty", t.Columns[i], len(numbers), len(t.Rows)-len(numbers)-empty, empty)
		if len(numbers) == 0 {
			b.WriteString(frequent(t, i) + "\n")
			continue
		}
		s, err := statistics.Summarize(numbers)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n  sum %s, mean %s, standard deviation %s\n  least %s, quartiles %s %s %s, most %s\n", calculator.Format(s.Sum.Value, s.Sum.Rounded, -1),
			short(s.Mean.Value.InexactFloat64()), short(s.Deviation), s.Least, short(s.First), short(s.Median), short(s.Third), s.Most)
	}
	return b.String(), nil
}

// frequent lists the values of a column of text.
func frequent(t *sheet.Table, column int) string {
	count := map[string]int{}
	for _, row := range t.Rows {
		if v := strings.TrimSpace(row[column].Text); v != "" {
			count[v]++
		}
	}
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	text := fmt.Sprintf("; %d different", len(names))
	for _, n := range names[:min(len(names), 5)] {
		text += fmt.Sprintf(", %s (%d)", cutEnd(shown(n), 40), count[n])
	}
	return text
}

// pairs are the rows that have numbers in all of the columns.
func pairs(t *sheet.Table, columns []int) [][]float64 {
	list := make([][]float64, len(columns))
	for _, row := range t.Rows {
		if slices.ContainsFunc(columns, func(c int) bool { return !row[c].Numeric }) {
			continue
		}
		for k, c := range columns {
			list[k] = append(list[k], row[c].Number.InexactFloat64())
		}
	}
	return list
}

func (a analysisArguments) correlation(t *sheet.Table, columns []int) (string, error) {
	if len(columns) < 2 {
		return "", unfit("columns", "a correlation needs two columns")
	}
	var b strings.Builder
	for k, i := range columns {
		for _, j := range columns[k+1:] {
			both := pairs(t, []int{i, j})
			fmt.Fprintf(&b, "%s, %s: ", t.Columns[i], t.Columns[j])
			c, err := statistics.Correlate(both[0], both[1], a.Method == "spearman")
			if err != nil {
				fmt.Fprintf(&b, "none: %s\n", err)
				continue
			}
			fmt.Fprintf(&b, "%s %.4f, p %s, of %d rows\n", cmp.Or(a.Method, "pearson"), c.R, short(c.P), c.Count)
		}
	}
	return b.String(), nil
}

func (a analysisArguments) regression(t *sheet.Table, columns []int) (string, error) {
	target, err := t.Column(a.Target)
	if err != nil {
		return "", err
	}
	if slices.Contains(columns, target) {
		return "", unfit("columns", "the target does not explain itself").Got(a.Target)
	}
	data := pairs(t, append([]int{target}, columns...))
	r, err := statistics.Regress(data[0], data[1:])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %d columns, %d rows used, %d left out\n", a.Target, len(columns), r.Count, len(t.Rows)-r.Count)
	for k, c := range r.Coefficients {
		name := "constant"
		if k > 0 {
			name = t.Columns[columns[k-1]]
		}
		fmt.Fprintf(&b, "%s: %s, error %s, t %s, p %s\n", name, short(c.Value), short(c.Error), short(c.T), short(c.P))
	}
	fmt.Fprintf(&b, "R2 %.6f, adjusted %.6f, residual deviation %s, F %s, p %s\n", r.R2, r.Adjusted, short(r.Deviation), short(r.F), short(r.P))
	return b.String(), nil
}

func (a analysisArguments) trend(t *sheet.Table, columns []int) (string, error) {
	when, unit, err := a.times(t)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, i := range columns {
		at, values, rows := following(t, i, when)
		fmt.Fprintf(&b, "%s: ", t.Columns[i])
		f, err := statistics.Follow(at, values)
		if err != nil {
			fmt.Fprintf(&b, "none: %s\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s; %s for each %s, p %s, R2 %.4f, of %d rows; from %s to %s%s\n", f.Direction, short(f.Slope), unit, short(f.Coefficients[1].P), f.R2,
			f.Count, t.Rows[rows[0]][i].Text, t.Rows[rows[len(rows)-1]][i].Text, change(t.Rows[rows[0]][i].Number, t.Rows[rows[len(rows)-1]][i].Number))
	}
	return b.String(), nil
}

// change is the relative one from a positive value.
func change(from, to decimal.Decimal) string {
	if !from.IsPositive() {
		return ""
	}
	r, err := calculator.Compute("(b / a - 1) * 100", map[string]decimal.Decimal{"a": from, "b": to})
	if err != nil {
		return ""
	}
	return " (" + calculator.Format(r.Value, true, 2) + " %)"
}

// times are when the rows are, in their unit; a row without one has NaN.
func (a analysisArguments) times(t *sheet.Table) (list []float64, unit string, err error) {
	list = make([]float64, len(t.Rows))
	if a.At == "" {
		for i := range list {
			list[i] = float64(i + 1)
		}
		return list, "row", nil
	}
	column, err := t.Column(a.At)
	if err != nil {
		return nil, "", err
	}
	unit = "step of " + a.At
	for i, row := range t.Rows {
		day, err := time.Parse(time.DateOnly, strings.TrimSpace(row[column].Text))
		switch {
		case row[column].Numeric:
			list[i] = row[column].Number.InexactFloat64()
		case err == nil:
			list[i], unit = float64(day.Unix())/86400, "day"
		default:
			list[i] = math.NaN()
		}
	}
	return list, unit, nil
}

// following are a column's values in the order of time, and their rows.
func following(t *sheet.Table, column int, when []float64) (at, values []float64, rows []int) {
	for i, row := range t.Rows {
		if row[column].Numeric && !math.IsNaN(when[i]) {
			rows = append(rows, i)
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(when[a], when[b]) })
	for _, i := range rows {
		at, values = append(at, when[i]), append(values, t.Rows[i][column].Number.InexactFloat64())
	}
	return at, values, rows
}
