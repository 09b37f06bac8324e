package project

import (
	"crypto/ed25519"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// signedPrefix is signed before the payload, so that a signature made for
// another purpose is worth nothing here.
const signedPrefix = "loom.v1.ceo\n"

// clockSkew is how far the clock of the CEO's machine may run ahead.
const clockSkew = 5 * time.Minute

// SignedBytes returns what is signed for a payload.
func SignedBytes(payload []byte) []byte { return append([]byte(signedPrefix), payload...) }

// signed checks a CEO's command and carries it out. What is refused is
// recorded, once for each presentation, with who presented it.
func (d *decision) signed(c *loomv1.SignedCommand) error {
	cmd, err := d.verify(c)
	if err != nil {
		return d.refuse(cmd.GetDecide().GetApproval(), err)
	}
	d.actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: hex.EncodeToString(d.s.cfg.CEO)} // what the command says of its key is not signed
	switch v := cmd.Verb.(type) {
	case *loomv1.CeoCommand_Decide:
		return d.decideApproval(c, v.Decide)
	}
	return fault.New("command/malformed", "the signed command asks for nothing that this release knows")
}

// verify returns the command that c carries, also beside an error when it can
// be read at all.
func (d *decision) verify(c *loomv1.SignedCommand) (*loomv1.CeoCommand, error) {
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(c.GetPayload(), cmd); err != nil {
		return nil, fault.New("command/malformed", "signed payload is not a CEO command")
	}
	if len(d.s.cfg.CEO) != ed25519.PublicKeySize {
		return cmd, fault.New("approval/identity", "this deployment has no CEO key enrolled")
	}
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO {
		return cmd, fault.New("approval/identity", "%s %q is not the CEO", d.actor.GetKind(), d.actor.GetName())
	}
	if !ed25519.Verify(d.s.cfg.CEO, SignedBytes(c.Payload), c.Signature) {
		return cmd, fault.New("approval/signature", "signature is not the CEO's").Want("sign with the key that \"loom auth ceo\" shows")
	}
	if cmd.Deployment != d.s.cfg.Deployment || cmd.Project != d.s.cfg.ID {
		return cmd, fault.New("approval/identity", "command was signed for project %q of deployment %q", cmd.Project, cmd.Deployment)
	}
	if d.now.Add(clockSkew).Before(asTime(cmd.IssuedAt)) || !d.now.Before(asTime(cmd.NotAfter)) {
		return cmd, fault.New("approval/expired", "signed command holds from %s to %s", asTime(cmd.IssuedAt).Format(time.RFC3339), asTime(cmd.NotAfter).Format(time.RFC3339))
	}
	return cmd, nil
}

// refuse records that an answer was not accepted, and returns why.
func (d *decision) refuse(approval string, why error) error {
	a := d.s.p.Approvals[approval]
	if a == nil {
		return why // there is nothing to record it on
	}
	d.bead, d.execution, d.node = a.Bead, a.Execution, a.Node
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalRefused{ApprovalRefused: &loomv1.ApprovalRefused{
		Approval: approval, Error: fault.From(why).Proto(),
	}}}); err != nil {
		return err
	}
	d.refusalRecorded = true
	return why
}

func (d *decision) decideApproval(signed *loomv1.SignedCommand, v *loomv1.DecideApproval) error {
	a := d.s.p.Approvals[v.Approval]
	if a == nil {
		return fault.New("approval/unknown", "approval %q is not known in project %q", v.Approval, d.s.cfg.ID).At("approval")
	}
	if a.Decision == v.Decision && a.Digest == v.Digest && a.Comment == v.Comment {
		return nil // the same answer again
	}
	if n := nonceOf(signed); n == "" || d.s.p.Nonces[n] {
		return d.refuse(a.Id, fault.New("approval/replayed", "signed command was used before"))
	}
	if err := d.checkDecision(a, v); err != nil {
		return d.refuse(a.Id, err)
	}
	x := d.s.p.Executions[a.Execution]
	defer d.about(x)()
	d.node = a.Node
	node, err := d.noteDecision(a, v)
	if err != nil {
		return err
	}
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{
		Approval: a.Id, Decision: v.Decision, Comment: v.Comment, Digest: v.Digest, Signed: signed, DecisionNode: node,
	}}}); err != nil {
		return err
	}
	d.node = ""
	return d.run(x).Decide(a, v)
}

func (d *decision) checkDecision(a *loomv1.Approval, v *loomv1.DecideApproval) error {
	if a.Decision != loomv1.ApprovalDecision_APPROVAL_DECISION_UNSPECIFIED {
		return fault.New("approval/decided", "approval %q was answered before, at %s", a.Id, asTime(a.DecidedAt).Format(time.RFC3339)).At("approval")
	}
	if ended(d.s.p.Beads[a.Id].GetStatus()) {
		return fault.New("approval/lapsed", "approval %q lapsed: %s", a.Id, d.s.p.Beads[a.Id].GetReason()).At("approval")
	}
	if subtle.ConstantTimeCompare([]byte(a.Digest), []byte(v.Digest)) != 1 {
		return fault.New("approval/digest", "the answer is about %.12s, approval %q is about %.12s", v.Digest, a.Id, a.Digest).At("digest").
			Want("look at it again with \"loom inbox %s\"", a.Id)
	}
	if len(v.Comment) > MaxComment {
		return fault.New("submit/too-large", "comment has %d bytes, the most is %d", len(v.Comment), MaxComment).At("comment")
	}
	if !slices.Contains(a.Options, v.Decision) {
		return fault.New("approval/option", "approval %q cannot be answered with %s", a.Id, v.Decision).At("decision")
	}
	return nil
}

// noteDecision puts the CEO's answer into the decision graph.
func (d *decision) noteDecision(a *loomv1.Approval, v *loomv1.DecideApproval) (string, error) {
	title := map[loomv1.ApprovalDecision]string{
		loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE:         "CEO approved: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT:          "CEO rejected: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES: "CEO asked for changes: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY:           "CEO granted more attempts: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP:            "CEO skipped: ",
	}[v.Decision] + a.Question
	if err := d.note(loomv1.DecisionType_DECISION_TYPE_DECISION, title, v.Comment, 100, d.leading(a.Execution)); err != nil {
		return "", err
	}
	for i := len(d.events) - 1; i >= 0; i-- {
		if f := d.events[i].GetDecisionAdded(); f != nil {
			return f.Node.Id, nil
		}
	}
	return "", nil
}

func nonceOf(c *loomv1.SignedCommand) string {
	cmd := &loomv1.CeoCommand{}
	if c == nil || proto.Unmarshal(c.Payload, cmd) != nil {
		return ""
	}
	return cmd.Nonce
}
