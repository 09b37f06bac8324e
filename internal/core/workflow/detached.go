package workflow

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxDetached is how many detached nodes a definition has at most, beside those that say
// what of a phase is worth remembering.
const MaxDetached = 8

// setAsideReason is what people are told of a detached node that was reached.
const setAsideReason = "it is done after the end"

// setAside has a node done after the end.
func (r Run) setAside(n *node) error {
	return r.emit(n, &loomv1.Event{Fact: &loomv1.Event_NodeSkipped{NodeSkipped: &loomv1.NodeSkipped{Reason: setAsideReason, Detached: true}}})
}

// checkDetached refuses what cannot be done after the end, where nobody waits for it,
// nothing lands, and no outcome of before is there to be read.
func (b *builder) checkDetached() {
	count := 0
	for _, n := range b.c.order {
		if !n.Detached {
			continue
		}
		if !Remembers(n.NodeDefinition) {
			count++
		}
		if count > MaxDetached {
			b.bad("workflow/detached", "nodes."+n.Id, "there are more than %d detached nodes", MaxDetached)
		}
		for _, f := range NotDetached(n.NodeDefinition) {
			b.bad("workflow/detached", "nodes."+n.Id, "node %q is detached, so it has no %s", n.Id, f)
		}
		for _, e := range n.in {
			if e.onFailure() {
				b.bad("workflow/detached", "edges."+e.Id, "edge %q leads to the detached node %q on failure, and what failed is to go on some other way", e.Id, n.Id)
			}
		}
		if len(n.out) > 0 {
			b.bad("workflow/detached", "edges."+n.out[0].Id, "edge %q leaves the detached node %q, which is done after the end", n.out[0].Id, n.Id)
		}
	}
}

// Remembers says whether a node says what of a phase is worth remembering.
func Remembers(n *loomv1.NodeDefinition) bool {
	return n.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_REMEMBER
}

// NotDetached names the fields of a node that keep it from being detached, as the message
// calls them.
func NotDetached(n *loomv1.NodeDefinition) (fields []string) {
	stage := n.Phase.GetDocument()
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"type", n.Type != loomv1.NodeType_NODE_TYPE_TASK},
		{"kind", n.Kind != loomv1.NodeKind_NODE_KIND_UNSPECIFIED},
		{"process", n.Process != ""},
		{"gate", n.Gate != nil},
		{"role_from", n.RoleFrom != ""},
		{"on_failure", n.OnFailure != nil},
		{"failure_edge_after_attempts", n.FailureEdgeAfterAttempts},
		{"criticality", n.Criticality == loomv1.Criticality_CRITICALITY_CRITICAL},
		{"phase.part", n.Phase.GetPart() > loomv1.PhasePart_PHASE_PART_WORK && !Remembers(n)},
		{"phase.deliverables", len(n.Phase.GetDeliverables()) > 0},
		{"phase.document", stage != loomv1.DocumentStage_DOCUMENT_STAGE_UNSPECIFIED && stage != loomv1.DocumentStage_DOCUMENT_STAGE_POSTLOG},
	} {
		if f.set {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// AfterWork is the workflow of the detached nodes that an execution of def has set aside,
// side by side; nil where there are none. None of them is worth a question: one that fails
// for good is a gap.
func AfterWork(def *loomv1.Definition, x *loomv1.Execution) *loomv1.Definition {
	var ends [2]*loomv1.NodeDefinition
	var aside []*loomv1.NodeDefinition
	for _, n := range def.GetNodes() {
		switch {
		case n.Type == loomv1.NodeType_NODE_TYPE_START:
			ends[0] = &loomv1.NodeDefinition{Id: n.Id, Type: n.Type, Description: "The work before it is delivered."}
		case n.Type == loomv1.NodeType_NODE_TYPE_END:
			ends[1] = &loomv1.NodeDefinition{Id: n.Id, Type: n.Type, Description: "What was left for after the end is done."}
		case x.Nodes[n.Id].GetStatus() == detachedStatus:
			n = proto.CloneOf(n)
			n.Detached, n.Criticality = false, loomv1.Criticality_CRITICALITY_OPTIONAL
			aside = append(aside, n)
		}
	}
	if len(aside) == 0 {
		return nil
	}
	part := &loomv1.Definition{
		Name: def.Name, Version: def.Version, Description: def.Description, Metadata: def.Metadata,
		Guide: def.Guide, Toolkit: def.Toolkit, Checkout: def.Checkout,
		Nodes: slices.Concat(ends[:1], aside, ends[1:]),
	}
	for i, n := range aside {
		part.Edges = append(part.Edges,
			&loomv1.EdgeDefinition{Id: fmt.Sprintf("e%d", 2*i+1), From: ends[0].Id, To: n.Id, Outcome: loomv1.EdgeOutcome_EDGE_OUTCOME_SUCCESS},
			&loomv1.EdgeDefinition{Id: fmt.Sprintf("e%d", 2*i+2), From: n.Id, To: ends[1].Id, Outcome: loomv1.EdgeOutcome_EDGE_OUTCOME_SUCCESS})
	}
	return part
}

// Aside returns the detached nodes that an execution has set aside, by name.
func Aside(x *loomv1.Execution) (nodes []string) {
	for id, st := range x.GetNodes() {
		if st.GetStatus() == detachedStatus {
			nodes = append(nodes, id)
		}
	}
	slices.Sort(nodes)
	return nodes
}

// wasted says of work after another's end that none of it came to anything, and why.
func (r Run) wasted() (why string, is bool) {
	if r.X.After == "" || len(r.X.Gaps) == 0 {
		return "", false
	}
	for _, n := range r.Def.order {
		if n.isTask() && r.state(n).GetStatus() == succeeded {
			return "", false
		}
	}
	var reasons []string
	for _, g := range r.X.Gaps {
		reasons = append(reasons, g.Node+": "+g.Reason)
	}
	return strings.Join(reasons, "; "), true
}
