// Package workflowtest draws workflow definitions for tests that run them. What
// it draws is valid and, for the same source of chance, always the same.
package workflowtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Random draws a valid definition: a DAG of all node types, with
// conditions that hold, do not hold, read outcomes or have no value, failure
// edges, rework to any ancestor, and now and then the way to main.
func Random(rng *rand.Rand) *loomv1.Definition {
	g := &drawer{rng: rng, d: &loomv1.Definition{Name: "random", Version: "1.0"}}
	g.add("start", loomv1.NodeType_NODE_TYPE_START)
	for i := range 1 + rng.IntN(7) {
		g.node(fmt.Sprintf("n%d", i))
	}
	if rng.IntN(2) == 0 {
		g.wayToMain()
	}
	if rng.IntN(3) == 0 {
		g.add("other", loomv1.NodeType_NODE_TYPE_END)
		g.edge(g.earlier(), "other")
	}
	g.add("end", loomv1.NodeType_NODE_TYPE_END)
	g.edge(g.earlier(), "end")
	for _, n := range g.d.Nodes {
		if n.Type != loomv1.NodeType_NODE_TYPE_END && !g.leaves(n.Id) {
			g.edge(n.Id, "end")
		}
	}
	for _, n := range g.d.Nodes {
		g.policy(n)
	}
	return g.d
}

type drawer struct {
	rng *rand.Rand
	d   *loomv1.Definition
}

func (g *drawer) one(in int) bool { return g.rng.IntN(in) == 0 }

func (g *drawer) add(id string, t loomv1.NodeType) *loomv1.NodeDefinition {
	n := &loomv1.NodeDefinition{Id: id, Type: t}
	g.d.Nodes = append(g.d.Nodes, n)
	return n
}

func (g *drawer) node(id string) {
	types := []loomv1.NodeType{loomv1.NodeType_NODE_TYPE_APPROVAL, loomv1.NodeType_NODE_TYPE_DECISION, loomv1.NodeType_NODE_TYPE_MERGE}
	from := g.earlier()
	n := g.add(id, loomv1.NodeType_NODE_TYPE_TASK)
	if g.one(3) {
		n.Type = types[g.rng.IntN(len(types))]
	} else {
		g.task(n)
	}
	g.edge(from, id)
	for range g.rng.IntN(3) {
		if from := g.earlier(); from != id {
			g.edge(from, id)
		}
	}
}

func (g *drawer) task(n *loomv1.NodeDefinition) {
	n.Role = []string{"researcher", "qa-engineer"}[g.rng.IntN(2)]
	if g.one(4) {
		n.Role, n.RolesAny, n.RoleFrom = "", []string{"researcher", "qa-engineer"}, `context.?who.orValue("nobody")`
	}
	n.MaxAttempts = 1 + g.rng.Uint32N(3)
	n.MultiDispatch = g.one(2)
	n.FailureEdgeAfterAttempts = g.one(3)
	n.Timeout = durationpb.New(time.Duration(1+g.rng.IntN(30)) * time.Minute)
	n.Outcome = map[string]string{"ok": "bool"}
}

func (g *drawer) wayToMain() {
	last := g.earlier()
	if g.one(2) {
		g.add("gate", loomv1.NodeType_NODE_TYPE_APPROVAL)
		g.edge(last, "gate")
		last = "gate"
	}
	for _, duty := range []struct {
		id, role string
		kind     loomv1.NodeKind
	}{
		{"commit", "engineering-manager", loomv1.NodeKind_NODE_KIND_COMMIT},
		{"verify", "qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY},
		{"land", "engineering-manager", loomv1.NodeKind_NODE_KIND_LAND},
	} {
		n := g.add(duty.id, loomv1.NodeType_NODE_TYPE_TASK)
		g.task(n)
		n.Role, n.RolesAny, n.RoleFrom, n.Kind = duty.role, nil, "", duty.kind
		g.d.Edges = append(g.d.Edges, &loomv1.EdgeDefinition{Id: last + "-" + duty.id, From: last, To: duty.id})
		last = duty.id
	}
}

// earlier is the id of any node drawn so far that may have edges out.
func (g *drawer) earlier() string {
	for {
		n := g.d.Nodes[g.rng.IntN(len(g.d.Nodes))]
		if n.Type != loomv1.NodeType_NODE_TYPE_END && !n.Detached {
			return n.Id
		}
	}
}

func (g *drawer) leaves(id string) bool {
	for _, e := range g.d.Edges {
		if e.From == id {
			return true
		}
	}
	return false
}

func (g *drawer) edge(from, to string) {
	e := &loomv1.EdgeDefinition{Id: fmt.Sprintf("e%d", len(g.d.Edges)), From: from, To: to}
	if g.one(6) {
		e.Outcome = loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE
	}
	if g.one(3) {
		e.Condition = g.condition(from)
	}
	g.d.Edges = append(g.d.Edges, e)
}

func (g *drawer) condition(at string) string {
	conditions := []string{"true", "false", "context.missing == 1", "execution.dispatches % 2 == 0"}
	for _, n := range g.d.Nodes {
		if n.Id == at && n.Type == loomv1.NodeType_NODE_TYPE_TASK {
			conditions = append(conditions, "outcome.ok", "!outcome.ok", "outcome.ok", "!outcome.ok")
		}
	}
	return conditions[g.rng.IntN(len(conditions))]
}

// policy lets a task send work back to any of its ancestors.
func (g *drawer) policy(n *loomv1.NodeDefinition) {
	if n.Type != loomv1.NodeType_NODE_TYPE_TASK || g.one(2) {
		return
	}
	n.OnFailure = &loomv1.FailurePolicy{Max: 1 + g.rng.Uint32N(3)}
	ancestors := g.ancestors(n.Id)
	for range 1 + g.rng.IntN(2) {
		rule := &loomv1.ReworkRule{To: ancestors[g.rng.IntN(len(ancestors))]}
		if g.one(2) {
			rule.When = g.condition(n.Id)
		}
		n.OnFailure.Rework = append(n.OnFailure.Rework, rule)
	}
	if g.one(2) {
		n.MaxAttempts = 1
	}
}

// ancestors is never empty, since everything follows the start.
func (g *drawer) ancestors(id string) []string {
	var found []string
	seen := map[string]bool{}
	todo := []string{id}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		for _, e := range g.d.Edges {
			if e.To == at && !seen[e.From] {
				seen[e.From] = true
				found, todo = append(found, e.From), append(todo, e.From)
			}
		}
	}
	return found
}
