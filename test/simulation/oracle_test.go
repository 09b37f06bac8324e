package simulation

import (
	"crypto/ed25519"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// oracle sees every event of the journal, in order, and knows from events alone
// what may come. It also keeps a fold of them, as another host would.
type oracle struct {
	w    *world
	twin *project.State

	beads      map[string]*loomv1.Bead // as filed
	ended      map[string]bool         // beads
	executions map[string]*execution
	attempts   map[string]*attempt
	approvals  map[string]*asked
	nonces     map[string]bool
	answers    map[string]bool // model answers, by attempt and request
	links      map[string][]string
	decisions  map[string]bool
	lock       lockOracle
}

type execution struct {
	id, bead   string
	def        *loomv1.Definition
	ended      bool
	nodes      map[string]*nodeOracle
	edges      map[string]bool
	patch      string // of the change that stands
	candidates map[string]string
	landed     map[string]bool
	newest     *loomv1.Candidate
	verified   map[string]bool // commits
}

type nodeOracle struct {
	def         *loomv1.NodeDefinition
	attempt     string // outstanding
	visit       uint32
	number      uint32
	granted     map[uint32]uint32 // rounds of attempts from the CEO, by visit
	escalations map[uint32]uint32
	restarts    int // of the keeper when an attempt last ended
}

type attempt struct {
	id, node, role string
	x              *execution
	generation     uint32
	claimant       *loomv1.Claimant
	done, parked   bool
}

type asked struct {
	*loomv1.Approval
	closed bool
}

func newOracle(w *world) *oracle {
	return &oracle{
		w: w, twin: project.New(project.Config{ID: shop, Deployment: deployment, LockLease: w.lease, CEO: ceoKey.Public().(ed25519.PublicKey)}),
		beads: map[string]*loomv1.Bead{}, ended: map[string]bool{}, executions: map[string]*execution{},
		attempts: map[string]*attempt{}, approvals: map[string]*asked{}, nonces: map[string]bool{}, answers: map[string]bool{},
		links: map[string][]string{}, decisions: map[string]bool{},
	}
}

func (o *oracle) broken(format string, args ...any) { o.w.broken(format, args...) }

// saw checks the next event of the journal against all before it.
func (o *oracle) saw(e *loomv1.Event) {
	o.w.note("    %d %s", e.Number, tellEvent(e))
	if err := o.twin.Apply(proto.CloneOf(e)); err != nil {
		o.broken("another host: %v", err)
	}
	x := o.executions[e.Execution]
	switch f := e.Fact.(type) {
	case *loomv1.Event_BeadFiled:
		o.filed(f.BeadFiled.Bead)
	case *loomv1.Event_BeadStatusChanged:
		o.status(e.Bead, f.BeadStatusChanged.Status)
	case *loomv1.Event_ExecutionStarted:
		o.started(e, f.ExecutionStarted)
	case *loomv1.Event_DecisionAdded:
		o.added(f.DecisionAdded)
	case *loomv1.Event_DecisionLinked:
		o.linked(f.DecisionLinked.Edge)
	case *loomv1.Event_DecisionSuperseded:
		o.linked(f.DecisionSuperseded.Edge)
	case *loomv1.Event_LockRequested, *loomv1.Event_LockGranted, *loomv1.Event_LockRenewed, *loomv1.Event_LockReleased,
		*loomv1.Event_LockExpired, *loomv1.Event_LockWithdrawn:
		o.lock.saw(o, e)
	case *loomv1.Event_ApprovalRequested:
		o.asked(x, f.ApprovalRequested.Approval)
	case *loomv1.Event_ApprovalDecided:
		o.decided(f.ApprovalDecided)
	case *loomv1.Event_ApprovalRefused, *loomv1.Event_ProjectRegistered, *loomv1.Event_DefinitionStored, *loomv1.Event_BeadOccurred:
	case *loomv1.Event_ModelAnswered:
		o.answered(e, f.ModelAnswered.Answer)
	default:
		o.sawWork(x, e)
	}
}

func (o *oracle) filed(b *loomv1.Bead) {
	if o.beads[b.Id] != nil {
		o.broken("bead %s is filed twice", b.Id)
	}
	for id, other := range o.beads {
		if b.Fingerprint != "" && other.Fingerprint == b.Fingerprint && !o.ended[id] {
			o.broken("bead %s is filed for the error that bead %s is open for", b.Id, id)
		}
	}
	o.beads[b.Id] = b
}

func (o *oracle) status(bead string, s loomv1.BeadStatus) {
	if o.ended[bead] {
		o.broken("bead %s, which has ended, becomes %s", bead, s)
	}
	switch s {
	case loomv1.BeadStatus_BEAD_STATUS_CLOSED, loomv1.BeadStatus_BEAD_STATUS_FAILED, loomv1.BeadStatus_BEAD_STATUS_ABORTED:
		o.ended[bead] = true
	}
}

func (o *oracle) started(e *loomv1.Event, f *loomv1.ExecutionStarted) {
	for _, x := range o.executions {
		if x.bead == e.Bead {
			o.broken("bead %s has a second execution", e.Bead)
		}
	}
	x := &execution{
		id: e.Execution, bead: e.Bead, def: auto, nodes: map[string]*nodeOracle{}, edges: map[string]bool{},
		candidates: map[string]string{}, landed: map[string]bool{}, verified: map[string]bool{},
	}
	if f.Definition == o.w.definition.Name {
		x.def = o.w.definition
	}
	for _, n := range x.def.Nodes {
		x.nodes[n.Id] = &nodeOracle{def: n, granted: map[uint32]uint32{}, escalations: map[uint32]uint32{}}
	}
	o.executions[x.id] = x
}

// acknowledged checks what a publisher was told.
func (o *oracle) acknowledged(r *loomv1.SubmitReply) {
	if x := o.executions[r.Execution]; x == nil || x.bead != r.Bead || o.beads[r.Bead] == nil {
		o.broken("bead %s was acknowledged with execution %s, which the journal does not have", r.Bead, r.Execution)
	}
}

// derivable checks that an assignment is of the journal.
func (o *oracle) derivable(as *loomv1.Assignment) {
	a := o.attempts[as.Attempt]
	if a == nil || a.role != as.Role || as.Generation > a.generation {
		o.broken("the work queue is given %s generation %d for %s, which the journal does not have", as.Attempt, as.Generation, as.Role)
	}
}

func (o *oracle) asked(x *execution, a *loomv1.Approval) {
	n := x.nodes[a.Node]
	o.approvals[a.Id] = &asked{Approval: a}
	if x.ended {
		o.broken("%s asks after the end", a.Node)
	}
	if a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		return
	}
	o.w.see("escalation")
	if n.restarts != o.w.keeper.restarts {
		o.w.see("escalation after a restart")
	}
	if n.escalations[a.Visit]++; n.escalations[a.Visit] > 1+n.granted[a.Visit] {
		o.broken("%s of %s is escalated %d times in visit %d, and the CEO granted more %d times", a.Node, x.id, n.escalations[a.Visit], a.Visit, n.granted[a.Visit])
	}
}

// decided checks a decision as somebody would who believes nobody.
func (o *oracle) decided(f *loomv1.ApprovalDecided) {
	a := o.approvals[f.Approval]
	cmd := &loomv1.CeoCommand{}
	if a == nil || f.Signed == nil || proto.Unmarshal(f.Signed.Payload, cmd) != nil {
		o.broken("approval %s is decided without a question or a signature", f.Approval)
		return
	}
	if !ed25519.Verify(ceoKey.Public().(ed25519.PublicKey), append([]byte("loom.v1.ceo\n"), f.Signed.Payload...), f.Signed.Signature) {
		o.broken("approval %s is decided with a wrong signature", f.Approval)
	}
	d := cmd.GetDecide()
	if a.closed || o.ended[a.Id] || d.GetApproval() != a.Id || d.GetDigest() != a.Digest || d.GetDecision() != f.Decision || cmd.Deployment != deployment {
		o.broken("approval %s is decided by a command about something else: %v", f.Approval, cmd)
	}
	if o.nonces[cmd.Nonce] {
		o.broken("approval %s is decided with nonce %s, which was used before", f.Approval, cmd.Nonce)
	}
	a.closed, o.nonces[cmd.Nonce] = true, true
	if f.Decision == approve || a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		o.executions[a.Execution].nodes[a.Node].granted[a.Visit]++
	}
}

func (o *oracle) answered(e *loomv1.Event, m *loomv1.ModelAnswer) {
	key := e.Attempt + "/" + m.Request
	if o.answers[key] {
		o.broken("the model was asked %s again though it had answered", key)
	}
	o.answers[key] = true
	o.fromClaimant(e)
}

// added wants a request to have added one decision.
func (o *oracle) added(f *loomv1.DecisionAdded) {
	if key := "request " + f.Request; f.Request != "" {
		if o.decisions[key] {
			o.broken("decision %s was added before by the same request", f.Node.Id)
		}
		o.decisions[key] = true
	}
	o.decisions[f.Node.Id] = true
}

func (o *oracle) linked(l *loomv1.DecisionEdge) {
	if !o.decisions[l.From] || !o.decisions[l.To] || l.From == l.To {
		o.broken("decision edge from %q to %q", l.From, l.To)
	}
	o.links[l.From] = append(o.links[l.From], l.To)
}

// freed wants nothing left in the hands of earlier starts of a host.
func (o *oracle) freed(host string, epoch uint64) {
	for _, a := range o.attempts {
		if c := a.claimant; !a.done && c.GetHost() == host && c.GetEpoch() < epoch-1 {
			o.broken("%s is still held by %s after host %s has started with epoch %d", a.id, sign(c), host, epoch)
		}
	}
}

// open counts executions that run.
func (o *oracle) open() (n int) {
	for _, x := range o.executions {
		if !x.ended {
			n++
		}
	}
	return n
}

func (o *oracle) waitsFor() string {
	var waits []string
	for _, id := range slices.Sorted(maps.Keys(o.attempts)) {
		if a := o.attempts[id]; !a.done {
			waits = append(waits, fmt.Sprintf("%s (%s, claimed by %v)", id, a.role, a.claimant))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(o.approvals)) {
		if a := o.approvals[id]; !a.closed && !o.ended[id] {
			waits = append(waits, "approval "+id)
		}
	}
	return strings.Join(waits, ", ")
}

// anyAttempt returns any attempt, who holds it, and its role.
func (o *oracle) anyAttempt(rng *rand.Rand) (id, owner, role string) {
	ids := slices.Sorted(maps.Keys(o.attempts))
	if len(ids) == 0 {
		return "", "", ""
	}
	a := o.attempts[ids[len(ids)-1-rng.IntN(min(len(ids), 4))]]
	if a.claimant != nil {
		owner = sign(a.claimant)
	}
	return a.id, owner, a.role
}

func tellEvent(e *loomv1.Event) string {
	s := strings.TrimPrefix(fmt.Sprintf("%T", e.Fact), "*loomv1.Event_")
	for _, part := range []string{e.Bead, e.Node, e.Attempt} {
		if part != "" {
			s += " " + part
		}
	}
	switch f := e.Fact.(type) {
	case *loomv1.Event_LockGranted:
		s += fmt.Sprintf(" to %s token %d", f.LockGranted.Request, f.LockGranted.Token)
	case *loomv1.Event_AttemptEnded:
		s += fmt.Sprintf(" %s %s", f.AttemptEnded.Outcome.Status, f.AttemptEnded.Outcome.Code)
	case *loomv1.Event_ApprovalRequested:
		s += " " + f.ApprovalRequested.Approval.Reason
	case *loomv1.Event_ApprovalDecided:
		s += " " + f.ApprovalDecided.Decision.String()
	case *loomv1.Event_EdgeSettled:
		s += fmt.Sprintf(" %s %t", f.EdgeSettled.Edge, f.EdgeSettled.Taken)
	}
	return s
}
