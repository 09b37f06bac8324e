// Package condition is the expression language of workflows: CEL over the bead,
// its context, outcomes and the execution. Expressions are compiled and
// type-checked when a definition is validated, and evaluated by the engine.
//
// It is pure: the same expression over the same input gives the same answer on
// every host. So it knows no time, walks maps in the order of their keys, and
// bounds what an evaluation may cost instead of how long it may take.
//
// The variables are
//
//	bead       id, project, type, status, priority, goal, description, labels,
//	           process, about, parent, assignee, occurrences
//	context    the bead's context: any JSON; a missing key is an error, so ask
//	           has(context.key) first, or write context.?key.orValue("")
//	execution  id, definition, version, dispatches, transitions, visits (by node)
//	outcome    the declared outcome fields of a node; one that the node did not
//	           give is "", 0 or false. Where [Scope.Nodes] is set it holds the
//	           outcomes of several nodes, as in outcome.triage.severity; an id
//	           with a "-" is written in backticks: outcome.`qa-check`.fault
//
// Types, statuses and priorities are lower-case words: bead.type == "bug".
package condition

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxLength is how many bytes an expression may have.
const MaxLength = 1024

// costLimit bounds an evaluation, in CEL's own units: about one for a step or
// for ten bytes of text looked at.
const costLimit = 100_000

// Result is what an expression must yield.
type Result int

// The results that can be wanted.
const (
	Bool Result = iota
	Text
)

// Scope says which outcomes an expression may read. Fields map to a type, see
// [IsFieldType]. With neither field set there is no outcome.
type Scope struct {
	// Outcome holds the fields of the node that the expression stands at.
	Outcome map[string]string
	// Nodes holds fields by node id, and then outcome is by node id too.
	Nodes map[string]map[string]string
}

// Input is what an expression is evaluated over; it is only read. What is nil
// counts as empty.
type Input struct {
	Bead      *loomv1.Bead
	Execution *loomv1.Execution
	Context   *structpb.Struct
	Outcome   *structpb.Struct
	Nodes     map[string]*structpb.Struct
}

// Program is a compiled expression. It may be used by many at once.
type Program struct {
	text    string
	program cel.Program
}

// Compile checks an expression against a scope and the result that is wanted.
// An error has the code condition/invalid, says in which column of the
// expression, and holds all problems that were found.
func Compile(expr string, scope Scope, want Result) (*Program, error) {
	if len(expr) > MaxLength {
		return nil, fault.New("condition/invalid", "the expression has %d bytes, more than %d", len(expr), MaxLength)
	}
	env, err := base.Extend(scope.options()...)
	if err != nil {
		return nil, fault.New("condition/invalid", "%s", err)
	}
	compiled, issues := env.Compile(expr)
	if issues.Err() != nil {
		return nil, fault.Join(complaints(expr, issues.Errors(), scope))
	}
	if err := check(compiled, want, scope); err != nil {
		return nil, err.Got(expr)
	}
	program, err := env.Program(compiled, cel.CostLimit(costLimit), cel.CostTracking(costs{}), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fault.New("condition/invalid", "%s", err).Got(expr)
	}
	if !readsAnything(compiled) { // it has no value anywhere if it has none here
		if _, _, err := program.Eval(map[string]any{}); err != nil {
			return nil, fault.New("condition/invalid", "the expression %s", reason(err.Error())).Got(expr)
		}
	}
	return &Program{expr, program}, nil
}

// readsAnything says whether an expression names a variable.
func readsAnything(a *cel.Ast) (reads bool) {
	ast.PreOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		reads = reads || e.Kind() == ast.IdentKind
	}))
	return reads
}

// String returns the expression as it was written.
func (p *Program) String() string { return p.text }

// Holds evaluates an expression that was compiled for Bool. It fails with
// condition/evaluation where the expression has no value: a context key that
// is missing, a division by zero, a result of another type, or a cost beyond
// the limit.
func (p *Program) Holds(in Input) (bool, error) {
	v, err := p.eval(in)
	if err != nil {
		return false, err
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, p.failed("yields no boolean")
	}
	return bool(b), nil
}

// Text evaluates an expression that was compiled for Text; it fails as
// [Program.Holds] does.
func (p *Program) Text(in Input) (string, error) {
	v, err := p.eval(in)
	if err != nil {
		return "", err
	}
	s, ok := v.(types.String)
	if !ok {
		return "", p.failed("yields no string")
	}
	return string(s), nil
}

func (p *Program) eval(in Input) (any, error) {
	v, _, err := p.program.Eval(&variables{&in, adapter{map[*structpb.Struct]table{}}})
	if err != nil {
		return nil, p.failed(reason(err.Error()))
	}
	return v, nil
}

func (p *Program) failed(why string) error {
	return fault.New("condition/evaluation", "the expression %s", why).Got(p.text)
}

// reason says why an evaluation failed, without CEL's habits.
func reason(text string) string {
	switch {
	case strings.Contains(text, "cost limit"):
		return "costs too much to evaluate"
	case strings.HasPrefix(text, "no such key"):
		return "reads a key that is missing: " + strings.TrimPrefix(text, "no such key: ")
	}
	return "has no value: " + text
}
