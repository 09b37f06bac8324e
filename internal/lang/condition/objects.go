package condition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// base is the environment that every scope extends.
var base = must(cel.NewEnv(
	cel.CustomTypeAdapter(adapter{}),
	cel.CrossTypeNumericComparisons(true),
	cel.EnableIdentifierEscapeSyntax(),
	cel.OptionalTypes(),
	cel.ParserRecursionLimit(50),
	cel.RegexProgramSizeLimit(1000),
	cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(2)),
	cel.Variable("bead", celObject("bead")),
	cel.Variable("execution", celObject("execution")),
	cel.Variable("context", cel.MapType(cel.StringType, cel.DynType)),
))

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// objectType is a typed variable, or what is found at a path below one.
type objectType struct {
	path   string
	fields []field
}

// typeName names the type of what is found at a path. It holds a blank so that
// no expression can spell it: CEL would take it for the type itself.
func typeName(path string) string { return "object " + path }

func celObject(path string) *types.Type { return cel.ObjectType(typeName(path)) }

type field struct {
	name string
	typ  *types.Type
	get  func(of any) (any, error)
}

// read makes a field of a getter that cannot fail.
func read[T, V any](name string, t *types.Type, get func(T) V) field {
	return field{name, t, func(of any) (any, error) { return get(of.(T)), nil }}
}

var beadType = objectType{"bead", []field{
	read("id", cel.StringType, (*loomv1.Bead).GetId),
	read("project", cel.StringType, (*loomv1.Bead).GetProject),
	read("type", cel.StringType, func(b *loomv1.Bead) string { return word(b.GetType(), "BEAD_TYPE_", "task") }),
	read("status", cel.StringType, func(b *loomv1.Bead) string { return word(b.GetStatus(), "BEAD_STATUS_", "open") }),
	read("priority", cel.StringType, func(b *loomv1.Bead) string { return word(b.GetPriority(), "PRIORITY_", "normal") }),
	read("goal", cel.StringType, (*loomv1.Bead).GetGoal),
	read("description", cel.StringType, (*loomv1.Bead).GetDescription),
	read("labels", cel.ListType(cel.StringType), (*loomv1.Bead).GetLabels),
	read("stakeholders", cel.ListType(cel.StringType), (*loomv1.Bead).GetStakeholders),
	read("process", cel.StringType, (*loomv1.Bead).GetProcess),
	read("about", cel.StringType, (*loomv1.Bead).GetAbout),
	read("parent", cel.StringType, (*loomv1.Bead).GetParent),
	read("assignee", cel.StringType, (*loomv1.Bead).GetAssignee),
	read("occurrences", cel.IntType, func(b *loomv1.Bead) int64 { return int64(b.GetOccurrences()) }),
}}

var executionType = objectType{"execution", []field{
	read("id", cel.StringType, (*loomv1.Execution).GetId),
	read("definition", cel.StringType, (*loomv1.Execution).GetDefinition),
	read("version", cel.StringType, (*loomv1.Execution).GetVersion),
	read("dispatches", cel.IntType, func(e *loomv1.Execution) int64 { return int64(e.GetDispatches()) }),
	read("transitions", cel.IntType, func(e *loomv1.Execution) int64 { return int64(e.GetTransitions()) }),
	read("visits", cel.MapType(cel.StringType, cel.IntType), visits),
}}

// word spells an enum value as a lower-case word; the zero value as unset.
func word(e fmt.Stringer, prefix, unset string) string {
	w := strings.ToLower(strings.TrimPrefix(e.String(), prefix))
	if w == "unspecified" {
		return unset
	}
	return w
}

func visits(e *loomv1.Execution) ref.Val {
	counts := make(map[string]int64, len(e.GetNodes()))
	for id, n := range e.GetNodes() {
		counts[id] = int64(n.GetVisit())
	}
	return newTable(adapter{}, counts, types.IntZero)
}

func (s Scope) hasOutcome() bool { return s.Outcome != nil || s.Nodes != nil }

// objects lists the types of a scope.
func (s Scope) objects() []objectType {
	all := []objectType{beadType, executionType}
	if s.Nodes == nil {
		return append(all, outcomeType("outcome", s.Outcome))
	}
	byNode := objectType{path: "outcome"}
	for _, id := range slices.Sorted(maps.Keys(s.Nodes)) {
		t := outcomeType("outcome."+id, s.Nodes[id])
		all = append(all, t)
		of := celObject(t.path)
		byNode.fields = append(byNode.fields, read(id, of, func(nodes map[string]*structpb.Struct) ref.Val {
			return object{of, nodes[id]}
		}))
	}
	return append(all, byNode)
}

func outcomeType(path string, declared map[string]string) objectType {
	t := objectType{path: path}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		kind := declared[name]
		t.fields = append(t.fields, field{name, celType(kind), func(of any) (any, error) {
			return outcomeField(of.(*structpb.Struct).GetFields()[name], kind, name)
		}})
	}
	return t
}

func celType(kind string) *types.Type {
	switch kind {
	case "int":
		return cel.IntType
	case "bool":
		return cel.BoolType
	case "double":
		return cel.DoubleType
	case "object":
		return cel.MapType(cel.StringType, cel.DynType)
	}
	return cel.StringType
}

// outcomeField returns a declared field of an outcome; one that is absent or
// null is its type's zero value.
func outcomeField(v *structpb.Value, kind, name string) (any, error) {
	kind = BaseType(kind)
	_, null := v.GetKind().(*structpb.Value_NullValue)
	absent := null || v.GetKind() == nil
	switch k := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		if kind == "string" {
			return k.StringValue, nil
		}
	case *structpb.Value_BoolValue:
		if kind == "bool" {
			return k.BoolValue, nil
		}
	case *structpb.Value_NumberValue:
		if n := int64(k.NumberValue); kind == "int" && float64(n) == k.NumberValue {
			return n, nil
		}
		if kind == "double" {
			return k.NumberValue, nil
		}
	case *structpb.Value_StructValue:
		if kind == "object" {
			return k.StructValue, nil
		}
	}
	if !absent {
		return nil, fmt.Errorf("outcome field %q is no %s", name, kind)
	}
	return map[string]any{"string": "", "int": int64(0), "bool": false, "double": 0.0, "object": &structpb.Struct{}}[kind], nil
}
