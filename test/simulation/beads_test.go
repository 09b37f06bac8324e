package simulation

import (
	"slices"
	"time"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// sawBead checks the facts of beads.
func (o *oracle) sawBead(e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled:
		o.filed(f.BeadFiled)
	case *loomv1.Event_BeadStatusChanged:
		o.status(e, f.BeadStatusChanged.Status)
	case *loomv1.Event_BeadUpdated:
		o.relinked(e.Bead, f.BeadUpdated.Bead)
	case *loomv1.Event_BeadOccurred:
		if o.ended[e.Bead] {
			o.broken(8, "bead %s, which has ended, is reported on again", e.Bead)
		}
	case *loomv1.Event_GovernorTripped:
		o.w.see("governor tripped: " + f.GovernorTripped.Kind)
	case *loomv1.Event_GovernorRenewed:
		clear(o.governed)
		o.window = o.now
	}
}

func (o *oracle) filed(f *loomv1.BeadFiled) {
	b := f.Bead
	if o.beads[b.Id] != nil {
		o.broken(1, "bead %s is filed twice", b.Id)
	}
	if id := o.prints[b.Fingerprint]; id != "" && !o.ended[id] {
		o.broken(1, "bead %s is filed for the error that bead %s is open for", b.Id, id)
	}
	if b.Fingerprint != "" {
		o.prints[b.Fingerprint] = b.Id
	}
	o.beads[b.Id], o.statuses[b.Id] = b, b.Status
	if b.Type != loomv1.BeadType_BEAD_TYPE_APPROVAL {
		o.works = append(o.works, b.Id)
		o.openBeads++
		o.ofSession(b)
		o.relinked(b.Id, b)
	}
	if f.Governed != "" {
		if o.governed[f.Governed]++; o.window.IsZero() {
			o.window = o.now
		}
		o.withinBudget(f.Governed)
	}
}

// withinBudget wants no more beads that nobody asked for than the governor has.
func (o *oracle) withinBudget(kind string) {
	most := map[string]int{"reported": 100, "self-filed": 10}[kind]
	if g := o.governor; g != nil {
		most = map[string]int{"reported": int(g.Reported), "self-filed": int(g.SelfFiled)}[kind]
	}
	if o.governed[kind] > most {
		o.broken(21, "bead %d of kind %s in one window, the most is %d", o.governed[kind], kind, most)
	}
}

// stormOver wants nothing refused for a storm once its window is over.
func (o *oracle) stormOver(at time.Time) {
	length := time.Hour
	if o.governor != nil {
		length = o.governor.Window.AsDuration()
	}
	if !o.window.IsZero() && at.Sub(o.window) >= length {
		o.broken(21, "a bead is refused at %s for a storm in the window of %s from %s on", at, length, o.window)
	}
}

// relinked notes what a bead waits for and what it may spend.
func (o *oracle) relinked(id string, b *loomv1.Bead) {
	had := o.tokens[id]
	o.blockers[id], o.tokens[id], o.deadlines[id] = b.BlockedBy, b.Budget.GetTokens(), b.Deadline
	if x := o.worked[id]; x != nil {
		if has := o.tokens[id]; x.granted > 0 && has > 0 {
			if lowered := had == 0 || has < had; lowered {
				x.granted = 0
				o.w.see("what was granted is taken back")
			} else {
				o.w.see("what was granted stands when another budget is set")
			}
		}
		o.overNow(x)
	}
	if len(b.BlockedBy) > 0 {
		o.w.see("blocked")
		o.linksThere = true
	}
	if o.linksThere {
		defer o.rehold()
	}
	for _, on := range b.BlockedBy {
		if o.beads[on] == nil {
			o.broken(2, "bead %s waits for %s, which does not exist", id, on)
		}
		if o.reaches(on, id, map[string]bool{}) {
			o.broken(32, "bead %s waits for itself by way of %s", id, on)
		}
	}
}

func (o *oracle) reaches(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for _, on := range o.blockers[from] {
		if o.reaches(on, to, seen) {
			return true
		}
	}
	return false
}

func (o *oracle) status(e *loomv1.Event, s loomv1.BeadStatus) {
	bead, operator := e.Bead, e.Actor.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_OPERATOR
	was := o.ended[bead]
	if was && !operator {
		o.broken(8, "bead %s, which has ended, becomes %s", bead, s)
	}
	if o.statuses[bead] == loomv1.BeadStatus_BEAD_STATUS_BLOCKED && s != o.statuses[bead] {
		o.w.see("blocked bead freed")
	}
	o.statuses[bead], o.done[bead] = s, s == loomv1.BeadStatus_BEAD_STATUS_CLOSED
	switch s {
	case loomv1.BeadStatus_BEAD_STATUS_CLOSED, loomv1.BeadStatus_BEAD_STATUS_FAILED, loomv1.BeadStatus_BEAD_STATUS_ABORTED:
		o.ended[bead] = true
		o.closed(o.approvals[bead])
	default:
		o.ended[bead] = false
	}
	if o.linksThere {
		o.rehold()
	}
	if o.approvals[bead] == nil && was != o.ended[bead] {
		o.openBeads += map[bool]int{true: 1, false: -1}[was]
		if was {
			o.w.see("reopened")
		}
	}
}

// left counts what has not ended.
func (o *oracle) left() int { return o.running + o.openBeads + len(o.polled) + o.talking() }

func (o *oracle) started(e *loomv1.Event, f *loomv1.ExecutionStarted) {
	x := o.begin(e, o.defs[f.DefinitionHash])
	x.hash = f.DefinitionHash
	if f.Parent != "" {
		o.w.see("child")
		x.parent, x.worksFor, x.depth = o.executions[f.Parent], f.ParentAttempt, f.Depth
		x.parent.children = append(x.parent.children, x)
		if x.depth != x.parent.depth+1 || x.depth > 8 {
			o.broken(21, "%s begins in depth %d, its parent is in %d", x.id, x.depth, x.parent.depth)
		}
		x.nested = o.tasks[x.bead] != nil || x.parent.nested || landingFollows(x.parent.def, o.attempts[x.worksFor].node)
		if x.nested == f.Lands {
			o.broken(21, "%s works for %s: another lands what it makes is %t, it lands by itself is %t", x.id, x.worksFor, x.nested, f.Lands)
		}
		if !x.nested {
			o.w.see("child lands")
		}
	}
	if f.After != "" {
		o.afterEnd(x, f.After)
	}
	if o.waitsFor(x.bead) {
		o.broken(24, "%s begins though its bead is blocked", x.id)
	}
}

// landingFollows says whether a path leads from a node to a landing.
func landingFollows(def *loomv1.Definition, node string) bool {
	seen, at := map[string]bool{}, []string{node}
	for len(at) > 0 {
		from := at[0]
		at = at[1:]
		for _, e := range def.Edges {
			if e.From == from && !seen[e.To] {
				seen[e.To], at = true, append(at, e.To)
			}
		}
	}
	return slices.ContainsFunc(def.Nodes, func(n *loomv1.NodeDefinition) bool {
		return seen[n.Id] && n.Kind == loomv1.NodeKind_NODE_KIND_LAND
	})
}

// begin is an execution of a bead that has none that runs.
func (o *oracle) begin(e *loomv1.Event, def *loomv1.Definition) *execution {
	if old := o.worked[e.Bead]; old != nil && !old.ended {
		o.broken(1, "bead %s has a second execution", e.Bead)
	}
	if def == nil || o.ended[e.Bead] {
		o.broken(2, "execution %s of bead %s begins on nothing", e.Execution, e.Bead)
		def = auto
	}
	x := &execution{
		id: e.Execution, bead: e.Bead, def: def, nodes: map[string]*nodeOracle{}, edges: map[string]bool{},
		candidates: map[string]string{}, landed: map[string]bool{}, verified: map[string]bool{}, adopted: map[string]bool{},
	}
	for _, n := range def.Nodes {
		x.nodes[n.Id] = newNodeOracle(n)
	}
	o.executions[x.id], o.worked[x.bead] = x, x
	o.begunForSession(x)
	o.begun = append(o.begun, x)
	o.running++
	return x
}

func newNodeOracle(n *loomv1.NodeDefinition) *nodeOracle {
	return &nodeOracle{def: n, last: &attempt{}, granted: map[uint32]uint32{}, escalations: map[uint32]uint32{}}
}

// forked begins with the state that another execution has; none of its
// approvals and candidates may be in it.
func (o *oracle) forked(e *loomv1.Event, f *loomv1.ExecutionForked) {
	of := o.executions[f.From.GetExecution()]
	if of == nil {
		o.broken(2, "%s is forked off nothing", e.Execution)
		return
	}
	o.w.see("fork")
	s := f.State
	x := o.begin(e, o.defs[s.DefinitionHash])
	x.hash, x.plans = s.DefinitionHash, s.Plan.GetNumber()
	if s.Approved != nil || s.Candidate != nil || s.Landing != nil {
		o.broken(28, "%s inherits an approval, a candidate or a landing", e.Execution)
	}
	for id, taken := range s.Edges {
		x.edges[id] = taken
	}
	for id, st := range s.Nodes {
		n := x.nodes[id]
		if st.Attempt != nil || st.Approval != "" {
			o.broken(6, "%s inherits what is open at %s", e.Execution, id)
		}
		n.visit, n.number, n.replans, n.reworks, n.movedFrom = st.Visit, st.Attempts, st.Replans, st.Reworks, st.MovedFrom
		n.reached = st.Status != loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED
		n.completed = st.Status == loomv1.NodeStatus_NODE_STATUS_SUCCEEDED
		n.aside = st.Status == loomv1.NodeStatus_NODE_STATUS_DETACHED
		n.over = n.completed || n.aside || st.Status == loomv1.NodeStatus_NODE_STATUS_FAILED || st.Status == loomv1.NodeStatus_NODE_STATUS_SKIPPED
		n.granted[st.Visit] = (st.ExtraAttempts + n.def.MaxAttempts - 1) / max(n.def.MaxAttempts, 1)
		for _, a := range st.History {
			if p := a.Outcome.GetChange().GetPatchDigest(); p != "" && a.Outcome.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
				x.candidates[p] = a.Claimant.GetAgent() + "@" + a.Claimant.GetHost()
			}
		}
	}
	x.patch, x.files = s.Change.GetPatchDigest(), s.Change.GetFiles()
}

// stored keeps definitions; those that take another's place must be ordered.
func (o *oracle) stored(e *loomv1.Event, f *loomv1.DefinitionStored) {
	o.defs[f.Hash] = f.Definition
	if f.Changed {
		o.follows(e, "define")
		o.w.see("definition changed")
	}
}

func (o *oracle) rolesReported(f *loomv1.RolesReported) {
	if old := o.hosts[f.Host]; old != nil && f.Roles.Epoch < old.Epoch {
		o.broken(7, "host %s says in epoch %d what roles it has, after epoch %d", f.Host, f.Roles.Epoch, old.Epoch)
	}
	o.hosts[f.Host] = f.Roles
}

func (o *oracle) live(role string) bool {
	for _, h := range o.hosts {
		if h.Agents[role] > 0 {
			return true
		}
	}
	return len(o.hosts) == 0
}

// childDelivered has an agent take over what a child has made that has come to its end.
func (o *oracle) childDelivered(e *loomv1.Event, f *loomv1.ChildDelivered) {
	a := o.attempts[e.Attempt]
	if a == nil || a.done || a.given || a.child == "" {
		o.broken(21, "what a child made for %s is to be taken over", e.Attempt)
		return
	}
	c := o.executions[a.child]
	switch {
	case c == nil || !c.ended || !workflow.Delivered(c.status):
		o.broken(21, "%s gives a change to %s and has not delivered", a.child, e.Attempt)
	case f.Outcome.GetChange().GetPatchDigest() != c.patch || c.patch == "":
		o.broken(21, "%s gives %q to %s and has %q", a.child, f.Outcome.GetChange().GetPatchDigest(), e.Attempt, c.patch)
	}
	o.w.see("child delivers")
	a.given, a.role = true, f.Role
	o.clocks(a, false)
	a.most, a.took = workflow.DefaultTimeout, 0
}

// childStarted links an attempt with who does its work.
func (o *oracle) childStarted(x *execution, e *loomv1.Event, f *loomv1.ChildStarted) {
	a := o.attempts[e.Attempt]
	if a == nil || a.done || a.process == "" || a.child != "" {
		o.broken(6, "%s is linked with child %s", e.Attempt, f.Execution)
		return
	}
	if n := x.nodes[e.Node]; n.number > 1 {
		o.w.see("child tried again")
	}
	a.child = f.Execution
	if o.executions[f.Execution] != nil {
		o.broken(1, "child %s exists before it is linked", f.Execution)
	}
}
