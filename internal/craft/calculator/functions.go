package calculator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"
)

// function is one that expressions can call; spreadsheet is its name in
// spreadsheet programs.
type function struct {
	least, most int
	spreadsheet string
}

const many = 255 // arguments

var functions = map[string]function{
	"abs": {1, 1, "ABS"}, "min": {1, many, "MIN"}, "max": {1, many, "MAX"}, "sum": {1, many, "SUM"},
	"average": {1, many, "AVERAGE"}, "product": {1, many, "PRODUCT"}, "mod": {2, 2, "MOD"},
	"round": {1, 2, "ROUND"}, "floor": {1, 1, "FLOOR"}, "ceiling": {1, 1, "CEILING"},
	"sqrt": {1, 1, "SQRT"}, "exp": {1, 1, "EXP"}, "ln": {1, 1, "LN"}, "log10": {1, 1, "LOG10"},
	"power": {2, 2, "POWER"}, "if": {3, 3, "IF"}, "and": {1, many, "AND"}, "or": {1, many, "OR"}, "not": {1, 1, "NOT"},
}

// Functions returns the names of the functions that expressions can call.
func Functions() []string { return slices.Sorted(maps.Keys(functions)) }

func (f function) takes() string {
	switch {
	case f.least == f.most:
		return fmt.Sprintf("%d arguments", f.least)
	case f.most == many:
		return fmt.Sprintf("%d or more arguments", f.least)
	}
	return fmt.Sprintf("%d to %d arguments", f.least, f.most)
}

// function evaluates a call; if evaluates only the branch that it takes.
func (s *slate) function(n *node, values map[string]decimal.Decimal) decimal.Decimal {
	if n.text == "if" {
		if s.eval(n.args[0], values).IsZero() {
			return s.eval(n.args[2], values)
		}
		return s.eval(n.args[1], values)
	}
	args := make([]decimal.Decimal, len(n.args))
	for i, a := range n.args {
		args[i] = s.eval(a, values)
	}
	if s.err != nil {
		return zero
	}
	if v, ok := s.several(n.text, args); ok {
		return v
	}
	return s.single(n.text, args)
}

// several computes functions of many arguments.
func (s *slate) several(name string, args []decimal.Decimal) (decimal.Decimal, bool) {
	v := args[0]
	var step func(a, b decimal.Decimal) decimal.Decimal
	switch name {
	case "min":
		step = func(a, b decimal.Decimal) decimal.Decimal { return decimal.Min(a, b) }
	case "max":
		step = func(a, b decimal.Decimal) decimal.Decimal { return decimal.Max(a, b) }
	case "sum", "average":
		step = s.add
	case "product":
		step = s.mul
	case "and", "or":
		v = truth(!v.IsZero())
		step = func(a, b decimal.Decimal) decimal.Decimal {
			if (name == "or") == a.IsZero() {
				return truth(!b.IsZero())
			}
			return a
		}
	default:
		return zero, false
	}
	for _, a := range args[1:] {
		v = step(v, a)
	}
	if name == "average" {
		v = s.div(v, decimal.NewFromInt(int64(len(args))))
	}
	return v, true
}

func (s *slate) single(name string, args []decimal.Decimal) decimal.Decimal {
	a := args[0]
	switch name {
	case "abs":
		return a.Abs()
	case "floor":
		return a.Floor()
	case "ceiling":
		return a.Ceil()
	case "round":
		return s.round(args)
	case "mod":
		return s.mod(a, args[1])
	case "sqrt":
		return s.sqrt(a)
	case "exp":
		return s.exp(a)
	case "ln":
		return s.ln(a)
	case "log10":
		return s.log10(a)
	case "power":
		return s.pow(a, args[1])
	}
	return truth(a.IsZero()) // not
}

// round goes half away from zero, as spreadsheets do.
func (s *slate) round(args []decimal.Decimal) decimal.Decimal {
	places := zero
	if len(args) == 2 {
		places = args[1]
	}
	if !places.IsInteger() || places.Abs().Cmp(decimal.NewFromInt(exactDigits)) > 0 {
		return s.fail("calculation/domain", "places are not a whole number of at most %d", exactDigits)
	}
	return s.keep(args[0].Round(int32(places.IntPart())))
}

// mod has the sign of the divisor, as spreadsheets have it.
func (s *slate) mod(a, b decimal.Decimal) decimal.Decimal {
	switch {
	case b.IsZero():
		return s.fail("calculation/domain", "division by zero")
	case magnitude(a)-magnitude(b) > exactDigits:
		return s.fail("calculation/limit", "the quotient has more than %d digits", exactDigits)
	}
	r := a.Mod(b)
	if !r.IsZero() && r.Sign() != b.Sign() {
		r = r.Add(b)
	}
	return s.keep(r)
}

// Aggregate computes sum, average, min or max of numbers, of which there must
// be at least one.
func Aggregate(name string, numbers []decimal.Decimal) (Result, error) {
	s := &slate{}
	if len(numbers) == 0 {
		s.fail("calculation/domain", "there are no numbers")
		return Result{}, s.err
	}
	v, ok := s.several(name, numbers)
	if !ok {
		s.fail("calculation/name", "there is no such aggregate")
	}
	return Result{v, s.rounded}, s.err
}
