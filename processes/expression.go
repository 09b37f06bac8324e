package processes

import (
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// compiles reports what is wrong with an expression.
func (v *validator) compiles(expr string, scope condition.Scope, want condition.Result, path []any) {
	_, err := condition.Compile(expr, scope, want)
	if err == nil {
		return
	}
	first := fault.From(err)
	for _, e := range append([]*fault.Error{first}, first.More...) {
		bad := v.refuse("workflow/condition", path, "%s", e.Message)
		bad.Value, bad.Hint = e.Value, e.Hint
	}
}

func (v *validator) edgeCondition(i int, e *loomv1.EdgeDefinition, from *loomv1.NodeDefinition) {
	if e.Condition == "" || from.Type == untyped {
		return
	}
	if scope, known := v.scope(v.graph.index[e.From]); known {
		v.compiles(e.Condition, scope, condition.Bool, at("edges", i, "condition"))
	}
}

// scope returns what an expression at a node can read, a task's own outcome or
// else the outcomes of the tasks before it, and whether that is known.
func (v *validator) scope(node int) (condition.Scope, bool) {
	n := v.def.Nodes[node]
	if n.Type != task {
		return v.earlier(node)
	}
	own := condition.Scope{Outcome: n.Outcome}
	if n.Outcome == nil {
		own.Outcome = map[string]string{}
	}
	return own, !v.broken("nodes", node, "outcome")
}

// earlier returns the outcomes of the tasks before a node, and whether they
// are known.
func (v *validator) earlier(node int) (condition.Scope, bool) {
	fields := map[string]map[string]string{}
	for i, before := range v.graph.ancestors(node) {
		n := v.def.Nodes[i]
		if before && v.broken("nodes", i, "outcome") {
			return condition.Scope{}, false
		}
		if before && n.Type == task {
			fields[n.Id] = n.Outcome
		}
	}
	return condition.Scope{Nodes: fields}, v.ids && v.types && v.links
}

// roleFrom checks the expression that chooses a role.
func (v *validator) roleFrom(i int, n *loomv1.NodeDefinition) {
	if scope, known := v.earlier(i); known {
		v.compiles(n.RoleFrom, scope, condition.Text, at("nodes", i, "role_from"))
	}
}

func (v *validator) onFailure(i int, n *loomv1.NodeDefinition) {
	p := n.OnFailure
	if p == nil {
		return
	}
	if p.Max < 1 || p.Max > maxReworks {
		v.refuse("workflow/rework", at("nodes", i, "on_failure", "max"), "on_failure.max is %d, not within 1 and %d", p.Max, maxReworks)
	}
	if len(p.Rework) < 1 || len(p.Rework) > maxRework {
		v.refuse("workflow/rework", at("nodes", i, "on_failure", "rework"), "%d rework entries, not within 1 and %d", len(p.Rework), maxRework)
	}
	for j, r := range p.Rework {
		path := at("nodes", i, "on_failure", "rework", j)
		if j > 0 && p.Rework[j-1].When == "" {
			v.refuse("workflow/rework", path, "this entry is never looked at, because the one before has no when")
		}
		v.sentBackTo(i, r.To, "workflow/rework", append(path[:len(path):len(path)], "to"))
		if scope, known := v.scope(i); known && r.When != "" {
			v.compiles(r.When, scope, condition.Bool, append(path[:len(path):len(path)], "when"))
		}
	}
}

func (v *validator) badField(name string, path []any) {
	err := fault.New("workflow/invalid", "outcome field is not 1 to 32 of a-z, 0-9 and _, beginning with a letter, or is a reserved word").Got(name)
	v.found = append(v.found, problem{err: err, path: path, atKey: true})
}
