package workflow

import (
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/memory"
	"github.com/loomrun/loom/internal/lang/condition"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// builder makes a Compiled in steps; a step may rely on those before it.
type builder struct {
	c    *Compiled
	errs []*fault.Error
}

func (b *builder) bad(code, where, format string, args ...any) {
	b.errs = append(b.errs, fault.New(code, format, args...).At(where))
}

func (b *builder) addNodes() {
	for _, d := range b.c.def.Nodes {
		if d.GetId() == "" {
			b.bad("workflow/invalid", "nodes", "a node has no id")
			continue
		}
		if b.c.nodes[d.Id] != nil {
			b.bad("workflow/duplicate", "nodes."+d.Id, "two nodes have the id %q", d.Id)
			continue
		}
		if d.MaxAttempts == 0 {
			d.MaxAttempts = DefaultAttempts
		}
		n := &node{NodeDefinition: d}
		b.c.nodes[d.Id] = n
		b.c.order = append(b.c.order, n)
		b.checkNode(n)
	}
}

func (b *builder) checkNode(n *node) {
	where := "nodes." + n.Id
	if n.Type < loomv1.NodeType_NODE_TYPE_START || n.Type > loomv1.NodeType_NODE_TYPE_MERGE {
		b.bad("workflow/type", where, "node %q has no known type", n.Id)
	}
	if n.Keys > 0 && n.Type != loomv1.NodeType_NODE_TYPE_APPROVAL || n.Keys > keyring.MostAsked {
		b.bad("workflow/invalid", where+".keys", "node %q takes the signatures of %d keys: approvals take 1 to %d", n.Id, n.Keys, keyring.MostAsked)
	}
	if !n.isTask() {
		return
	}
	b.checkPolicy(n, where)
	if n.Process != "" {
		b.checkProcess(n, where)
		return
	}
	if n.Role == "" && (n.RoleFrom == "" || len(n.RolesAny) == 0) {
		b.bad("workflow/role", where, "task %q names no role", n.Id)
	}
	if want := reserved(n.Kind); want != "" && n.Role != want {
		b.bad("definition/role-violation", where, "node %q is for role %s only, not %q", n.Id, want, n.Role)
	}
	n.fields = slices.Sorted(maps.Keys(n.Outcome))
	for _, field := range n.fields {
		kind := n.Outcome[field]
		if !condition.IsFieldType(kind) {
			b.bad("workflow/invalid", where+".outcome."+field, "outcome field %q has the unknown type %q", field, kind)
		}
	}
}

// checkPolicy checks what failure means for a task, and how it is tried again.
func (b *builder) checkPolicy(n *node, where string) {
	if c := n.Criticality; c < 0 || c > loomv1.Criticality_CRITICALITY_OPTIONAL {
		b.bad("workflow/invalid", where+".criticality", "node %q has no known criticality", n.Id)
	} else if c == loomv1.Criticality_CRITICALITY_OPTIONAL && reserved(n.Kind) != "" {
		b.bad("workflow/invalid", where+".criticality", "node %q is a duty, which is never passed over", n.Id)
	}
	for _, places := range [][]string{n.Memory.GetRead(), n.Memory.GetWrite()} {
		for i, p := range places {
			if !memory.IsPlace(p) || slices.Contains(places[:i], p) {
				b.bad("workflow/invalid", where+".memory", "node %q names %q, which is no part of the memory, or named already", n.Id, p)
			}
		}
	}
	if first, longest := n.waits(); first <= 0 || longest < first {
		b.bad("workflow/invalid", where+".backoff", "the backoff of node %q is from %s to %s", n.Id, first, longest)
	}
}

// checkProcess wants a node that a process works for to say nothing of agents.
func (b *builder) checkProcess(n *node, where string) {
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"role", n.Role != ""},
		{"roles_any", len(n.RolesAny) > 0},
		{"role_from", n.RoleFrom != ""},
		{"persona", n.Persona != ""},
		{"memory", n.Memory != nil},
		{"kind", n.Kind != 0},
		{"multi_dispatch", n.MultiDispatch},
		{"outcome", len(n.Outcome) > 0},
	} {
		if f.set {
			b.bad("workflow/process", where+"."+f.name, "the work of node %q is done by a process, so it has no %s", n.Id, f.name)
		}
	}
}

// addGates checks what must hold before nodes start, and finds where gates
// send work back to.
func (b *builder) addGates() {
	for _, n := range b.c.order {
		if n.Gate != nil {
			b.addGate(n, "nodes."+n.Id+".gate")
		}
	}
}

// maxReplans bounds how often a gate sends work back. Where no work lies in
// between, all of it happens in one command.
const maxReplans = 100

func (b *builder) addGate(n *node, where string) {
	g := n.Gate
	if n.isStart() || n.isEnd() {
		b.bad("workflow/gate", where, "node %q is a start or an end, which has no gate", n.Id)
	}
	if g.Condition == "" {
		b.bad("workflow/gate", where+".condition", "the gate of node %q has no condition", n.Id)
	}
	switch g.OnFailure {
	case 0, gateBlocks, gateFails:
	case gateSkips:
		if reserved(n.Kind) != "" {
			b.bad("workflow/gate", where+".on_failure", "node %q is a duty, which is never skipped", n.Id)
		}
	case gateReplans:
		if n.replan = b.c.nodes[g.To]; n.replan == nil || !n.follows(n.replan) {
			b.bad("workflow/gate", where+".to", "the gate of %q sends work back to %q, which is not an ancestor", n.Id, g.To)
		}
		if g.Max == 0 || g.Max > maxReplans {
			b.bad("workflow/gate", where+".max", "the gate of node %q replans %d times, not 1 to %d", n.Id, g.Max, maxReplans)
		}
	default:
		b.bad("workflow/gate", where+".on_failure", "the gate of node %q has no known action", n.Id)
	}
	n.pass = b.program(g.Condition, condition.Scope{Nodes: b.declaredBefore(n)}, condition.Bool, where+".condition")
}

// reserved returns the only role that may do a kind of node, or "".
func reserved(k loomv1.NodeKind) string {
	switch k {
	case loomv1.NodeKind_NODE_KIND_COMMIT, loomv1.NodeKind_NODE_KIND_LAND:
		return committer
	case loomv1.NodeKind_NODE_KIND_VERIFY:
		return verifier
	}
	return ""
}

func (b *builder) addEdges() {
	seen := make(map[string]bool, len(b.c.def.Edges))
	for _, d := range b.c.def.Edges {
		from, to := b.c.nodes[d.GetFrom()], b.c.nodes[d.GetTo()]
		switch {
		case d.GetId() == "":
			b.bad("workflow/invalid", "edges", "an edge has no id")
		case seen[d.Id]:
			b.bad("workflow/duplicate", "edges."+d.Id, "two edges have the id %q", d.Id)
		case from == nil || to == nil:
			b.bad("workflow/edge", "edges."+d.Id, "edge %q leads from %q to %q, and one of them does not exist", d.Id, d.From, d.To)
		case from.isEnd():
			b.bad("workflow/edge", "edges."+d.Id, "edge %q leaves the end node %q", d.Id, d.From)
		default:
			e := &edge{EdgeDefinition: d, from: from, to: to}
			from.out, to.in = append(from.out, e), append(to.in, e)
		}
		seen[d.GetId()] = true
	}
}

// sort puts the nodes in topological order and finds their ancestors.
func (b *builder) sort() {
	given := b.c.order
	left := make(map[*node]int, len(given))
	for _, n := range given {
		left[n] = len(n.in)
	}
	order := make([]*node, 0, len(given))
	for len(order) < len(given) {
		n := firstFree(given, left)
		if n == nil {
			b.bad("workflow/cycle", "edges", "the edges form a cycle")
			return
		}
		delete(left, n)
		n.index = len(order)
		order = append(order, n)
		for _, e := range n.out {
			left[e.to]--
		}
	}
	b.c.order = order
	for _, n := range order {
		n.ancestors = make([]bool, len(order))
		for _, e := range n.in {
			n.ancestors[e.from.index] = true
			for i, is := range e.from.ancestors {
				n.ancestors[i] = n.ancestors[i] || is
			}
		}
	}
}

func firstFree(given []*node, left map[*node]int) *node {
	for _, n := range given {
		if c, ok := left[n]; ok && c == 0 {
			return n
		}
	}
	return nil
}

// checkShape wants one start, an end, and a way from the one through every
// node to the other.
func (b *builder) checkShape() {
	var starts, ends []*node
	for _, n := range b.c.order {
		if n.isStart() {
			starts = append(starts, n)
		}
		if n.isEnd() {
			ends = append(ends, n)
		}
	}
	if len(starts) != 1 {
		b.bad("workflow/start", "nodes", "there are %d start nodes instead of one", len(starts))
	}
	if len(ends) == 0 {
		b.bad("workflow/end", "nodes", "there is no end node")
	}
	if len(b.errs) > 0 {
		return
	}
	for _, n := range b.c.order {
		if n != starts[0] && !n.follows(starts[0]) {
			b.bad("workflow/reach", "nodes."+n.Id, "node %q cannot be reached from the start", n.Id)
		}
		if !n.isEnd() && !n.Detached && !anyFollows(ends, n) {
			b.bad("workflow/reach", "nodes."+n.Id, "node %q cannot reach an end", n.Id)
		}
	}
}

func anyFollows(nodes []*node, m *node) bool {
	for _, n := range nodes {
		if n.follows(m) {
			return true
		}
	}
	return false
}

func (b *builder) addRework() {
	for _, n := range b.c.order {
		for _, d := range n.OnFailure.GetRework() {
			to := b.c.nodes[d.GetTo()]
			if to == nil || !n.follows(to) {
				b.bad("workflow/rework", "nodes."+n.Id+".on_failure", "rework of %q goes to %q, which is not an ancestor", n.Id, d.GetTo())
				continue
			}
			n.rework = append(n.rework, rule{to: to})
		}
	}
}

// addPrograms compiles every condition in the scope where it is read: at a
// task its own outcome, elsewhere, and in role_from, the outcomes of the tasks
// before it by their ids.
func (b *builder) addPrograms() {
	for _, n := range b.c.order {
		earlier := condition.Scope{Nodes: b.declaredBefore(n)}
		scope := earlier
		if n.isTask() {
			scope = condition.Scope{Outcome: n.Outcome}
		}
		for _, e := range n.out {
			e.when = b.program(e.Condition, scope, condition.Bool, "edges."+e.Id+".condition")
			n.reads = n.reads || e.when != nil
		}
		for i, d := range n.OnFailure.GetRework() {
			n.rework[i].when = b.program(d.When, scope, condition.Bool, "nodes."+n.Id+".on_failure")
		}
		n.roleFrom = b.program(n.RoleFrom, earlier, condition.Text, "nodes."+n.Id+".role_from")
	}
}

// declaredBefore returns the outcome fields of the tasks before n.
func (b *builder) declaredBefore(n *node) map[string]map[string]string {
	fields := map[string]map[string]string{}
	for _, m := range b.c.order[:n.index] {
		if n.follows(m) && m.isTask() {
			fields[m.Id] = m.Outcome
		}
	}
	return fields
}

func (b *builder) program(text string, s condition.Scope, want condition.Result, where string) *condition.Program {
	if text == "" {
		return nil
	}
	p, err := condition.Compile(text, s, want)
	if err != nil {
		b.errs = append(b.errs, fault.New("workflow/condition", "condition does not compile").At(where).Got(text).Because(err))
	}
	return p
}

// checkDuties finds each node's approver, and refuses duties that could never
// have their evidence.
func (b *builder) checkDuties() {
	for _, n := range b.c.order {
		n.approver = b.approver(n)
		n.approvals = b.before(n, (*node).isApproval)
		commits := b.before(n, func(m *node) bool { return m.Kind == loomv1.NodeKind_NODE_KIND_COMMIT })
		verifies := b.before(n, func(m *node) bool { return m.Kind == loomv1.NodeKind_NODE_KIND_VERIFY })
		if n.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && !commits {
			b.bad("workflow/invalid", "nodes."+n.Id, "node %q verifies, but no commit comes before it", n.Id)
		}
		if n.Kind == loomv1.NodeKind_NODE_KIND_LAND && !(commits && verifies) {
			b.bad("workflow/invalid", "nodes."+n.Id, "node %q lands, but a commit and its verification do not come before it", n.Id)
		}
	}
}

func (b *builder) before(n *node, is func(*node) bool) bool {
	for _, m := range b.c.order[:n.index] {
		if n.follows(m) && is(m) {
			return true
		}
	}
	return false
}

// approver returns the last approval before a node of duty with no working node
// between the two: what it approved is what the node deals with.
func (b *builder) approver(n *node) *node {
	if n.Kind == loomv1.NodeKind_NODE_KIND_UNSPECIFIED {
		return nil
	}
	for i := n.index - 1; i >= 0; i-- {
		if a := b.c.order[i]; a.isApproval() && n.follows(a) && !b.worksBetween(a, n) {
			return a
		}
	}
	return nil
}

func (b *builder) worksBetween(a, n *node) bool {
	return b.before(n, func(m *node) bool { return m.working() && m.follows(a) })
}
