package workflowtest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Rich draws a valid definition as [Random] does and adds what fewer have: gates
// of all actions, nodes that the work goes on without, nodes whose failure halts
// all others, backoffs, and tasks that one of the given processes does.
func Rich(rng *rand.Rand, processes ...string) *loomv1.Definition {
	g := &drawer{rng: rng, d: Random(rng)}
	g.d.Name = "rich"
	for _, n := range g.d.Nodes {
		if n.Type == loomv1.NodeType_NODE_TYPE_TASK {
			g.nature(n, processes)
		}
	}
	for _, n := range g.d.Nodes {
		if n.Type != loomv1.NodeType_NODE_TYPE_START && n.Type != loomv1.NodeType_NODE_TYPE_END && g.one(3) {
			g.gate(n)
		}
	}
	for i := range g.rng.IntN(3) {
		g.detached(fmt.Sprintf("later%d", i))
	}
	return g.d
}

// detached adds a task that is done after the end.
func (g *drawer) detached(id string) {
	from := g.earlier()
	n := g.add(id, loomv1.NodeType_NODE_TYPE_TASK)
	n.Role, n.MaxAttempts, n.Detached = []string{"researcher", "qa-engineer"}[g.rng.IntN(2)], 1+g.rng.Uint32N(3), true
	n.Timeout = durationpb.New(time.Duration(1+g.rng.IntN(30)) * time.Minute)
	n.Outcome = map[string]string{"ok": "bool"}
	e := &loomv1.EdgeDefinition{Id: fmt.Sprintf("e%d", len(g.d.Edges)), From: from, To: id}
	if g.one(2) {
		e.Condition = []string{"execution.dispatches % 2 == 0", "false", "context.missing == 1"}[g.rng.IntN(3)]
	}
	g.d.Edges = append(g.d.Edges, e)
}

// nature says how much a task matters, and who does it.
func (g *drawer) nature(n *loomv1.NodeDefinition, processes []string) {
	ordinary := n.Kind == loomv1.NodeKind_NODE_KIND_UNSPECIFIED
	switch {
	case g.one(4):
		n.Criticality = loomv1.Criticality_CRITICALITY_CRITICAL
	case g.one(3) && ordinary:
		n.Criticality = loomv1.Criticality_CRITICALITY_OPTIONAL
	}
	if g.one(4) {
		n.Backoff = &loomv1.Backoff{Initial: durationpb.New(time.Duration(1+g.rng.IntN(20)) * time.Second)}
	}
	if ordinary && len(processes) > 0 && g.one(4) && !g.read(n.Id) {
		n.Process = processes[g.rng.IntN(len(processes))]
		n.Role, n.RolesAny, n.RoleFrom, n.MultiDispatch, n.Outcome, n.Timeout = "", nil, "", false, nil, nil
	}
}

// read says whether a condition reads the outcome of a node.
func (g *drawer) read(id string) bool {
	for _, e := range g.d.Edges {
		if e.From == id && (e.Condition == "outcome.ok" || e.Condition == "!outcome.ok") {
			return true
		}
	}
	for _, n := range g.d.Nodes {
		for _, rule := range n.OnFailure.GetRework() {
			if n.Id == id && rule.When != "" {
				return true
			}
		}
	}
	return false
}

func (g *drawer) gate(n *loomv1.NodeDefinition) {
	conditions := []string{"false", "execution.dispatches % 2 == 0", "execution.dispatches > 3", "context.missing == 1", "true"}
	n.Gate = &loomv1.Gate{Condition: conditions[g.rng.IntN(len(conditions))]}
	switch g.rng.IntN(6) {
	case 0, 1:
		n.Gate.OnFailure = loomv1.GateAction_GATE_ACTION_BLOCK
	case 2, 3:
		n.Gate.OnFailure = loomv1.GateAction_GATE_ACTION_REPLAN
		ancestors := g.ancestors(n.Id)
		n.Gate.To, n.Gate.Max = ancestors[g.rng.IntN(len(ancestors))], 1+g.rng.Uint32N(2)
	case 4:
		n.Gate.OnFailure = loomv1.GateAction_GATE_ACTION_FAIL
	case 5:
		if n.Kind == loomv1.NodeKind_NODE_KIND_UNSPECIFIED {
			n.Gate.OnFailure = loomv1.GateAction_GATE_ACTION_SKIP
		}
	}
}
