package simulation

import (
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (o *oracle) asked(x *execution, a *loomv1.Approval) {
	o.approvals[a.Id] = &asked{Approval: a}
	o.inbox = append(o.inbox, o.approvals[a.Id])
	if x != nil && x.ended {
		o.broken(8, "%s asks after the end", a.Node)
	}
	if n := x.asks(a.Node); n != nil {
		n.reached = true
	}
	switch {
	case a.Node == "":
		o.askedOfAll(x, a)
	case a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION:
		o.escalated(x, x.nodes[a.Node], a)
	}
}

// asks returns the node that an approval is about, nil for none.
func (x *execution) asks(node string) *nodeOracle {
	if x == nil || node == "" {
		return nil
	}
	return x.nodes[node]
}

// escalated wants one escalation for each limit.
func (o *oracle) escalated(x *execution, n *nodeOracle, a *loomv1.Approval) {
	o.w.see("escalation")
	x.stranded = o.now
	code, _, _ := strings.Cut(a.Reason, ":")
	o.w.see("escalation: " + code)
	if a.Halts {
		o.w.see("halt")
	}
	if n.restarts != o.w.keeper.restarts {
		o.w.see("escalation after a restart")
	}
	if n.def.Kind == loomv1.NodeKind_NODE_KIND_VERIFY && n.number >= 3 {
		o.w.see("verification fails three times, then the CEO")
	}
	if code == "agent/none-live" && o.live(n.last.role) && !o.untaken(n.last) {
		o.broken(22, "%s is escalated because nobody of role %s is there, and somebody is", a.Node, n.last.role)
	}
	if code == "attempt/exhausted" && n.number < n.def.MaxAttempts+n.extra {
		o.broken(22, "%s is escalated after %d attempts, it has %d and was granted %d", a.Node, n.number, n.def.MaxAttempts, n.extra)
	}
	if n.escalations[a.Visit]++; n.escalations[a.Visit] > 1+n.granted[a.Visit] {
		o.broken(22, "%s of %s is escalated %d times in visit %d, and the CEO granted more %d times", a.Node, x.id, n.escalations[a.Visit], a.Visit, n.granted[a.Visit])
	}
}

// decided checks a decision as somebody would who believes nobody.
func (o *oracle) decided(e *loomv1.Event, f *loomv1.ApprovalDecided) {
	a := o.approvals[f.Approval]
	cmd, by := o.signed(f.Signed)
	if a == nil || cmd == nil || e.Actor.GetName() != by {
		o.broken(11, "approval %s is decided without a question or with a wrong signature", f.Approval)
		return
	}
	d := cmd.GetDecide()
	if a.closed || o.ended[a.Id] || d.GetApproval() != a.Id || d.GetDigest() != a.Digest || d.GetDecision() != f.Decision {
		o.broken(11, "approval %s is decided by a command about something else: %v", f.Approval, cmd)
	}
	o.spend(cmd.Nonce, "the decision of approval "+f.Approval)
	o.enough(a, d, by)
	o.closed(a)
	if a.Node == "" {
		return
	}
	x := o.executions[a.Execution]
	if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL && a.Change.GetPatchDigest() != x.patch {
		o.broken(11, "approval %s is decided about patch %q, and %q stands", f.Approval, a.Change.GetPatchDigest(), x.patch)
	}
	if a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL && f.Decision == approve && x.patch != "" {
		x.approved = a.Id
	}
	if f.Decision == requestChanges {
		x.replans = a.Node
	}
	n := x.nodes[a.Node]
	n.waived = n.waived || f.Decision == approve && a.Gate
	if f.Decision == approve && a.Permission == nil || a.Kind == loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION {
		n.granted[a.Visit]++
	}
}

// lapsed closes a question that is moot, or takes back what was approved.
func (o *oracle) lapsed(x *execution, f *loomv1.ApprovalLapsed) {
	a := o.approvals[f.Approval]
	if a == nil {
		o.broken(2, "approval %s lapses, which was never asked", f.Approval)
		return
	}
	o.w.see("approval lapsed")
	if x != nil && x.approved == f.Approval {
		x.approved = ""
	}
	if x != nil && a.Node == "" && !a.closed {
		x.unanswered = true // which only an end may follow, or a question that grants something else
	}
	if f.Reason == "another patch was proposed" && a.closed {
		o.w.see("approval lapsed by another patch")
	}
	if x != nil && x.ended {
		o.broken(8, "approval %s lapses after the end", f.Approval)
	}
	o.closed(a)
}
