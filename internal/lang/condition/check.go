package condition

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
)

// check refuses what CEL would accept: another result than is wanted, what could
// differ from host to host, and a comparison with a word that a field never has.
func check(a *cel.Ast, want Result, scope Scope) *fault.Error {
	wanted := map[Result]*cel.Type{Bool: cel.BoolType, Text: cel.StringType}[want]
	if t := a.OutputType(); !t.IsExactType(wanted) && !t.IsExactType(cel.DynType) {
		return fault.New("condition/invalid", "the expression yields %s, not %s", plain(t.String()), wanted)
	}
	var bad *fault.Error
	ast.PreOrderVisit(a.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if why := unsteady(e); why != "" && bad == nil {
			bad = fault.New("condition/invalid", "%s cannot be used in a condition", why)
		}
		if word, words := scope.neverHas(e); words != nil && bad == nil {
			at := a.NativeRep().SourceInfo().GetStartLocation(e.ID())
			bad = fault.New("condition/invalid", "the field is never %q at %s", word, column(at)).Want("%s", cmp.Or(suggest.Hint(word, words), "one of "+strings.Join(words, ", ")))
		}
	}))
	return bad
}

// neverHas returns a text that an outcome field is compared with and can never
// have, and the words that it chooses from; nil where there is none. A field that
// does not apply is "".
func (s Scope) neverHas(e ast.Expr) (word string, words []string) {
	if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
		return "", nil
	}
	a, b := e.AsCall().Args()[0], e.AsCall().Args()[1]
	switch e.AsCall().FunctionName() {
	case operators.Equals, operators.NotEquals:
		if a.Kind() == ast.LiteralKind {
			a, b = b, a
		}
		return s.notAmong(a, b)
	case operators.In:
		if b.Kind() != ast.ListKind {
			return "", nil
		}
		return s.notAmong(a, b.AsList().Elements()...)
	}
	return "", nil
}

func (s Scope) notAmong(field ast.Expr, texts ...ast.Expr) (word string, words []string) {
	kind := s.typeOf(field)
	for _, t := range texts {
		if t.Kind() != ast.LiteralKind || Choices(kind) == nil {
			continue
		}
		if text, ok := t.AsLiteral().Value().(string); ok && !Allows(kind, text) {
			return text, Choices(kind)
		}
	}
	return "", nil
}

// typeOf returns the declared type of an outcome field that e reads, or "".
func (s Scope) typeOf(e ast.Expr) string {
	if e.Kind() != ast.SelectKind {
		return ""
	}
	of, name := e.AsSelect().Operand(), e.AsSelect().FieldName()
	switch {
	case s.Nodes == nil && isOutcome(of):
		return s.Outcome[name]
	case s.Nodes != nil && of.Kind() == ast.SelectKind && isOutcome(of.AsSelect().Operand()):
		return s.Nodes[of.AsSelect().FieldName()][name]
	}
	return ""
}

func isOutcome(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "outcome" }

// unsteady names a construct whose value depends on the host: maps that are
// walked in no order, and times that depend on the zones it knows.
func unsteady(e ast.Expr) string {
	switch e.Kind() {
	case ast.MapKind:
		return "a map literal"
	case ast.StructKind:
		return "a message literal"
	case ast.CallKind:
		if f := e.AsCall().FunctionName(); f == "timestamp" || f == "duration" {
			return f + "()"
		}
	}
	return ""
}

// complaints makes CEL's problems ours.
func complaints(expr string, found []*common.Error, scope Scope) []*fault.Error {
	errs := make([]*fault.Error, len(found))
	for i, e := range found {
		errs[i] = fault.New("condition/invalid", "%s at %s", plain(e.Message), column(e.Location)).
			Got(expr).Want("%s", hint(expr, e.Message, scope))
	}
	return errs
}

var (
	noise    = regexp.MustCompile(` \(in container ''\)| \(did you mean [^)]*\)| expecting \{.*\}`)
	overload = regexp.MustCompile(`found no matching overload for '_*(.+?)_*' applied to '(.*)'`)
)

// plain says in plain words what CEL says in its own.
func plain(message string) string {
	s := overload.ReplaceAllString(noise.ReplaceAllString(message, ""), "there is no $1 for $2")
	s = strings.ReplaceAll(s, "object ", "")
	return lower(strings.ReplaceAll(s, "'<EOF>'", "the end"))
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func column(l common.Location) string {
	if l.Line() <= 1 {
		return fmt.Sprintf("column %d", max(1, l.Column()+1))
	}
	return fmt.Sprintf("line %d, column %d", l.Line(), l.Column()+1)
}

var unknownName = regexp.MustCompile(`^(undeclared reference to|undefined field) '([^']*)'`)

// hint says which name was meant by an unknown one.
func hint(expr, text string, scope Scope) string {
	m := unknownName.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	word := m[2]
	switch near := suggest.Hint(word, scope.names()); {
	case m[1] == "undefined field":
		return scope.fieldHint(pathTo(word, expr))
	case word == "outcome":
		return "there is no outcome here"
	case near != "":
		return near
	}
	return scope.outcomeHint(word) + fmt.Sprintf("text is written in quotes: %q", word)
}

// withDash is a node's id that is written in backticks.
var withDash = regexp.MustCompile(`\.([a-z0-9_]*-[a-z0-9_-]*)\.`)

// outcomeHint says how a word is read that an outcome may have as a field; nothing where
// there is no outcome.
func (s Scope) outcomeHint(word string) string {
	for _, name := range s.names() {
		if strings.HasPrefix(name, "outcome.") && strings.HasSuffix(name, "."+word) {
			return fmt.Sprintf("a field of an outcome is read as %s; ", withDash.ReplaceAllString(name, ".`$1`."))
		}
	}
	if s.Nodes == nil {
		return ""
	}
	return fmt.Sprintf("what a node has said is read as outcome.NODE.%s, where its outcome declares %s; ", word, word)
}

// pathTo returns a field together with what stands before its point.
func pathTo(field, expr string) string {
	at := regexp.MustCompile("[a-z_][a-zA-Z0-9_.`-]*\\.`?" + regexp.QuoteMeta(field)).FindString(expr)
	return strings.ReplaceAll(at, "`", "")
}

func (s Scope) fieldHint(path string) string {
	before := path[:strings.LastIndexByte(path, '.')+1]
	known := slices.DeleteFunc(s.names(), func(n string) bool { return !strings.HasPrefix(n, before) || !strings.Contains(n, ".") })
	switch near := suggest.Hint(path, known); {
	case near != "":
		return near
	case len(known) > 0:
		return "known are " + strings.Join(known, ", ")
	}
	return "no outcome fields are declared"
}

// names lists what an expression in the scope can read, sorted.
func (s Scope) names() []string {
	var names []string
	for _, t := range s.objects() {
		if t.path != "outcome" || s.hasOutcome() {
			names = append(names, t.path)
		}
		for _, f := range t.fields {
			names = append(names, t.path+"."+f.name)
		}
	}
	names = append(names, "context")
	slices.Sort(names)
	return slices.Compact(names)
}
