package processes

import (
	"github.com/loomrun/loom/internal/condition"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fieldsOf returns the outcome fields that an expression at a node can read:
// nil where the node has no outcome at all.
func fieldsOf(n *loomv1.NodeDefinition) map[string]string {
	if n.Type != task {
		return nil
	}
	if n.Outcome == nil {
		return map[string]string{}
	}
	return n.Outcome
}

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
	source := v.graph.index[e.From]
	if e.Condition != "" && from.Type != untyped && !v.broken("nodes", source, "outcome") {
		v.compiles(e.Condition, condition.Scope{Outcome: fieldsOf(from)}, condition.Bool, at("edges", i, "condition"))
	}
}

// roleFrom checks the expression that chooses a role, by the outcomes of the
// nodes that ended before.
func (v *validator) roleFrom(i int, n *loomv1.NodeDefinition) {
	if !v.ids || !v.links {
		return
	}
	fields := map[string]map[string]string{}
	for j, before := range v.graph.ancestors(i) {
		other := v.def.Nodes[j]
		if before && v.broken("nodes", j, "outcome") {
			return
		}
		if before && len(other.Outcome) > 0 {
			fields[other.Id] = other.Outcome
		}
	}
	v.compiles(n.RoleFrom, condition.Scope{Nodes: fields}, condition.Text, at("nodes", i, "role_from"))
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
		v.reworkTarget(i, r.To, append(path[:len(path):len(path)], "to"))
		if r.When != "" && !v.broken("nodes", i, "outcome") {
			v.compiles(r.When, condition.Scope{Outcome: fieldsOf(n)}, condition.Bool, append(path[:len(path):len(path)], "when"))
		}
	}
}

func (v *validator) reworkTarget(i int, to string, path []any) {
	target, ok := v.graph.index[to]
	switch {
	case !v.ids:
	case !ok:
		v.refuse("workflow/rework", path, "there is no node %q", to).Want("%s", suggest.Among(to, v.nodeIDs()))
	case v.links && (!v.graph.ancestors(i)[target] || target == i):
		v.refuse("workflow/rework", path, "node %q does not come before node %q", to, v.def.Nodes[i].Id)
	case v.def.Nodes[target].Type == start:
		v.refuse("workflow/rework", path, "work cannot be sent back to the start node")
	}
}

func (v *validator) badField(name string, path []any) {
	err := fault.New("workflow/invalid", "outcome field is not 1 to 32 of a-z, 0-9 and _, beginning with a letter, or is a reserved word").Got(name)
	v.found = append(v.found, problem{err: err, path: path, atKey: true})
}
