package workflow

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/lang/condition"
)

// input is what conditions at a node read, see [builder.addPrograms].
func (r Run) input(n *node) condition.Input {
	if !n.isTask() {
		return r.earlier(n)
	}
	return condition.Input{
		Bead:      r.Bead,
		Execution: r.X,
		Context:   r.X.Context,
		Outcome:   r.state(n).GetOutcome().GetFields(),
	}
}

// edgeInput is what the conditions of the edges out of a node read.
func (r Run) edgeInput(n *node) condition.Input {
	if !n.reads {
		return condition.Input{}
	}
	return r.input(n)
}

// earlier is what role_from reads: the outcomes of the tasks before a node.
func (r Run) earlier(n *node) condition.Input {
	nodes := map[string]*structpb.Struct{}
	for _, m := range r.Def.order[:n.index] {
		if n.follows(m) && m.isTask() {
			nodes[m.Id] = r.state(m).GetOutcome().GetFields()
		}
	}
	return condition.Input{Bead: r.Bead, Execution: r.X, Context: r.X.Context, Nodes: nodes}
}

func holds(when *condition.Program, in condition.Input) (bool, error) {
	if when == nil {
		return true, nil
	}
	return when.Holds(in)
}

// role returns who is to work on a task. A choice that fails, or falls on a
// role that the node does not list, is the first listed.
func (r Run) role(n *node) string {
	if n.roleFrom == nil {
		return n.Role
	}
	role, err := n.roleFrom.Text(r.earlier(n))
	if err != nil || !slices.Contains(n.RolesAny, role) {
		return n.RolesAny[0]
	}
	return role
}
