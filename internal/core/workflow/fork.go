package workflow

import (
	"cmp"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ForkState returns the state that a new execution of the same definition
// begins with so that it goes on at a node as x did or could have, and the id
// of the node it really begins at. It keeps no reference to x.
//
// The node and what follows it are not reached. What else was settled stays,
// with its history and outcomes, whose attempts keep the ids that they had in
// x. What else was open is not reached either, or is skipped where it is on
// the way to the node.
//
// No approval and no candidate is inherited: where a commit, verify or land
// would rest on one that was given or made before the node, the fork begins at
// that approval or commit instead. The change that stands is the newest that
// a node proposed which stays. What was spent counts for x alone.
//
// The id, bead, project and start are for ExecutionForked to set. An unknown
// node is workflow/node.
func ForkState(def *Compiled, x *loomv1.Execution, at string) (*loomv1.Execution, string, error) {
	to := def.nodes[at]
	if to == nil {
		return nil, "", fault.New("workflow/node", "workflow %q has no node %q", x.GetDefinition(), at).At("node")
	}
	k := fork{def: def, of: x, to: to, anew: make([]bool, len(def.order))}
	k.begin(to)
	k.beginDuties()
	return k.state(), k.first().Id, nil
}

// fork is an execution on its way to being forked.
type fork struct {
	def  *Compiled
	of   *loomv1.Execution
	to   *node
	anew []bool // by index: nodes that are not reached in the fork
}

// begin lets a node and what follows it begin anew.
func (k *fork) begin(n *node) {
	for _, m := range k.def.order[n.index:] {
		if m == n || m.follows(n) {
			k.anew[m.index] = true
		}
	}
}

// beginDuties goes back as far as duties need that begin anew.
func (k *fork) beginDuties() {
	for i := len(k.def.order) - 1; i >= 0; i-- {
		if n := k.def.order[i]; k.anew[i] {
			for _, m := range k.needs(n) {
				k.begin(m)
				i = len(k.def.order)
			}
		}
	}
}

// needs returns the nodes that stay, but that a duty must see done anew.
func (k *fork) needs(n *node) []*node {
	var need []*node
	switch n.Kind {
	case loomv1.NodeKind_NODE_KIND_UNSPECIFIED:
		return nil
	case loomv1.NodeKind_NODE_KIND_COMMIT:
		need = k.last(n, (*node).isApproval)
	case loomv1.NodeKind_NODE_KIND_VERIFY, loomv1.NodeKind_NODE_KIND_LAND:
		need = k.last(n, func(m *node) bool { return m.Kind == loomv1.NodeKind_NODE_KIND_COMMIT })
	}
	if a := n.approver; a != nil && k.stays(a) {
		need = append(need, a)
	}
	for _, m := range k.def.order[:n.index] {
		if n.Kind == loomv1.NodeKind_NODE_KIND_LAND && m.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && n.follows(m) && k.stays(m) {
			need = append(need, m)
		}
	}
	return need
}

// last returns the last such node before n that stays, unless one begins anew.
func (k *fork) last(n *node, is func(*node) bool) []*node {
	var last []*node
	for _, m := range k.def.order[:n.index] {
		switch {
		case !n.follows(m) || !is(m):
		case k.anew[m.index]:
			return nil
		case k.stays(m):
			last = []*node{m}
		}
	}
	return last
}

// stays says whether a node keeps having been done.
func (k *fork) stays(n *node) bool {
	st := k.of.Nodes[n.Id].GetStatus()
	return !k.anew[n.index] && (st == succeeded || st == failed)
}

// first returns the first node that begins anew.
func (k *fork) first() *node { return k.def.order[slices.Index(k.anew, true)] }

func (k *fork) state() *loomv1.Execution {
	x := &loomv1.Execution{
		Definition: k.of.Definition, Version: k.of.Version, DefinitionHash: k.of.DefinitionHash,
		Status: loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING, Nodes: map[string]*loomv1.NodeState{}, Edges: map[string]bool{},
		Context: proto.CloneOf(k.of.Context), Priority: k.of.Priority, Scripted: k.of.Scripted,
		ProjectChecks: slices.Clone(k.of.ProjectChecks), NamedChecks: map[string]string{},
	}
	for _, n := range k.def.order {
		if !k.anew[n.index] {
			k.keep(x, n)
		}
	}
	for _, g := range k.of.Gaps {
		if n := k.def.nodes[g.Node]; n != nil && !k.anew[n.index] {
			x.Gaps = append(x.Gaps, proto.CloneOf(g))
		}
	}
	x.Checks = required(x)
	x.Change = proto.CloneOf(newestChange(x))
	if e := (Run{Def: k.def, X: x}).entry(k.to); e != nil && !k.anew[e.from.index] {
		x.Edges[e.Id] = true
	}
	return x
}

// keep copies what is settled of a node; one that is open on the way to the
// target is skipped.
func (k *fork) keep(x *loomv1.Execution, n *node) {
	st := k.of.Nodes[n.Id]
	switch {
	case isSettled(st):
		st = proto.CloneOf(st)
	case k.to.follows(n):
		st = &loomv1.NodeState{Status: skippedStatus, Visit: max(st.GetVisit(), 1), History: proto.CloneOf(st).GetHistory()}
	default:
		return
	}
	x.Nodes[n.Id] = st
	for _, e := range n.out {
		x.Edges[e.Id] = k.of.Edges[e.Id]
	}
	if c := k.of.NamedChecks[n.Id]; c != "" {
		x.NamedChecks[n.Id] = c
	}
}

// required is what verification must see pass: what the project says, and then
// what nodes named.
func required(x *loomv1.Execution) []string {
	checks := slices.Clone(x.ProjectChecks)
	for _, node := range slices.Sorted(maps.Keys(x.NamedChecks)) {
		if c := x.NamedChecks[node]; !slices.Contains(checks, c) {
			checks = append(checks, c)
		}
	}
	return checks
}

// RequiredWith is what verification must see pass once an outcome of a node is
// taken, which may name another check than the node did before.
func RequiredWith(x *loomv1.Execution, node string, out *loomv1.Outcome) []string {
	command := out.GetFields().GetFields()["check"].GetStringValue()
	if command == "" {
		return x.GetChecks()
	}
	named := maps.Clone(x.GetNamedChecks())
	if named == nil {
		named = map[string]string{}
	}
	named[node] = command
	return required(&loomv1.Execution{ProjectChecks: x.GetProjectChecks(), NamedChecks: named})
}

// newestChange returns the change that the newest attempt proposed which did.
func newestChange(x *loomv1.Execution) *loomv1.Change {
	var newest *loomv1.Attempt
	for _, st := range x.Nodes {
		for _, a := range st.History {
			if a.Outcome.GetStatus() == success && a.Outcome.Change != nil && (newest == nil || byEnd(newest, a) < 0) {
				newest = a
			}
		}
	}
	return newest.GetOutcome().GetChange()
}

// byEnd orders ended attempts, also those of several executions.
func byEnd(a, b *loomv1.Attempt) int {
	return cmp.Or(a.EndedAt.AsTime().Compare(b.EndedAt.AsTime()), byNumber(a, b))
}

func (f folder) forked(fact *loomv1.ExecutionForked) error {
	if f.x == nil || f.x.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_UNSPECIFIED || f.e.Execution == "" || fact.GetState() == nil {
		return f.wrong("it cannot begin execution %q", f.e.Execution)
	}
	proto.Reset(f.x)
	proto.Merge(f.x, fact.State)
	x := f.x
	x.Id, x.Bead, x.Project = f.e.Execution, f.e.Bead, f.e.Project
	x.Status = loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING
	x.StartedAt, x.EndedAt, x.ForkedFrom = f.e.Time, nil, fact.From
	f.prepare()
	return nil
}
