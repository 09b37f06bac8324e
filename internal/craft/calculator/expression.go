package calculator

import (
	"fmt"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// Limits of expressions.
const (
	MaxText  = 4096 // bytes
	maxDepth = 64   // levels of nesting
	maxNodes = 1000 // numbers, names and operations
)

// Expression is a parsed expression. It does not change.
type Expression struct {
	root  *node
	names []string
}

// Result is the value of an expression.
type Result struct {
	Value decimal.Decimal
	// Rounded says that Value is not exact.
	Rounded bool
}

// node is a number, a name, an operation or a call.
type node struct {
	kind  kind
	at    int    // character it begins at, from 1
	text  string // operator, name or function
	value decimal.Decimal
	args  []*node
}

type kind int

const (
	number kind = iota
	name
	operation // one argument or two
	call
)

// Names returns the names that have no value in the expression itself, sorted.
func (e *Expression) Names() []string { return slices.Clone(e.names) }

// Evaluate computes the expression with the values of its names. It returns
// calculation/name for a name without one, calculation/domain for what has no
// value (a division by zero), and calculation/limit for what is too large;
// each says at which character.
func (e *Expression) Evaluate(values map[string]decimal.Decimal) (Result, error) {
	s := &slate{}
	v := s.eval(e.root, values)
	if s.err != nil {
		return Result{}, s.err
	}
	return Result{v, s.rounded}, nil
}

func (s *slate) eval(n *node, values map[string]decimal.Decimal) decimal.Decimal {
	if s.err != nil {
		return zero
	}
	var v decimal.Decimal
	switch n.kind {
	case number:
		return n.value
	case name:
		return s.lookup(n, values)
	case call:
		v = s.function(n, values)
	default:
		v = s.operate(n, values)
	}
	if e, ok := s.err.(*fault.Error); ok && e.Where == "" { //nolint:errorlint // it was made here
		e.At(place(n.at))
	}
	return v
}

func place(at int) string { return fmt.Sprintf("character %d", at) }

func (s *slate) lookup(n *node, values map[string]decimal.Decimal) decimal.Decimal {
	v, ok := values[n.text]
	if !ok {
		e := fault.New("calculation/name", "nothing has this name").At(place(n.at)).Got(n.text)
		e.Hint = suggest.Hint(n.text, slices.Sorted(maps.Keys(values)))
		s.err = e
	}
	return v
}

func (s *slate) operate(n *node, values map[string]decimal.Decimal) decimal.Decimal {
	a := s.eval(n.args[0], values)
	if len(n.args) == 1 {
		switch n.text {
		case "-":
			return a.Neg()
		case "%":
			return a.Shift(-2)
		}
		return a
	}
	b := s.eval(n.args[1], values)
	if s.err != nil {
		return zero
	}
	switch n.text {
	case "+":
		return s.add(a, b)
	case "-":
		return s.sub(a, b)
	case "*":
		return s.mul(a, b)
	case "/":
		return s.div(a, b)
	case "^":
		return s.pow(a, b)
	}
	return truth(compare(n.text, a.Cmp(b)))
}

func compare(operator string, order int) bool {
	switch operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "=":
		return order == 0
	}
	return order != 0 // !=
}

func truth(b bool) decimal.Decimal {
	if b {
		return one
	}
	return zero
}

// Compute parses and evaluates.
func Compute(text string, values map[string]decimal.Decimal) (Result, error) {
	e, err := Parse(text)
	if err != nil {
		return Result{}, err
	}
	return e.Evaluate(values)
}
