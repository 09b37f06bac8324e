package workflow_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF02_CompileRefuses(t *testing.T) {
	const rest = "\ns -> a\na -> e"
	edit := func(f func(*loomv1.Definition)) *loomv1.Definition {
		d := define("s start\na task\ne end" + rest)
		f(d)
		return d
	}
	for _, tt := range []struct {
		name string
		def  *loomv1.Definition
		code string
		text string // part of the message
	}{
		{"nothing", nil, "workflow/invalid", "no definition"},
		{"no nodes", &loomv1.Definition{}, "workflow/start", "0 start nodes"},
		{"an empty node", edit(func(d *loomv1.Definition) { d.Nodes[1] = nil }), "workflow/invalid", "no id"},
		{"two of an id", edit(func(d *loomv1.Definition) { d.Nodes = append(d.Nodes, d.Nodes[1]) }), "workflow/duplicate", `"a"`},
		{"no type", edit(func(d *loomv1.Definition) { d.Nodes[1].Type = 0 }), "workflow/type", `"a"`},
		{"unknown type", edit(func(d *loomv1.Definition) { d.Nodes[1].Type = 99 }), "workflow/type", `"a"`},
		{"no role", edit(func(d *loomv1.Definition) { d.Nodes[1].Role = "" }), "workflow/role", `"a"`},
		{"a choice of no role", edit(func(d *loomv1.Definition) { d.Nodes[1].Role, d.Nodes[1].RoleFrom = "", `"x"` }), "workflow/role", `"a"`},
		{
			"commit by another role", edit(func(d *loomv1.Definition) { d.Nodes[1].Kind = loomv1.NodeKind_NODE_KIND_COMMIT }),
			"definition/role-violation", "engineering-manager only",
		},
		{
			"verify by another role", edit(func(d *loomv1.Definition) { d.Nodes[1].Kind = loomv1.NodeKind_NODE_KIND_VERIFY }),
			"definition/role-violation", "qa-engineer only",
		},
		{"unknown field type", edit(func(d *loomv1.Definition) { d.Nodes[1].Outcome = map[string]string{"x": "date"} }), "workflow/invalid", `"date"`},
		{"an empty edge", edit(func(d *loomv1.Definition) { d.Edges[0] = nil }), "workflow/invalid", "edge has no id"},
		{"two edges of an id", edit(func(d *loomv1.Definition) { d.Edges[1].Id = d.Edges[0].Id }), "workflow/duplicate", `"s-a"`},
		{"an edge to nowhere", edit(func(d *loomv1.Definition) { d.Edges[1].To = "x" }), "workflow/edge", `"x"`},
		{"an edge out of an end", define("s start\na task\ne end\ne -> a" + rest), "workflow/edge", `"e"`},
		{"a cycle", define("s start\na task\nb task\ne end\na -> b\nb -> a" + rest), "workflow/cycle", "cycle"},
		{"two starts", define("s start\nt start\na task\ne end\nt -> a" + rest), "workflow/start", "2 start nodes"},
		{"no end", define("s start\na task\ns -> a"), "workflow/end", "no end"},
		{"unreachable", define("s start\na task\nb task\ne end\nb -> e" + rest), "workflow/reach", `"b"`},
		{"a blind alley", define("s start\na task\nb task\ne end\na -> b" + rest), "workflow/reach", `"b"`},
		{"rework forward", edit(func(d *loomv1.Definition) {
			d.Nodes[1].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "e"}}}
		}), "workflow/rework", `"e"`},
		{"rework to itself", edit(func(d *loomv1.Definition) {
			d.Nodes[1].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{{To: "a"}}}
		}), "workflow/rework", `"a"`},
		{"rework to nowhere", edit(func(d *loomv1.Definition) {
			d.Nodes[1].OnFailure = &loomv1.FailurePolicy{Max: 1, Rework: []*loomv1.ReworkRule{nil}}
		}), "workflow/rework", `""`},
		{"a condition that does not parse", edit(func(d *loomv1.Definition) { d.Edges[1].Condition = "1 +" }), "workflow/condition", "does not compile"},
		{"a condition that is no boolean", edit(func(d *loomv1.Definition) { d.Edges[1].Condition = `"x"` }), "workflow/condition", "does not compile"},
		{"a condition on an undeclared field", edit(func(d *loomv1.Definition) { d.Edges[1].Condition = "outcome.x" }), "workflow/condition", "does not compile"},
		{"verify without a commit", define("s start\nv task kind=verify\ne end\ns -> v\nv -> e"), "workflow/invalid", "no commit comes before it"},
		{
			"land without a verification", define("s start\nc task kind=commit\nl task kind=land\ne end\ns -> c\nc -> l\nl -> e"),
			"workflow/invalid", "do not come before it",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := workflow.Compile(tt.def)
			f := fault.From(err)
			if f == nil || f.Code != tt.code || !strings.Contains(f.Message, tt.text) {
				t.Errorf("Compile: %v, want %s with %q", err, tt.code, tt.text)
			}
		})
	}
}

func TestWF02_CompileTellsAllErrorsOfAStep(t *testing.T) {
	_, err := workflow.Compile(define("s start\na task role=\nb task role=\ne end\ns -> a\na -> b\nb -> e"))
	if f := fault.From(err); f == nil || len(f.More) != 1 || f.Where != "nodes.a" || f.More[0].Where != "nodes.b" {
		t.Errorf("Compile: %+v, want both tasks without a role", err)
	}
}

func TestWF01_DefaultsAndIndependence(t *testing.T) {
	d := define("s start\na task\ne end\ns -> a\na -> e")
	d.Nodes[1].MaxAttempts = 0
	c, err := workflow.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	d.Nodes[1].Role = "changed later"
	if n := c.Node("a"); n.MaxAttempts != workflow.DefaultAttempts || n.Role != "researcher" {
		t.Errorf("node = %v, want %d attempts and the role it was compiled with", n, workflow.DefaultAttempts)
	}
	if c.Node("x") != nil || c.Definition().Name != "drawn" {
		t.Error("Node or Definition answers wrongly")
	}
}
