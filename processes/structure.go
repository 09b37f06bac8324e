package processes

import (
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	start    = loomv1.NodeType_NODE_TYPE_START
	end      = loomv1.NodeType_NODE_TYPE_END
	task     = loomv1.NodeType_NODE_TYPE_TASK
	approval = loomv1.NodeType_NODE_TYPE_APPROVAL
	untyped  = loomv1.NodeType_NODE_TYPE_UNSPECIFIED

	failure = loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE
)

// structure checks what only the whole graph shows. Where a part of it is not
// known, only what is wrong for certain is said.
func (v *validator) structure() {
	v.cycles()
	if !v.types {
		return
	}
	starts, ends := v.ofType(start), v.ofType(end)
	if len(starts) == 0 {
		v.wholly("workflow/start", "there is no start node")
	}
	for _, i := range starts[min(1, len(starts)):] {
		v.refuse("workflow/start", at("nodes", i, "id"), "node %q is a second start node; the first is %q",
			v.def.Nodes[i].Id, v.def.Nodes[starts[0]].Id)
	}
	if len(ends) == 0 {
		v.wholly("workflow/end", "there is no end node")
	}
	if v.ids && v.links {
		v.reachability(starts, ends)
	}
}

// dangles says whether an edge leads from or to a node that is not there: who
// knows what it was meant to join.
func (v *validator) dangles() bool {
	return slices.ContainsFunc(v.def.Edges, func(e *loomv1.EdgeDefinition) bool {
		_, from := v.graph.index[e.From]
		_, to := v.graph.index[e.To]
		return !from || !to
	})
}

// wholly reports a problem of all nodes together, whatever single ones are
// broken.
func (v *validator) wholly(code, text string) {
	v.found = append(v.found, problem{err: fault.New(code, "%s", text), path: at("nodes"), atKey: true})
}

func (v *validator) ofType(t loomv1.NodeType) []int {
	var found []int
	for i, n := range v.def.Nodes {
		if n.Type == t {
			found = append(found, i)
		}
	}
	return found
}

func (v *validator) cycles() {
	for _, cycle := range v.graph.cycles() {
		var names []string
		for _, i := range append(cycle, cycle[0]) {
			names = append(names, v.def.Nodes[i].Id)
		}
		last, first := names[len(names)-2], names[0]
		for i, e := range v.def.Edges {
			if e.From == last && e.To == first {
				v.refuse("workflow/cycle", at("edges", i, "to"), "a cycle: %s", strings.Join(names, " -> ")).
					Want("use on_failure.rework to send work back")
				break
			}
		}
	}
}

// reachability speaks of what lies between start and end, where they exist.
func (v *validator) reachability(starts, ends []int) {
	forth, back, sure := reach(v.graph.out, starts...), reach(v.graph.in, ends...), !v.dangles()
	for i, n := range v.def.Nodes {
		if v.graph.index[n.Id] != i {
			continue // a duplicate, which no edge leads to
		}
		switch {
		case sure && len(starts) > 0 && !forth[i]:
			v.refuse("workflow/reach", at("nodes", i, "id"), "node %q cannot be reached from the start", n.Id)
		case sure && len(ends) > 0 && !back[i] && !n.Detached:
			v.refuse("workflow/reach", at("nodes", i, "id"), "node %q cannot reach an end", n.Id)
		case n.Type != end && len(v.graph.out[i]) > 0 && !v.goesOn(n.Id):
			v.refuse("workflow/reach", at("nodes", i, "id"), "node %q has no edge to follow on success", n.Id)
		}
	}
}

// goesOn says whether a success edge leaves a node to one that is done before the end.
func (v *validator) goesOn(id string) bool {
	for _, e := range v.def.Edges {
		if to, known := v.graph.index[e.To]; e.From == id && e.Outcome != failure && !(known && v.def.Nodes[to].Detached) {
			return true
		}
	}
	return false
}

func (v *validator) edge(i int, e *loomv1.EdgeDefinition) {
	v.edgeID(i, e)
	from, known := v.edgeEnd(i, "from", e.From)
	to, alsoKnown := v.edgeEnd(i, "to", e.To)
	if known && from.Type == end {
		v.refuse("workflow/edge", at("edges", i, "from"), "an edge leaves the end node %q", e.From)
	}
	if alsoKnown && to.Type == start {
		v.refuse("workflow/edge", at("edges", i, "to"), "an edge leads to the start node %q", e.To)
	}
	if e.Outcome < 0 || e.Outcome > failure {
		v.refuse("workflow/edge", at("edges", i, "outcome"), "unknown outcome").Got(e.Outcome.String())
	}
	if known && e.Outcome == failure && from.Type != task && from.Type != untyped {
		v.refuse("workflow/edge", at("edges", i, "outcome"), "node %q is no task, so it cannot fail", e.From)
	}
	if known {
		v.edgeCondition(i, e, from)
	}
}

func (v *validator) edgeID(i int, e *loomv1.EdgeDefinition) {
	if !idPattern.MatchString(e.Id) {
		v.refuse("workflow/invalid", at("edges", i, "id"), "id %s", idForm).Got(e.Id)
	}
	for j, other := range v.def.Edges[:i] {
		if other.Id == e.Id {
			v.refuse("workflow/duplicate", at("edges", i, "id"), "edges[%d] has the id %q already", j, e.Id)
			return
		}
	}
}

// edgeEnd returns the node at an edge's end and whether it is known for sure.
func (v *validator) edgeEnd(i int, key, id string) (*loomv1.NodeDefinition, bool) {
	n, ok := v.graph.index[id]
	if ok {
		return v.def.Nodes[n], true
	}
	if v.ids {
		v.refuse("workflow/edge", at("edges", i, key), "there is no node %q", id).Want("%s", suggest.Among(id, v.nodeIDs()))
	}
	return nil, false
}

func (v *validator) nodeIDs() []string {
	var ids []string
	for _, n := range v.def.Nodes {
		ids = append(ids, n.Id)
	}
	return ids
}
