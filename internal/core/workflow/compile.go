package workflow

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a node that says nothing gets.
const (
	DefaultAttempts = 3
	DefaultTimeout  = 30 * time.Minute
)

// Roles that the runtime's own duties are reserved for.
const (
	committer = "engineering-manager"
	verifier  = "qa-engineer"
)

// Compiled is a definition that is ready to run: indexed, in topological
// order, its conditions compiled. It never changes and may be shared.
type Compiled struct {
	def   *loomv1.Definition
	nodes map[string]*node
	order []*node // topological; ties as in the definition
}

// node is a vertex with what is known of it before anything runs.
type node struct {
	*loomv1.NodeDefinition
	index     int      // place in Compiled.order
	fields    []string // declared outcome fields, sorted
	reads     bool     // whether any edge out of it has a condition
	in, out   []*edge
	ancestors []bool // by index; without the node itself
	roleFrom  *condition.Program
	rework    []rule
	approver  *node              // approval that covers this node's change, if any
	approvals bool               // whether any ancestor is an approval
	pass      *condition.Program // what its gate wants; nil without a gate
	replan    *node              // where its gate sends work back to, if it does
}

type edge struct {
	*loomv1.EdgeDefinition
	from, to *node
	when     *condition.Program // nil always holds
}

type rule struct {
	to   *node
	when *condition.Program // nil always holds
}

// Compile prepares a definition. It keeps a copy. It refuses, with all that is
// wrong, whatever an execution could stumble over; package processes says the
// same with file, line and column.
func Compile(def *loomv1.Definition) (*Compiled, error) {
	if def == nil {
		return nil, fault.New("workflow/invalid", "no definition")
	}
	def = proto.CloneOf(def)
	b := &builder{c: &Compiled{def: def, nodes: make(map[string]*node, len(def.Nodes))}}
	for _, step := range []func(){b.addNodes, b.addEdges, b.sort, b.checkDetached, b.checkShape, b.addRework, b.addGates, b.addPrograms, b.checkDuties} {
		if step(); len(b.errs) > 0 {
			return nil, fault.Join(b.errs)
		}
	}
	return b.c, nil
}

// Definition returns what was compiled; it is not to be changed.
func (c *Compiled) Definition() *loomv1.Definition { return c.def }

// Node returns a node's definition, or nil; it is not to be changed.
func (c *Compiled) Node(id string) *loomv1.NodeDefinition {
	if n := c.nodes[id]; n != nil {
		return n.NodeDefinition
	}
	return nil
}

// limit is how many attempts a visit has before the CEO grants more.
func (n *node) limit() uint32 { return n.MaxAttempts }

// patience is how long an attempt may take; 0 is forever.
func (n *node) patience() time.Duration {
	switch d := n.Timeout.AsDuration(); {
	case d > 0:
		return d
	case n.Process != "":
		return 0 // what it waits for has limits of its own
	}
	return DefaultTimeout
}

// working says whether the node is ordinary work, which rework can go to.
func (n *node) working() bool {
	return n.isTask() && n.Kind == loomv1.NodeKind_NODE_KIND_UNSPECIFIED
}

func (n *node) isTask() bool     { return n.Type == loomv1.NodeType_NODE_TYPE_TASK }
func (n *node) isApproval() bool { return n.Type == loomv1.NodeType_NODE_TYPE_APPROVAL }
func (n *node) isStart() bool    { return n.Type == loomv1.NodeType_NODE_TYPE_START }
func (n *node) isEnd() bool      { return n.Type == loomv1.NodeType_NODE_TYPE_END }

func (n *node) follows(m *node) bool { return n.ancestors[m.index] }

func (e *edge) onFailure() bool { return e.Outcome == loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE }
