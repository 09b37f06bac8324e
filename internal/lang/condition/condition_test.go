package condition_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func object(t testing.TB, m map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func input(t testing.TB) condition.Input {
	return condition.Input{
		Bead: &loomv1.Bead{Id: "p-1", Type: loomv1.BeadType_BEAD_TYPE_BUG, Labels: []string{"api", "hot"}, Stakeholders: []string{"Ann, finance: pays"}, Goal: "mend it", Occurrences: 3, Assignee: "web-designer"},
		Execution: &loomv1.Execution{Id: "p-1-x1", Dispatches: 4, Nodes: map[string]*loomv1.NodeState{
			"triage": {Visit: 2},
		}},
		Context: object(t, map[string]any{
			"count": 3, "urgent": true, "list": []any{1, 2}, "deep": map[string]any{"b": "x", "a": "y", "c": "z"},
		}),
		Outcome: object(t, map[string]any{"severity": "high", "count": 2, "ratio": 0.5, "ok": true, "drawn": map[string]any{"why": "x", "b": 1, "a": []any{"y"}}}),
	}
}

var scope = condition.Scope{Outcome: map[string]string{
	"severity": "string", "count": "int", "ratio": "double", "ok": "bool", "missing": "string", "zero": "int", "drawn": "object", "void": "object",
}}

func TestWF04_Holds(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want bool
	}{
		{`true`, true},
		{`outcome.severity == "high"`, true},
		{`outcome.severity != "high"`, false},
		{`outcome.count + 1 == 3`, true},
		{`outcome.ratio < outcome.count`, true},
		{`outcome.ok && !(outcome.missing == "x")`, true},
		{`outcome.missing == "" && outcome.zero == 0`, true}, // not given: zero values
		{`bead.type == "bug" && bead.priority == "normal"`, true},
		{`"hot" in bead.labels`, true},
		{`bead.stakeholders.exists(s, s.startsWith("Ann"))`, true},
		{`bead.labels.exists(l, l.startsWith("ap"))`, true},
		{`bead.occurrences > 2.5`, true},
		{`bead.assignee == "web-designer" && bead.parent == ""`, true},
		{`context.count == 3 && context.urgent`, true},
		{`context.urgent`, true}, // dynamic, checked when run
		{`has(context.nothing)`, false},
		{`context.?nothing.orValue("-") == "-"`, true},
		{`context.deep.b == "x" && context.list[1] == 2`, true},
		{`context.deep.map(k, k) == ["a", "b", "c"]`, true}, // sorted
		{`execution.dispatches == 4 && execution.visits["triage"] == 2`, true},
		{`execution.visits["never"] == 0`, true},
		{`outcome.drawn.why == "x" && outcome.drawn.a[0] == "y"`, true},
		{`outcome.drawn.map(k, k) == ["a", "b", "why"]`, true}, // sorted
		{`size(outcome.void) == 0 && !has(outcome.drawn.c)`, true},
		{`bead.goal.matches("^mend")`, true},
	} {
		p, err := condition.Compile(tt.expr, scope, condition.Bool)
		if err != nil {
			t.Errorf("Compile(%s): %v", tt.expr, err)
			continue
		}
		if got, err := p.Holds(input(t)); err != nil || got != tt.want {
			t.Errorf("Holds(%s) = %t, %v, want %t", tt.expr, got, err, tt.want)
		}
	}
}

func BenchmarkHolds(b *testing.B) {
	p, err := condition.Compile(`outcome.severity != "none" && bead.type == "bug" && context.count > 2`, scope, condition.Bool)
	if err != nil {
		b.Fatal(err)
	}
	in := input(b)
	for b.Loop() {
		if ok, err := p.Holds(in); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := condition.Compile(`outcome.severity != "none"`, scope, condition.Bool); err != nil {
			b.Fatal(err)
		}
	}
}
