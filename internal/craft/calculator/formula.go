package calculator

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Formula is a named computation.
type Formula struct {
	Name string
	// Summary says in a line what it gives.
	Summary    string
	Parameters []Parameter
	run        func(*slate, inputs) Answer
}

// Parameter is an input of a formula.
type Parameter struct {
	Name     string
	Kind     Kind
	Optional bool
	Summary  string
}

// Kind is what a parameter takes.
type Kind string

// The kinds. Rates are fractions: 0.08 is 8 %.
const (
	Amount Kind = "number"
	Whole  Kind = "whole number"
	List   Kind = "list of numbers"
	Dated  Kind = "list of {date, amount}"
)

// Answer is what a formula gives.
type Answer struct {
	Values []Named
	// Columns and Rows are a schedule, if the formula has one.
	Columns []string
	Rows    [][]decimal.Decimal
	// Notes are what a reader should know about the values.
	Notes []string
}

// Named is one value of an answer.
type Named struct {
	Name  string
	Value decimal.Decimal
	// Rounded says that Value is not exact.
	Rounded bool
	// Rate says that Value is a fraction that people read as per cent.
	Rate bool
}

// Limits of formulas.
const (
	maxFlows   = 1000
	maxPeriods = 1200
)

// Formulas returns all formulas, by name.
func Formulas() []Formula { return slices.Clone(catalogue) }

var catalogue = sorted(slices.Concat(returns, values, loans, ratios))

func sorted(list []Formula) []Formula {
	slices.SortFunc(list, func(a, b Formula) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Find returns a formula by name, or calculation/name.
func Find(name string) (Formula, error) {
	var names []string
	for _, f := range catalogue {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Formula{}, fault.New("calculation/name", "there is no such formula").At("formula").Got(name).Want("%s", suggest.Among(name, names))
}

// Run computes the formula with inputs by parameter: JSON numbers, or strings
// that hold one; lists of them; or lists of {"date": "2026-11-21", "amount":
// 1}. It returns calculation/input with all inputs that are missing, unknown
// or unfit, calculation/domain where there is no answer, and calculation/limit.
func (f Formula) Run(given map[string]json.RawMessage) (Answer, error) {
	in, err := f.read(given)
	if err != nil {
		return Answer{}, err
	}
	s := &slate{}
	a := f.run(s, in)
	if s.err != nil {
		return Answer{}, s.err
	}
	return a, nil
}

func (f Formula) find(name string) (Parameter, bool) {
	i := slices.IndexFunc(f.Parameters, func(p Parameter) bool { return p.Name == name })
	if i < 0 {
		return Parameter{}, false
	}
	return f.Parameters[i], true
}

// inputs are the values of parameters, read.
type inputs struct {
	numbers map[string]decimal.Decimal
	lists   map[string][]decimal.Decimal
	dated   map[string][]flow
}

func (in inputs) has(name string) bool {
	_, ok := in.numbers[name]
	return ok
}

// number is that of a parameter, zero when it is not given.
func (in inputs) number(name string) decimal.Decimal { return in.numbers[name] }

func (in inputs) or(name string, otherwise decimal.Decimal) decimal.Decimal {
	if v, ok := in.numbers[name]; ok {
		return v
	}
	return otherwise
}

// count is a whole number of a parameter between 1 and most.
func (in inputs) count(s *slate, name string, otherwise, most int64) int64 {
	n := in.or(name, decimal.NewFromInt(otherwise))
	if n.Cmp(one) < 0 || n.Cmp(decimal.NewFromInt(most)) > 0 {
		s.fail("calculation/limit", "%s is not from 1 to %d", name, most)
		return 1
	}
	return n.IntPart()
}

// named gives a value its name, with what the slate knows of it.
func (s *slate) named(name string, v decimal.Decimal) Named {
	return Named{Name: name, Value: v, Rounded: s.rounded}
}

func (s *slate) rate(name string, v decimal.Decimal) Named {
	return Named{Name: name, Value: v, Rounded: s.rounded, Rate: true}
}

// only is an answer of one value.
func only(v Named) Answer { return Answer{Values: []Named{v}} }
