package document

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"
)

// CellText is a cell as text: a number in its shortest form, nothing for null.
func CellText(v *structpb.Value) string {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return v.StringValue
	case *structpb.Value_NumberValue:
		return strconv.FormatFloat(v.NumberValue, 'f', -1, 64)
	case *structpb.Value_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	}
	return ""
}

// cellNumber is the number that a cell is; a text that looks like one is none.
func cellNumber(v *structpb.Value) (float64, bool) {
	n, ok := v.GetKind().(*structpb.Value_NumberValue)
	if !ok {
		return 0, false
	}
	return n.NumberValue, true
}

// Total is what an aggregate makes of the numbers of a column, "" for a sum; none
// says that the column has no numbers.
func Total(aggregate string, rows []*structpb.ListValue, column int) (total float64, none bool) {
	var numbers []float64
	for _, r := range rows {
		if n, ok := cellNumber(r.Values[column]); ok {
			numbers = append(numbers, n)
		}
	}
	return Aggregate(aggregate, numbers)
}

// Aggregate is the sum, average, min, max or count of numbers; none says that there
// are none.
func Aggregate(how string, numbers []float64) (total float64, none bool) {
	if how == "count" {
		return float64(len(numbers)), false
	}
	if len(numbers) == 0 {
		return 0, true
	}
	switch how {
	case "min":
		total = math.Inf(1)
		for _, n := range numbers {
			total = min(total, n)
		}
	case "max":
		total = math.Inf(-1)
		for _, n := range numbers {
			total = max(total, n)
		}
	default:
		total = sum(numbers)
		if how == "average" {
			total /= float64(len(numbers))
		}
	}
	return rounded(total), false
}

// sum adds with a correction for what is lost (Neumaier), so that cents add up.
func sum(numbers []float64) float64 {
	total, lost := 0.0, 0.0
	for _, n := range numbers {
		t := total + n
		if math.Abs(total) >= math.Abs(n) {
			lost += (total - t) + n
		} else {
			lost += (n - t) + total
		}
		total = t
	}
	return total + lost
}

// rounded takes away what only binary fractions add, at the twelfth digit.
func rounded(n float64) float64 {
	f, err := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 13, 64), 64)
	if err != nil {
		return n
	}
	return f
}

// near says that two numbers are the same within a half of the last digit that people
// write.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= max(tolerance, 1e-9*max(math.Abs(a), math.Abs(b)))
}
