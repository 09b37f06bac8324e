package processes

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// What a task node gets where its author says nothing.
const (
	defaultAttempts = 3
	defaultTimeout  = 30 * time.Minute
)

// Complete returns a copy of def with the defaults of task nodes filled in
// (3 attempts, 1 where the node has on_failure; a timeout of 30 minutes),
// edges without an outcome made success edges, and role aliases resolved.
// Doing it again changes nothing. It expects a definition that [Validate] has
// nothing against, and leaves what it does not understand as it is.
func Complete(def *loomv1.Definition, rs *roles.Set) *loomv1.Definition {
	def = proto.CloneOf(def)
	for _, n := range def.Nodes {
		n.Role = canonical(n.Role, rs)
		for i, r := range n.RolesAny {
			n.RolesAny[i] = canonical(r, rs)
		}
		if n.Type == loomv1.NodeType_NODE_TYPE_TASK {
			completeTask(n)
		}
	}
	for _, e := range def.Edges {
		if e.Outcome == loomv1.EdgeOutcome_EDGE_OUTCOME_UNSPECIFIED {
			e.Outcome = loomv1.EdgeOutcome_EDGE_OUTCOME_SUCCESS
		}
	}
	return def
}

func completeTask(n *loomv1.NodeDefinition) {
	if n.MaxAttempts == 0 {
		n.MaxAttempts = defaultAttempts
		if n.OnFailure != nil {
			n.MaxAttempts = 1
		}
	}
	if n.Timeout == nil {
		n.Timeout = durationpb.New(defaultTimeout)
	}
}

func canonical(name string, rs *roles.Set) string {
	if r, ok := rs.Get(name); ok {
		return r.Name
	}
	return name
}
