package office

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/craft/calculator"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// addComputed adds a computed column to a table, and its total. A row in which a column
// that the formula names has no number has no value.
func addComputed(t *loomv1.SpecTable, c *loomv1.ComputedColumn, e *calculator.Expression) error {
	for _, name := range e.Names() {
		if !slices.Contains(t.Headers, name) {
			return fault.New("table/column", "there is no such column").Got(name).Want("%s", suggest.Among(name, t.Headers))
		}
	}
	var numbers []decimal.Decimal
	for i, r := range t.Rows {
		values, whole := map[string]decimal.Decimal{}, true
		for _, name := range e.Names() {
			n, ok := number(r.Values[slices.Index(t.Headers, name)])
			values[name] = decimal.NewFromFloat(n)
			whole = whole && ok
		}
		v := structpb.NewNullValue()
		if whole {
			result, err := e.Evaluate(values)
			if err != nil {
				return fmt.Errorf("row %d: %w", i+1, err)
			}
			numbers = append(numbers, result.Value)
			v = structpb.NewNumberValue(result.Value.InexactFloat64())
		}
		r.Values = append(r.Values, v)
	}
	t.Headers = append(t.Headers, c.Header)
	if c.Format != "" {
		t.Formats[c.Header] = c.Format
	}
	if c.Aggregate == "" {
		return nil
	}
	t.Aggregates[c.Header] = c.Aggregate
	if c.Aggregate == "count" {
		t.Totals[c.Header] = structpb.NewNumberValue(float64(len(numbers)))
		return nil
	}
	if len(numbers) == 0 {
		return nil
	}
	var total decimal.Decimal
	switch c.Aggregate {
	case "min":
		total = decimal.Min(numbers[0], numbers[1:]...)
	case "max":
		total = decimal.Max(numbers[0], numbers[1:]...)
	default:
		total = decimal.Sum(numbers[0], numbers[1:]...)
		if c.Aggregate == "average" {
			total = total.DivRound(decimal.NewFromInt(int64(len(numbers))), 16)
		}
	}
	t.Totals[c.Header] = structpb.NewNumberValue(total.InexactFloat64())
	return nil
}
