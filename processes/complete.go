package processes

import (
	"strings"
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
	defaultInitial  = time.Second
	defaultLimit    = time.Minute
)

// Complete returns a copy of def with the defaults of task nodes filled in
// (3 attempts, 1 where the node has on_failure; a timeout of 30 minutes, none
// where a process does the work, whose own nodes have theirs; a backoff of 1
// second to 1 minute where it gives one of the two), a gate that says no more
// blocking, edges without an outcome made success edges, role aliases resolved,
// and blanks around descriptions and personas cut off.
// Doing it again changes nothing. It expects a definition that [Validate] has
// nothing against, and leaves what it does not understand as it is.
func Complete(def *loomv1.Definition, rs *roles.Set) *loomv1.Definition {
	def = proto.CloneOf(def)
	def.Description = strings.TrimSpace(def.Description)
	completeGuide(def.Guide)
	for _, n := range def.Nodes {
		n.Description, n.Persona = strings.TrimSpace(n.Description), strings.TrimSpace(n.Persona)
		n.Role = canonical(n.Role, rs)
		for i, r := range n.RolesAny {
			n.RolesAny[i] = canonical(r, rs)
		}
		if n.Type == loomv1.NodeType_NODE_TYPE_TASK {
			completeTask(n)
		}
		completePhase(n.Phase)
		if n.Gate != nil && n.Gate.OnFailure == loomv1.GateAction_GATE_ACTION_UNSPECIFIED {
			n.Gate.OnFailure = loomv1.GateAction_GATE_ACTION_BLOCK
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
	if n.Timeout == nil && n.Process == "" {
		n.Timeout = durationpb.New(defaultTimeout)
	}
	if n.Backoff != nil {
		initial, limit := waits(n.Backoff)
		n.Backoff.Initial, n.Backoff.Limit = durationpb.New(initial), durationpb.New(limit)
	}
}

// waits returns a backoff's parts, with their defaults.
func waits(b *loomv1.Backoff) (initial, limit time.Duration) {
	initial, limit = defaultInitial, defaultLimit
	if b.GetInitial() != nil {
		initial = b.Initial.AsDuration()
	}
	if b.GetLimit() != nil {
		limit = b.Limit.AsDuration()
	}
	return initial, limit
}

func canonical(name string, rs *roles.Set) string {
	if r, ok := rs.Get(name); ok {
		return r.Name
	}
	return name
}
