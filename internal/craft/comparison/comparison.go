// Package comparison weighs options against criteria.
//
// It promises that scores are exact, that options are ranked by them, equal
// ones with the same rank, and that a ranking that hangs on a single criterion
// is said to do so. It refuses a matrix with holes in what is weighed.
//
// It has no opinion: weights and scores are the caller's.
package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/craft/calculator"
	"github.com/loomrun/loom/internal/craft/sheet"
)

// Limits of a matrix.
const (
	MaxCriteria = 30
	MaxOptions  = 30
	maxText     = 2000 // bytes of one entry
)

// Criterion is what options are compared by. One without a weight is described
// and not weighed.
type Criterion struct {
	Name   string
	Weight decimal.Decimal
	// Lower says that less is better, as of a price or a risk.
	Lower bool
}

func (c Criterion) weighed() bool { return c.Weight.IsPositive() }

// Option has an entry for each criterion: a number for those that are weighed.
type Option struct {
	Name    string
	Entries map[string]sheet.Value
}

// Matrix is options and criteria. Scores are on a scale from Least to Most.
type Matrix struct {
	Criteria    []Criterion
	Options     []Option
	Least, Most decimal.Decimal
}

// Ranked is an option with its score, from Least to Most of the matrix, and
// its rank from 1.
type Ranked struct {
	Option
	Score calculator.Result
	Rank  int
}

// Check reports all that is wrong with the matrix, as tool/arguments.
func (m Matrix) Check() error {
	var errs []*fault.Error
	refuse := func(where, format string, args ...any) {
		errs = append(errs, fault.New("tool/arguments", format, args...).At(where))
	}
	if n := len(m.Criteria); n == 0 || n > MaxCriteria {
		refuse("criteria", "there are %d, not 1 to %d", n, MaxCriteria)
	}
	if n := len(m.Options); n < 2 || n > MaxOptions {
		refuse("options", "there are %d, not 2 to %d", n, MaxOptions)
	}
	if m.Most.Cmp(m.Least) <= 0 {
		refuse("scale", "its end %s is not above its beginning %s", m.Most, m.Least)
	}
	m.checkNames(refuse)
	for _, o := range m.Options {
		m.checkOption(o, refuse)
	}
	return fault.Join(errs)
}

type refusal func(where, format string, args ...any)

func (m Matrix) checkNames(refuse refusal) {
	seen := map[string]bool{}
	for _, c := range m.Criteria {
		switch {
		case strings.TrimSpace(c.Name) == "" || seen["c "+c.Name]:
			refuse("criteria", "each needs a name of its own, and there is %q", c.Name)
		case c.Weight.IsNegative():
			refuse("criteria/"+c.Name, "its weight is negative")
		}
		seen["c "+c.Name] = true
	}
	for _, o := range m.Options {
		if strings.TrimSpace(o.Name) == "" || seen["o "+o.Name] {
			refuse("options", "each needs a name of its own, and there is %q", o.Name)
		}
		seen["o "+o.Name] = true
	}
}

func (m Matrix) checkOption(o Option, refuse refusal) {
	known := map[string]bool{}
	for _, c := range m.Criteria {
		known[c.Name] = true
		v, ok := o.Entries[c.Name]
		at := "options/" + o.Name + "/" + c.Name
		switch {
		case len(v.Text) > maxText:
			refuse(at, "it has %d bytes, at most %d are taken", len(v.Text), maxText)
		case !c.weighed():
		case !ok || !v.Numeric:
			refuse(at, "the criterion is weighed, so each option needs a score for it")
		case v.Number.Cmp(m.Least) < 0 || v.Number.Cmp(m.Most) > 0:
			refuse(at, "the score %s is not from %s to %s", v.Number, m.Least, m.Most)
		}
	}
	for name := range o.Entries {
		if !known[name] {
			refuse("options/"+o.Name, "there is no criterion %q", name)
		}
	}
}

// Rank returns the options, the best first; equal ones keep their order. The
// matrix must be sound, see Check. Without a weighed criterion there is no
// ranking, and Rank returns nothing.
func (m Matrix) Rank() ([]Ranked, error) { return m.rank("") }

// rank leaves one criterion out.
func (m Matrix) rank(without string) ([]Ranked, error) {
	var total []decimal.Decimal
	for _, c := range m.Criteria {
		if c.weighed() && c.Name != without {
			total = append(total, c.Weight)
		}
	}
	if len(total) == 0 {
		return nil, nil
	}
	var list []Ranked
	for _, o := range m.Options {
		score, err := m.score(o, without, decimal.Sum(total[0], total[1:]...))
		if err != nil {
			return nil, err
		}
		list = append(list, Ranked{Option: o, Score: score})
	}
	slices.SortStableFunc(list, func(a, b Ranked) int { return b.Score.Value.Cmp(a.Score.Value) })
	for i := range list {
		if list[i].Rank = i + 1; i > 0 && list[i].Score.Value.Equal(list[i-1].Score.Value) {
			list[i].Rank = list[i-1].Rank
		}
	}
	return list, nil
}

// score is the weighted mean; where less is better, the scale is turned.
func (m Matrix) score(o Option, without string, total decimal.Decimal) (calculator.Result, error) {
	sum := decimal.Zero
	for _, c := range m.Criteria {
		if !c.weighed() || c.Name == without {
			continue
		}
		v := o.Entries[c.Name].Number
		if c.Lower {
			v = m.Least.Add(m.Most).Sub(v)
		}
		sum = sum.Add(v.Mul(c.Weight))
	}
	return calculator.Compute("sum / total", map[string]decimal.Decimal{"sum": sum, "total": total})
}

// Remarks says what a reader of the ranking should know: a tie at the top, how
// far the second is behind, and criteria without which another option would
// win.
func (m Matrix) Remarks(list []Ranked) ([]string, error) {
	if len(list) < 2 {
		return nil, nil
	}
	var remarks []string
	if list[1].Rank == 1 {
		remarks = append(remarks, fmt.Sprintf("%s and %s have the same score: the matrix does not decide between them", list[0].Name, list[1].Name))
	} else {
		lead := list[0].Score.Value.Sub(list[1].Score.Value)
		remarks = append(remarks, fmt.Sprintf("%s leads %s by %s", list[0].Name, list[1].Name, calculator.Format(lead, true, 2)))
	}
	for _, c := range m.Criteria {
		if !c.weighed() {
			continue
		}
		other, err := m.rank(c.Name)
		if err != nil {
			return nil, err
		}
		if len(other) > 0 && other[0].Name != list[0].Name {
			remarks = append(remarks, fmt.Sprintf("without %q, %s would be first", c.Name, other[0].Name))
		}
	}
	return remarks, nil
}

// Table is the matrix with criteria as rows, in the order of the ranking if
// there is one; its last rows are score and rank.
func (m Matrix) Table() (sheet.Table, error) {
	list, err := m.Rank()
	if err != nil {
		return sheet.Table{}, err
	}
	options := m.Options
	if list != nil {
		options = nil
		for _, r := range list {
			options = append(options, r.Option)
		}
	}
	header := []string{"Criterion"}
	if list != nil {
		header = append(header, "Weight")
	}
	for _, o := range options {
		header = append(header, o.Name)
	}
	t, err := sheet.New(header)
	if err != nil {
		return sheet.Table{}, err
	}
	return t, m.fill(&t, options, list)
}

func (m Matrix) fill(t *sheet.Table, options []Option, list []Ranked) error {
	for _, c := range m.Criteria {
		name := c.Name
		if c.Lower {
			name += " (less is better)"
		}
		row := []sheet.Value{sheet.Text(name)}
		if list != nil {
			weight := sheet.Value{}
			if c.weighed() {
				weight = sheet.Number(c.Weight)
			}
			row = append(row, weight)
		}
		for _, o := range options {
			row = append(row, o.Entries[c.Name])
		}
		if err := t.Add(row); err != nil {
			return err
		}
	}
	if list == nil {
		return nil
	}
	scores, ranks := []sheet.Value{sheet.Text("Score"), {}}, []sheet.Value{sheet.Text("Rank"), {}}
	for _, r := range list {
		scores = append(scores, sheet.Parse(calculator.Format(r.Score.Value, r.Score.Rounded, 2)))
		ranks = append(ranks, sheet.Number(decimal.NewFromInt(int64(r.Rank))))
	}
	if err := t.Add(scores); err != nil {
		return err
	}
	return t.Add(ranks)
}
