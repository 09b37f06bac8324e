package workflow_test

import (
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// slow is a scheduler of the rules in the package's comment, written to be seen
// to be right: it looks everything up anew, knows no events, and starts over
// after each thing that it does. Of times it knows nothing: it is told which
// timers fire.
type slow struct {
	def        *loomv1.Definition
	order      []string
	nodes      map[string]*slowNode
	edges      map[string]bool // settled ones: taken or dead
	dispatches int
	gaps       []string
	held       bool
	end        string
}

// slowNode is where a node is in its visit.
type slowNode struct {
	status                                         string // as [world.status] says it
	open                                           string // what is outstanding: attempt, question, escalation, gate
	visit, attempts, extra, ended, reworks, replan uint32
	waived, ok                                     bool   // ok is the outcome's field
	last                                           string // the outcome's status
}

func newSlow(def *loomv1.Definition) *slow {
	s := &slow{def: def, nodes: map[string]*slowNode{}, edges: map[string]bool{}}
	for _, n := range def.Nodes {
		s.nodes[n.Id] = &slowNode{status: "unspecified", visit: 1}
	}
	for len(s.order) < len(def.Nodes) {
		s.order = append(s.order, s.nextInOrder())
	}
	return s
}

// nextInOrder is the first node, all of whose predecessors have their place.
func (s *slow) nextInOrder() string {
	for _, n := range s.def.Nodes {
		placed := func(e *loomv1.EdgeDefinition) bool { return slices.Contains(s.order, e.From) }
		if !slices.Contains(s.order, n.Id) && all(s.into(n.Id), placed) {
			return n.Id
		}
	}
	panic("a cycle")
}

func all[T any](list []T, is func(T) bool) bool {
	return !slices.ContainsFunc(list, func(x T) bool { return !is(x) })
}

func (s *slow) node(id string) *loomv1.NodeDefinition {
	return s.def.Nodes[slices.IndexFunc(s.def.Nodes, func(n *loomv1.NodeDefinition) bool { return n.Id == id })]
}

func (s *slow) pick(is func(*loomv1.EdgeDefinition) bool) (edges []*loomv1.EdgeDefinition) {
	for _, e := range s.def.Edges {
		if is(e) {
			edges = append(edges, e)
		}
	}
	return edges
}

func (s *slow) into(id string) []*loomv1.EdgeDefinition {
	return s.pick(func(e *loomv1.EdgeDefinition) bool { return e.To == id })
}

// outOf returns the edges that leave a node on success or on failure.
func (s *slow) outOf(id string, onFailure bool) []*loomv1.EdgeDefinition {
	return s.pick(func(e *loomv1.EdgeDefinition) bool {
		return e.From == id && (e.Outcome == loomv1.EdgeOutcome_EDGE_OUTCOME_FAILURE) == onFailure
	})
}

func (s *slow) isTaken(e *loomv1.EdgeDefinition) bool   { return s.edges[e.Id] }
func (s *slow) isSettled(e *loomv1.EdgeDefinition) bool { _, is := s.edges[e.Id]; return is }

// follows says whether there is a way from one node to another.
func (s *slow) follows(id, from string) bool {
	return slices.ContainsFunc(s.into(id), func(e *loomv1.EdgeDefinition) bool { return e.From == from || s.follows(e.From, from) })
}

// read evaluates a condition of those that are drawn; known is false where it
// has no value.
func (s *slow) read(condition, at string) (holds, known bool) {
	switch condition {
	case "", "true":
		return true, true
	case "false":
		return false, true
	case "outcome.ok":
		return s.nodes[at].ok, true
	case "!outcome.ok":
		return !s.nodes[at].ok, true
	case "execution.dispatches % 2 == 0":
		return s.dispatches%2 == 0, true
	case "execution.dispatches > 3":
		return s.dispatches > 3, true
	}
	return false, false
}

func (s *slow) holding(edges []*loomv1.EdgeDefinition) (holding []*loomv1.EdgeDefinition) {
	for _, e := range edges {
		if holds, known := s.read(e.Condition, e.From); holds && known {
			holding = append(holding, e)
		}
	}
	return holding
}

// haltedBy is the first by name of the critical nodes that the CEO is asked about.
func (s *slow) haltedBy() string {
	var halting []string
	for id, n := range s.nodes {
		if (n.open == "escalation" || n.open == "gate") && s.node(id).Criticality == loomv1.Criticality_CRITICALITY_CRITICAL {
			halting = append(halting, id)
		}
	}
	if len(halting) == 0 {
		return ""
	}
	return slices.Min(halting)
}

func (s *slow) still() bool { return s.held || s.haltedBy() != "" || s.end != "" }

// advance starts or skips nodes, one at a time, until none is ready.
func (s *slow) advance() {
	for !s.still() {
		i := slices.IndexFunc(s.order, func(id string) bool { return s.nodes[id].status == "unspecified" && all(s.into(id), s.isSettled) })
		if i < 0 {
			if all(s.order, func(id string) bool { return s.done(id) }) {
				how := "completed"
				if len(s.gaps) > 0 {
					how = "completed_with_gaps"
				}
				s.close(how)
			}
			return
		}
		s.reach(s.order[i])
	}
}

func (s *slow) done(id string) bool {
	return slices.Contains([]string{"succeeded", "failed", "skipped", "detached"}, s.nodes[id].status)
}

func (s *slow) close(how string) {
	s.withdraw(s.order)
	s.end = how
}

func (s *slow) reach(id string) {
	n, g := s.nodes[id], s.node(id).Gate
	if id != "start" && !slices.ContainsFunc(s.into(id), s.isTaken) {
		s.complete(id, "skipped", nil)
		return
	}
	if holds, known := s.read(g.GetCondition(), id); !n.waived && (!holds || !known) {
		s.shut(id, g, known)
		return
	}
	if s.node(id).Detached {
		n.status = "detached"
		return
	}
	switch s.node(id).Type {
	case loomv1.NodeType_NODE_TYPE_TASK:
		s.dispatch(id)
	case loomv1.NodeType_NODE_TYPE_APPROVAL:
		n.status, n.open = "waiting", "question"
	default:
		s.succeed(id)
	}
}

func (s *slow) shut(id string, g *loomv1.Gate, known bool) {
	n := s.nodes[id]
	switch {
	case known && g.OnFailure == skips:
		s.gap(id)
	case known && g.OnFailure == fails:
		s.close("failed")
	case known && g.OnFailure == replans && n.replan < g.Max:
		n.replan++
		s.sendBack(g.To)
	default:
		n.status, n.open = "waiting", "gate"
	}
}

// complete settles a node and all its edges.
func (s *slow) complete(id, status string, taken []*loomv1.EdgeDefinition) {
	s.nodes[id].status = status
	for _, e := range s.pick(func(e *loomv1.EdgeDefinition) bool { return e.From == id }) {
		s.edges[e.Id] = slices.Contains(taken, e)
	}
}

func (s *slow) dispatch(id string) {
	n := s.nodes[id]
	if s.still() {
		n.status = "backoff"
		return
	}
	n.status, n.open = "running", "attempt"
	n.attempts++
	s.dispatches++
}

func (s *slow) escalate(id string) { s.nodes[id].status, s.nodes[id].open = "waiting", "escalation" }

func (s *slow) succeed(id string) {
	edges := s.outOf(id, false)
	unknown := slices.ContainsFunc(edges, func(e *loomv1.EdgeDefinition) bool { _, known := s.read(e.Condition, id); return !known })
	taken := s.holding(edges)
	isEnd := s.node(id).Type == loomv1.NodeType_NODE_TYPE_END
	if unknown || !s.leadOn(taken) && !isEnd && !s.endWithout(id) {
		s.escalate(id)
		return
	}
	s.complete(id, "succeeded", taken)
}

// endWithout says whether an end was reached, or can be, if no edge of a node
// is taken.
func (s *slow) endWithout(id string) bool {
	return slices.ContainsFunc(s.def.Nodes, func(n *loomv1.NodeDefinition) bool {
		return n.Type == loomv1.NodeType_NODE_TYPE_END && s.alive(n.Id, id)
	})
}

func (s *slow) alive(id, without string) bool {
	if s.nodes[id].status == "skipped" {
		return false
	}
	return id == "start" || slices.ContainsFunc(s.into(id), func(e *loomv1.EdgeDefinition) bool {
		return e.From != without && (s.isTaken(e) || !s.isSettled(e) && s.alive(e.From, without))
	})
}

// onward is the way on from what was passed over.
func (s *slow) onward(id string) []*loomv1.EdgeDefinition {
	success := s.outOf(id, false)
	switch {
	case s.leadOn(s.holding(success)):
		return s.holding(success)
	case s.leadOn(success):
		return success
	}
	return append(success, s.outOf(id, true)...)
}

// leadOn says whether an edge leads to what the end waits for.
func (s *slow) leadOn(edges []*loomv1.EdgeDefinition) bool {
	return slices.ContainsFunc(edges, func(e *loomv1.EdgeDefinition) bool { return !s.node(e.To).Detached })
}

func (s *slow) gap(id string) {
	s.gaps = append(s.gaps, id)
	if s.nodes[id].status == "unspecified" {
		s.complete(id, "skipped", s.onward(id))
		return
	}
	s.complete(id, "failed", s.onward(id))
}

// withdraw ends what is open of some nodes.
func (s *slow) withdraw(ids []string) {
	for _, id := range ids {
		n := s.nodes[id]
		switch n.open {
		case "attempt":
			n.ended++
			n.last, n.ok = "failure", false
		case "gate":
			n.status = "unspecified"
		}
		n.open = ""
	}
}

// sendBack begins a node and what it has led to anew.
func (s *slow) sendBack(to string) {
	s.anew(to, func(id string) bool { return id == to || s.nodes[id].status != "unspecified" })
}

// anew resets those of a node and its followers that are to be, and sees to it
// that an edge leads to the node.
func (s *slow) anew(to string, is func(string) bool) {
	var part []string
	for _, id := range s.order {
		if (id == to || s.follows(id, to)) && is(id) {
			part = append(part, id)
		}
	}
	s.withdraw(part)
	s.gaps = slices.DeleteFunc(s.gaps, func(id string) bool { return slices.Contains(part, id) })
	for _, id := range part {
		n := s.nodes[id]
		s.nodes[id] = &slowNode{status: "unspecified", visit: n.visit + 1, ended: n.ended, reworks: n.reworks, replan: n.replan}
		for _, e := range s.pick(func(e *loomv1.EdgeDefinition) bool { return e.From == id }) {
			delete(s.edges, e.Id)
		}
	}
	if in := s.into(to); len(in) > 0 && all(in, s.isSettled) && !slices.ContainsFunc(in, s.isTaken) {
		s.edges[in[0].Id] = true
	}
}
