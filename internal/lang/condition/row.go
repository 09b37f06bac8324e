package condition

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"github.com/loomrun/loom/internal/base/fault"
)

// rows is the environment of expressions over rows of a table: one variable,
// row, with the cells by column, and the functions math.abs, math.round,
// math.greatest and the like.
var rows = must(cel.NewEnv(
	cel.CrossTypeNumericComparisons(true),
	cel.EnableIdentifierEscapeSyntax(),
	cel.OptionalTypes(),
	cel.ParserRecursionLimit(50),
	cel.RegexProgramSizeLimit(1000),
	cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(1)),
	cel.Variable("row", cel.MapType(cel.StringType, cel.DynType)),
	ext.Math(),
))

// RowProgram is a compiled expression over a row. It may be used by many at
// once.
type RowProgram struct {
	text    string
	program cel.Program
}

// CompileRow checks an expression over the variable row that is to yield true
// or false. It is bounded, and fails, as [Compile] is and does. Numbers of a
// row are doubles: row.a * 2.0, not row.a * 2.
func CompileRow(expr string) (*RowProgram, error) {
	if len(expr) > MaxLength {
		return nil, fault.New("condition/invalid", "the expression has %d bytes, more than %d", len(expr), MaxLength)
	}
	ast, issues := rows.Compile(expr)
	if issues.Err() != nil {
		return nil, fault.Join(complaints(expr, issues.Errors(), Scope{}))
	}
	if err := check(ast, Bool, Scope{}); err != nil {
		return nil, err.Got(expr)
	}
	program, err := rows.Program(ast, cel.CostLimit(costLimit), cel.CostTracking(costs{}), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fault.New("condition/invalid", "%s", err).Got(expr)
	}
	return &RowProgram{expr, program}, nil
}

// Holds evaluates the expression over the cells of a row: each a float64 or a
// string. It fails as [Program.Holds] does.
func (p *RowProgram) Holds(row map[string]any) (bool, error) {
	failed := func(why string) error {
		return fault.New("condition/evaluation", "the expression %s", why).Got(p.text)
	}
	v, _, err := p.program.Eval(map[string]any{"row": row})
	if err != nil {
		return false, failed(reason(err.Error()))
	}
	b, ok := v.(types.Bool)
	if !ok {
		return false, failed("yields no boolean")
	}
	return bool(b), nil
}
