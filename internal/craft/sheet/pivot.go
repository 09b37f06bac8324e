package sheet

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/craft/calculator"
)

// Aggregates are what can be made of the values of a group.
var Aggregates = []string{"sum", "count", "average", "min", "max"}

// Aggregate is one figure for each group: Of a column, or of the rows if that
// is empty and Make is "count".
type Aggregate struct {
	Of, Make string
}

func (a Aggregate) name() string {
	if a.Of == "" {
		return "rows"
	}
	return a.Make + " of " + a.Of
}

// Pivot groups the rows by the columns of by and gives one row for each group,
// in the order of their first rows. Values that are no numbers are left out of
// sums, averages, min and max; "count" counts all that are not empty.
func (t *Table) Pivot(by []string, list []Aggregate) (Table, error) {
	header := slices.Clone(by)
	keys, err := t.places(by)
	if err != nil {
		return Table{}, err
	}
	columns := make([]int, len(list))
	for i, a := range list {
		header = append(header, a.name())
		if columns[i], err = t.aggregated(a); err != nil {
			return Table{}, err
		}
	}
	out, err := New(header)
	if err != nil {
		return Table{}, err
	}
	for _, group := range t.groups(keys) {
		row := make([]Value, 0, len(header))
		for _, k := range keys {
			row = append(row, group[0][k])
		}
		for i, a := range list {
			v, err := a.of(group, columns[i])
			if err != nil {
				return Table{}, err
			}
			row = append(row, v)
		}
		if err := out.Add(row); err != nil {
			return Table{}, err
		}
	}
	return out, nil
}

func (t *Table) places(names []string) (list []int, err error) {
	for _, n := range names {
		i, err := t.Column(n)
		if err != nil {
			return nil, err
		}
		list = append(list, i)
	}
	return list, nil
}

func (t *Table) aggregated(a Aggregate) (int, error) {
	if !slices.Contains(Aggregates, a.Make) {
		return 0, fault.New("table/invalid", "there is no such aggregate").Got(a.Make).Want("%s", suggest.Among(a.Make, Aggregates))
	}
	if a.Of == "" && a.Make == "count" {
		return -1, nil
	}
	return t.Column(a.Of)
}

// groups collects rows that are equal in the key columns.
func (t *Table) groups(keys []int) (list [][][]Value) {
	places := map[string]int{}
	for _, row := range t.Rows {
		var key strings.Builder
		for _, k := range keys {
			key.WriteString(row[k].Text + "\x00")
		}
		i, ok := places[key.String()]
		if !ok {
			i = len(list)
			places[key.String()] = i
			list = append(list, nil)
		}
		list[i] = append(list[i], row)
	}
	return list
}

func (a Aggregate) of(rows [][]Value, column int) (Value, error) {
	if a.Make == "count" {
		n := 0
		for _, row := range rows {
			if column < 0 || row[column].Text != "" {
				n++
			}
		}
		return Number(decimal.NewFromInt(int64(n))), nil
	}
	var numbers []decimal.Decimal
	for _, row := range rows {
		if row[column].Numeric {
			numbers = append(numbers, row[column].Number)
		}
	}
	if len(numbers) == 0 {
		return Value{}, nil
	}
	r, err := calculator.Aggregate(a.Make, numbers)
	if err != nil {
		return Value{}, err
	}
	return Value{calculator.Format(r.Value, r.Rounded, -1), r.Value, true}, nil
}
