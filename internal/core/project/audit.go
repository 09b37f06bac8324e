package project

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/keyring"
	"github.com/loomrun/loom/internal/core/membership"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Act is what a person did, or what was permitted or refused, as the journal
// has it.
type Act struct {
	Event *loomv1.Event
	// Kind is a few words in kebab case, for example "approval-decided".
	Kind string
	// What it is about, why, and on which digest; empty where there is none.
	What, Why, Digest string
	// Signed says whether the CEO's signature belongs to it.
	Signed bool
	// By is the name of the key that signed it.
	By string
	// Err is what is wrong with the signature, or nil.
	Err error
}

// Auditor finds the acts in journals and checks those that are signed. It needs
// all events of a project, in order; those of several projects may be mixed.
type Auditor struct {
	// Deployment is the one that commands must be signed for.
	Deployment string
	// Roots are the first keys of the deployment, that of now and former ones: by them,
	// and the orders in a project's journal, it knows which keys held there when.
	Roots []ed25519.PublicKey

	nonces map[string]uint64          // project and nonce to the number of the event
	rings  map[string][]*keyring.Ring // of a project, for each root
	asked  map[string]*several        // approvals that take several keys
	calls  map[string]bool            // those about calls of agents
}

// several is an approval that takes the signatures of several keys.
type several struct {
	keys   int
	signed map[string]string // key to its answer
}

// Begin has the auditor go on from what the journal of a project begins with, where its
// past was cut off: the keys that held then, what was asked, and the nonces that were used.
func (a *Auditor) Begin(id string, p *loomv1.ProjectState) {
	a.prepare()
	for _, root := range a.Roots {
		a.rings[id] = append(a.rings[id], keyring.Restore(root, proto.CloneOf(p.GetKeyring())))
	}
	for _, q := range p.GetApprovals() {
		a.ask(id, q)
		for _, s := range q.Signed {
			if of := a.asked[id+"\x00"+q.Id]; of != nil {
				of.signed[s.Key] = wording(s.Decision, s.Choice)
			}
		}
	}
	for nonce := range p.GetNonces() {
		a.nonces[id+"\x00"+nonce] = 0
	}
}

func (a *Auditor) prepare() {
	if a.rings == nil {
		a.nonces, a.rings = map[string]uint64{}, map[string][]*keyring.Ring{}
		a.asked, a.calls = map[string]*several{}, map[string]bool{}
	}
}

// Look returns the act that e records, or nil when it is none.
func (a *Auditor) Look(e *loomv1.Event) *Act {
	act := actOf(e)
	if act == nil {
		return nil
	}
	a.prepare()
	act.Event = e
	if p := e.GetApprovalRequested().GetApproval(); p != nil {
		a.ask(e.Project, p)
	}
	if act.Signed && a.leftToOperators(e) {
		act.Signed = false
	}
	if act.Signed {
		act.By, act.Err = a.check(e)
	}
	for _, r := range a.ringsOf(e.Project) {
		if r.Of(e) {
			r.Apply(e)
		}
	}
	return act
}

// ringsOf returns what is known of a project's keys, for each root.
func (a *Auditor) ringsOf(id string) []*keyring.Ring {
	if a.rings[id] == nil {
		for _, root := range a.Roots {
			a.rings[id] = append(a.rings[id], keyring.Restore(root, nil))
		}
	}
	return a.rings[id]
}

// actOf says what an event records; what it leaves open the caller fills in.
func actOf(e *loomv1.Event) *Act {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ApprovalRequested:
		p := f.ApprovalRequested.Approval
		return &Act{Kind: "approval-requested", What: p.GetId() + ": " + p.GetQuestion(), Why: p.GetReason(), Digest: p.GetDigest()}
	case *loomv1.Event_ApprovalDecided:
		d := f.ApprovalDecided
		return &Act{Kind: "approval-decided", What: d.Approval + ": " + verdict(d.Decision, d.Choice), Why: d.Comment, Digest: d.Digest, Signed: true}
	case *loomv1.Event_ApprovalSigned:
		d := f.ApprovalSigned
		return &Act{Kind: "approval-signed", What: d.Approval + ": " + verdict(d.Decision, d.Choice), Why: d.Comment, Digest: d.Digest, Signed: true}
	case *loomv1.Event_ApprovalLapsed:
		return &Act{Kind: "approval-lapsed", What: f.ApprovalLapsed.Approval, Why: f.ApprovalLapsed.Reason}
	case *loomv1.Event_ApprovalRefused:
		return &Act{Kind: "approval-refused", What: f.ApprovalRefused.Approval, Why: words(f.ApprovalRefused.Error)}
	case *loomv1.Event_CommandRefused:
		return &Act{Kind: "command-refused", What: strings.TrimSpace(f.CommandRefused.Verb + " " + f.CommandRefused.About), Why: words(f.CommandRefused.Error)}
	case *loomv1.Event_OverrideGiven:
		return &Act{Kind: "override-given", What: strings.TrimSpace(f.OverrideGiven.Verb + " " + f.OverrideGiven.About), Why: f.OverrideGiven.Reason, Signed: true}
	case *loomv1.Event_KeyEnrolled:
		return &Act{Kind: "key-enrolled", What: f.KeyEnrolled.Key.GetName(), Why: f.KeyEnrolled.Key.GetReason(), Signed: true}
	case *loomv1.Event_KeyRevoked:
		return &Act{Kind: "key-revoked", What: f.KeyRevoked.Name, Why: f.KeyRevoked.Reason, Signed: true}
	case *loomv1.Event_KeyAwaited:
		c := f.KeyAwaited.Change
		return &Act{Kind: "key-awaited", What: c.GetEnrol().GetKey().GetName() + c.GetRevoke().GetName(), Why: c.GetEnrol().GetReason() + c.GetRevoke().GetReason(), Signed: true}
	case *loomv1.Event_SecurityNoted:
		return &Act{Kind: "security-noted", What: f.SecurityNoted.What, Why: f.SecurityNoted.Detail}
	case *loomv1.Event_JournalCut:
		c := f.JournalCut
		return &Act{Kind: "journal-cut", What: fmt.Sprintf("journal %d up to %d", c.Partition, c.Sequence), Why: "archived in " + c.Archive, Digest: c.ArchiveSha256}
	case *loomv1.Event_RoleScaled:
		return &Act{Kind: "role-scaled", What: f.RoleScaled.GetScale().GetRole(), Why: f.RoleScaled.Reason}
	case *loomv1.Event_HostDrained:
		return &Act{Kind: "host-drained", What: draining(f.HostDrained), Why: f.HostDrained.Reason}
	case *loomv1.Event_MembersChanged:
		return &Act{Kind: "members-changed", What: membership.Words(f.MembersChanged), Why: f.MembersChanged.Reason}
	case *loomv1.Event_ProjectRegistered:
		return byPerson(e, "project-registered", e.Project+": "+f.ProjectRegistered.GetConfig().GetRepository())
	case *loomv1.Event_ProjectRemoved:
		return &Act{Kind: "project-removed", What: e.Project, Why: f.ProjectRemoved.Reason}
	case *loomv1.Event_BeadFiled:
		return byPerson(e, "bead-filed", e.Bead+": "+f.BeadFiled.GetBead().GetGoal())
	case *loomv1.Event_BeadUpdated:
		return byPerson(e, "bead-updated", e.Bead)
	case *loomv1.Event_DefinitionStored:
		return byPerson(e, "definition-stored", f.DefinitionStored.GetDefinition().GetName())
	case *loomv1.Event_ToolFinished:
		return denied(e, f.ToolFinished)
	}
	return nil
}

func draining(d *loomv1.HostDrained) string {
	if d.Undone {
		return d.Host + " takes work again"
	}
	return d.Host + " takes no new work"
}

func verdict(d loomv1.ApprovalDecision, choice string) string {
	if choice != "" {
		return fmt.Sprintf("%s %s", d, choice)
	}
	return d.String()
}

func words(e *loomv1.Error) string { return fmt.Sprintf("%s [%s]", e.GetMessage(), e.GetCode()) }

// byPerson returns an act of a person at the command line, or nil.
func byPerson(e *loomv1.Event, kind, what string) *Act {
	if e.Actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil
	}
	return &Act{Kind: kind, What: what}
}

// denied returns a tool call that the runtime refused, or nil.
func denied(e *loomv1.Event, f *loomv1.ToolFinished) *Act {
	if f.GetResult().GetStatus() != loomv1.ToolStatus_TOOL_STATUS_DENIED {
		return nil
	}
	return &Act{Kind: "tool-denied", What: f.Tool, Why: f.Result.Summary}
}

// signedBy returns the signed command that an event records.
func signedBy(e *loomv1.Event) *loomv1.SignedCommand {
	switch f := e.Fact.(type) {
	case *loomv1.Event_ApprovalDecided:
		return f.ApprovalDecided.Signed
	case *loomv1.Event_ApprovalSigned:
		return f.ApprovalSigned.Signed
	case *loomv1.Event_OverrideGiven:
		return f.OverrideGiven.Signed
	case *loomv1.Event_KeyEnrolled:
		return f.KeyEnrolled.Signed
	case *loomv1.Event_KeyRevoked:
		return f.KeyRevoked.Signed
	case *loomv1.Event_KeyAwaited:
		return f.KeyAwaited.Signed
	}
	return nil
}

// check returns which key signed an act, and what is wrong with its signature.
func (a *Auditor) check(e *loomv1.Event) (string, error) {
	cmd, ring, key, err := a.open(e.Project, signedBy(e))
	if err != nil {
		return "", err
	}
	taken := taken(e, cmd)
	if cmd.Deployment != a.Deployment || cmd.Project != e.Project && !taken {
		return key, fault.New("approval/identity", "it was signed for project %q of deployment %q", cmd.Project, cmd.Deployment)
	}
	if at := wallTime(e); !taken && (at.Add(clockSkew).Before(asTime(cmd.IssuedAt)) || !at.Before(asTime(cmd.NotAfter))) {
		return key, fault.New("approval/expired", "it was carried out outside the times that it was signed for")
	}
	if err := sameAs(e, cmd, ring, key); err != nil {
		return key, err
	}
	if err := a.enough(e, cmd.GetDecide(), ring, key); err != nil {
		return key, err
	}
	return key, a.once(e, cmd.Nonce)
}

// taken says whether a fact about the keys is one that a new project took over from the
// deployment: its order was signed for "system", at some time before.
func taken(e *loomv1.Event, cmd *loomv1.CeoCommand) bool {
	return keyring.Order(cmd) && cmd.Project == System && e.GetOverrideGiven() == nil && e.Actor.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_HOST
}

// open returns what was signed, and by which key that held then.
func (a *Auditor) open(id string, c *loomv1.SignedCommand) (*loomv1.CeoCommand, *keyring.Ring, string, error) {
	if c == nil {
		return nil, nil, "", fault.New("approval/signature", "nobody signed it")
	}
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(c.Payload, cmd); err != nil {
		return nil, nil, "", fault.New("approval/signature", "what was signed is no command")
	}
	why := fault.New("approval/signature", "the signature is not the CEO's")
	for _, r := range a.ringsOf(id) {
		key, err := r.Signer(c)
		if err == nil {
			return cmd, r, key.Name, nil
		}
		if fault.Code(err) != "approval/signature" {
			why = fault.From(err)
		}
	}
	return nil, nil, "", why
}

// sameAs returns approval/digest unless the event says what was signed.
func sameAs(e *loomv1.Event, cmd *loomv1.CeoCommand, ring *keyring.Ring, key string) error {
	answer := func(approval, digest string, decision loomv1.ApprovalDecision, comment, choice string) string {
		return fmt.Sprintf("%q %q %v %q %q", approval, digest, decision, comment, choice)
	}
	v := cmd.GetDecide()
	want, signed := "", ""
	switch f := e.Fact.(type) {
	case *loomv1.Event_ApprovalDecided:
		d, choice := f.ApprovalDecided, v.GetChoice()
		if d.Choice == "" {
			choice = "" // it had none to make
		}
		want = answer(d.Approval, d.Digest, d.Decision, d.Comment, d.Choice)
		signed = answer(v.GetApproval(), v.GetDigest(), v.GetDecision(), v.GetComment(), choice)
	case *loomv1.Event_ApprovalSigned:
		d := f.ApprovalSigned
		want = answer(d.Approval, d.Digest, d.Decision, d.Comment, d.Choice)
		signed = answer(v.GetApproval(), v.GetDigest(), v.GetDecision(), v.GetComment(), v.GetChoice())
	case *loomv1.Event_OverrideGiven:
		o, s := f.OverrideGiven, orderOf(cmd)
		want, signed = fmt.Sprintf("%q %q %q", o.Verb, o.About, o.Reason), fmt.Sprintf("%q %q %q", s.verb, s.about, s.reason)
	default: // what the order makes of the keys as they were
		fact, err := ring.Decide(key, signedBy(e), cmd)
		if err != nil || fact == nil || !proto.Equal(&loomv1.Event{Fact: e.Fact}, fact) {
			return fault.New("approval/digest", "the record says another change of the keys than was signed")
		}
		return nil
	}
	if want != signed {
		return fault.New("approval/digest", "the record says %s, and %s was signed", want, signed)
	}
	return nil
}

// enough returns key/missing for an answer that lets work go on and takes the signatures
// of more keys than have signed it. It counts by itself, from what was asked and signed.
func (a *Auditor) enough(e *loomv1.Event, v *loomv1.DecideApproval, ring *keyring.Ring, key string) error {
	p := a.asked[e.Project+"\x00"+v.GetApproval()]
	if p == nil || !GoesOn(v.GetDecision()) {
		return nil
	}
	answer := wording(v.Decision, v.Choice)
	p.signed[key] = answer
	if e.GetApprovalDecided() == nil {
		return nil
	}
	n := 0
	for k, said := range p.signed {
		if said == answer && ring.Holds(k) {
			n++
		}
	}
	if n < p.keys {
		return fault.New("key/missing", "it takes the signatures of %d keys, and has %d", p.keys, n)
	}
	return nil
}

// leftToOperators says whether an answer is of an operator, and about what operators may
// answer: of all else the journal must have a signature.
func (a *Auditor) leftToOperators(e *loomv1.Event) bool {
	d := e.GetApprovalDecided()
	return d != nil && d.Signed == nil && e.Actor.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_OPERATOR && a.calls[e.Project+"\x00"+d.Approval] &&
		(d.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE || d.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT)
}

// ask keeps what is asked where an operator may answer, or it takes the signatures of
// several keys.
func (a *Auditor) ask(id string, p *loomv1.Approval) {
	if p.GetPermission() != nil {
		a.calls[id+"\x00"+p.Id] = true
	}
	if p.GetKeys() > 1 {
		a.asked[id+"\x00"+p.Id] = &several{int(p.Keys), map[string]string{}}
	}
}

func wording(v loomv1.ApprovalDecision, choice string) string { return fmt.Sprint(v, choice) }

// once returns approval/replayed when a nonce was used before.
func (a *Auditor) once(e *loomv1.Event, nonce string) error {
	if nonce == "" {
		return errors.New("it has no nonce")
	}
	key := e.Project + "\x00" + nonce
	if before, used := a.nonces[key]; used {
		return fault.New("approval/replayed", "its nonce was used before, by event %d", before)
	}
	a.nonces[key] = e.Number
	return nil
}
