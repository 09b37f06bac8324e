package project

import (
	"crypto/subtle"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// clockSkew is how far the clock of the CEO's machine may run ahead.
const clockSkew = 5 * time.Minute

// verify returns the command that c carries, also beside an error when it can be read at
// all, and notes which key has signed it.
func (d *decision) verify(c *loomv1.SignedCommand) (*loomv1.CeoCommand, error) {
	cmd := &loomv1.CeoCommand{}
	if err := proto.Unmarshal(c.GetPayload(), cmd); err != nil {
		return nil, fault.New("command/malformed", "signed payload is not a CEO command")
	}
	if len(c.Payload) > maxSigned {
		return cmd, fault.New("submit/too-large", "signed command has %d bytes, the most is %d", len(c.Payload), maxSigned)
	}
	if d.actor.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_CEO {
		return cmd, fault.New("approval/identity", "%s %q is not the CEO", d.actor.GetKind(), d.actor.GetName())
	}
	key, err := d.s.ring.Signer(c)
	if err != nil {
		return cmd, err
	}
	if cmd.Deployment != d.s.cfg.Deployment || cmd.Project != d.s.cfg.ID {
		return cmd, fault.New("approval/identity", "command was signed for project %q of deployment %q", cmd.Project, cmd.Deployment)
	}
	if d.wall.Add(clockSkew).Before(asTime(cmd.IssuedAt)) || !d.wall.Before(asTime(cmd.NotAfter)) {
		return cmd, fault.New("approval/expired", "signed command holds from %s to %s, and %s",
			asTime(cmd.IssuedAt).Format(time.RFC3339), asTime(cmd.NotAfter).Format(time.RFC3339), d.clocks()).
			Want("set the clock that is wrong, of the machine that signed or of the host, and sign again")
	}
	d.signer = key
	return cmd, nil
}

// decideApproval carries out an answer to an approval. The same answer again
// changes nothing.
func (d *decision) decideApproval(signed *loomv1.SignedCommand, v *loomv1.DecideApproval) error {
	a := d.s.approval(v.Approval)
	if a == nil {
		return fault.New("approval/unknown", "approval %q is not known in project %q", v.Approval, d.s.cfg.ID).At("approval")
	}
	if d.decidedSo(a, v) || d.signedBefore(a, v) {
		return nil
	}
	switch used, err := d.usedBefore(signed, nonceOf(signed)); {
	case err != nil:
		return err
	case used:
		return fault.New("approval/replayed", "signed command was used before")
	}
	if err := d.checkDecision(a, v); err != nil {
		return err
	}
	x := d.s.execution(a.Execution)
	if waits, err := d.countersigned(x, signed, a, v); waits || err != nil {
		return err
	}
	switch {
	case a.Ballot != "":
		return d.decideBallot(signed, a, v)
	case x == nil:
		return d.decideStorm(signed, a, v)
	}
	defer d.about(x)()
	d.node = a.Node
	if a.Permission != nil {
		return d.decidePermission(x, signed, a, v)
	}
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
	if a.Node == "" && v.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE {
		if err := d.lift(x, a); err != nil || x.LimitApproval != "" {
			return err
		}
	}
	return d.run(x).Decide(a, v)
}

// decidedSo says whether an approval has this very answer, of this very name.
func (d *decision) decidedSo(a *loomv1.Approval, v *loomv1.DecideApproval) bool {
	return a.Decision == v.Decision && a.Digest == v.Digest && a.Comment == v.Comment && d.chosen(a, v.Choice) && a.DecidedBy.GetName() == d.actor.Name
}

// countersigned is countersign, about the execution that is asked about.
func (d *decision) countersigned(x *loomv1.Execution, c *loomv1.SignedCommand, a *loomv1.Approval, v *loomv1.DecideApproval) (bool, error) {
	if x != nil {
		defer d.about(x)()
		defer func(node string) { d.node = node }(d.node)
		d.node = a.Node
	}
	return d.countersign(c, a, v)
}

func (d *decision) checkDecision(a *loomv1.Approval, v *loomv1.DecideApproval) error {
	if a.Decision != loomv1.ApprovalDecision_APPROVAL_DECISION_UNSPECIFIED {
		return fault.New("approval/decided", "approval %q was answered before, with %s by %s, at %s", a.Id, Word(a.Decision), a.DecidedBy.GetName(), asTime(a.DecidedAt).Format(time.RFC3339)).At("approval")
	}
	if ended(d.s.bead(a.Id).GetStatus()) {
		return fault.New("approval/lapsed", "approval %q lapsed: %s", a.Id, d.s.bead(a.Id).GetReason()).At("approval")
	}
	if v.Digest == "" {
		return fault.New("approval/digest", "the answer has no digest, which says what was shown").At("digest").
			Want("the digest of approval %s, as the inbox has it", a.Id)
	}
	if subtle.ConstantTimeCompare([]byte(a.Digest), []byte(v.Digest)) != 1 {
		return fault.New("approval/digest", "the answer is about %.12s, approval %q is about %.12s", v.Digest, a.Id, a.Digest).At("digest").
			Want("look at it again with \"loom inbox %s\"", a.Id)
	}
	if len(v.Comment) > MaxComment {
		return fault.New("submit/too-large", "comment has %d bytes, the most is %d", len(v.Comment), MaxComment).At("comment")
	}
	return CheckAnswer(a, v)
}

// noteDecision puts an answer into the decision graph.
func (d *decision) noteDecision(a *loomv1.Approval, v *loomv1.DecideApproval) (string, error) {
	title := map[loomv1.ApprovalDecision]string{
		loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE:         "approved: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT:          "rejected: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_REQUEST_CHANGES: "asked for changes: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_RETRY:           "granted more attempts: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_SKIP:            "skipped: ",
		loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS:          "allowed for good: ",
	}[v.Decision] + a.Question
	who := "CEO "
	if d.signer == nil { // an operator
		who = d.actor.GetName() + " "
	}
	title = who + title
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
