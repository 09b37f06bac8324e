package project

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ballotsPerTick bounds how many ballots run out of time in one command.
const ballotsPerTick = 16

func (d *decision) openBallot(c *loomv1.OpenBallot) error {
	events, err := d.s.graph.Open(d.now, c)
	if err != nil {
		return err
	}
	return d.onBallot(c.GetBallot().GetDecision(), events)
}

// castVote casts the vote of a role. An agent votes for the role it works in,
// and for no other.
func (d *decision) castVote(c *loomv1.CastVote) error {
	role := c.GetVote().GetRole()
	if d.actor.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_AGENT && !strings.HasPrefix(d.actor.Name, role+"/") {
		return fault.New("graph/no-voter", "agent %s does not work in this role", d.actor.Name).At("/vote/role").Got(role)
	}
	if c.Request != "" { // of any length
		c = &loomv1.CastVote{Decision: c.Decision, Vote: c.Vote, Request: hexHash("vote", c.Request)}
	}
	events, err := d.s.graph.Vote(d.now, c)
	if err != nil {
		return err
	}
	return d.onBallot(c.Decision, events)
}

// tickBallots passes on what voters, or the lead, had their time for. Each is
// applied before the next is looked at: they number the links they make.
func (d *decision) tickBallots() error {
	for range ballotsPerTick {
		events := d.s.graph.TickBallots(d.now, 1)
		if len(events) == 0 {
			return nil
		}
		if err := d.onBallot(decisionOf(events[0]), events); err != nil {
			return err
		}
	}
	return nil
}

// decisionOf returns the decision whose ballot a fact is about.
func decisionOf(e *loomv1.Event) string {
	if f := e.GetBallotClosed(); f != nil {
		return f.Decision
	}
	return e.GetBallotReferred().GetDecision()
}

// onBallot emits facts about what the decision is about.
func (d *decision) onBallot(decision string, events []*loomv1.Event) error {
	defer d.aside()()
	n, _ := d.s.graph.Node(decision)
	d.bead, d.execution, d.node, d.attempt = n.GetBead(), n.GetExecution(), "", ""
	if d.s.graph.Imported(decision) {
		d.bead, d.execution = "", ""
	}
	return d.all(events, nil)
}

// followReferred asks the CEO about a vote that nobody else has decided.
func (d *decision) followReferred(e *loomv1.Event) error {
	f := e.GetBallotReferred()
	b, ok := d.s.graph.Ballot(f.Decision)
	if !ok || f.Status != loomv1.BallotStatus_BALLOT_STATUS_CEO {
		return nil
	}
	n, _ := d.s.graph.Node(b.Decision)
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	a := &loomv1.Approval{
		Id: d.nextBead(), Bead: b.Bead, Kind: loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION, Ballot: b.Decision,
		Question: cut("Which is it to be: "+n.Title, MaxGoal), Reason: "graph/undecided: " + f.Reason,
		Options: []loomv1.ApprovalDecision{loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE},
		Choices: choices(d.s.graph, b),
	}
	for _, c := range a.Choices {
		a.NextSteps = append(a.NextSteps, fmt.Sprintf("approve --choice %s: %s", c.Id, c.Title))
	}
	a.Digest = workflow.Digest(a)
	return d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{ApprovalRequested: &loomv1.ApprovalRequested{Approval: a}}})
}

// followVoid lets what the CEO is asked about a vote lapse when the vote is void.
func (d *decision) followVoid(e *loomv1.Event) error {
	f := e.GetBallotClosed()
	if f.Option != "" {
		return nil // it is decided
	}
	defer d.aside()()
	d.bead, d.execution, d.node, d.attempt = "", "", "", ""
	for _, id := range slices.Clone(d.s.index.asking) {
		if a := d.s.approval(id); a.Ballot == f.Decision && d.s.asks(a) {
			lapse := &loomv1.ApprovalLapsed{Approval: id, Reason: cut(f.Reason, MaxReason)}
			if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalLapsed{ApprovalLapsed: lapse}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// choices names the options of a ballot.
func choices(g *graph.Graph, b *loomv1.Ballot) []*loomv1.Choice {
	var list []*loomv1.Choice
	for _, o := range b.Options {
		n, _ := g.Node(o)
		list = append(list, &loomv1.Choice{Id: o, Title: n.GetTitle()})
	}
	return list
}

// decideBallot carries out the CEO's choice.
func (d *decision) decideBallot(signed *loomv1.SignedCommand, a *loomv1.Approval, v *loomv1.DecideApproval) error {
	settled, err := d.s.graph.Settle(a.Ballot, v.Choice, v.Comment)
	if err != nil {
		return err
	}
	if err := d.emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalDecided{ApprovalDecided: &loomv1.ApprovalDecided{
		Approval: a.Id, Decision: v.Decision, Comment: v.Comment, Digest: v.Digest, Signed: signed, Choice: v.Choice,
	}}}); err != nil {
		return err
	}
	return d.onBallot(a.Ballot, settled)
}

// CheckAnswer returns approval/option unless an approval offers this very answer: the
// decision, and a choice where there is one to make and none where there is not. An
// answer that allows a call for good may have a pattern in its place; one to a question
// in words is its comment.
func CheckAnswer(a *loomv1.Approval, v *loomv1.DecideApproval) error {
	if !slices.Contains(a.GetOptions(), v.GetDecision()) {
		return workflow.NotOffered(a, v.GetDecision())
	}
	if a.GetKind() == loomv1.ApprovalKind_APPROVAL_KIND_QUESTION && v.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE && strings.TrimSpace(v.Comment) == "" {
		return fault.New("approval/option", "approval %q asks in words, and the comment is the answer", a.Id).At("comment").Want("--comment TEXT")
	}
	if v.Choice == "" && len(a.Choices) == 0 || a.Permission != nil && v.Decision == loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS {
		return nil
	}
	ids := make([]string, len(a.Choices))
	for i, c := range a.Choices {
		ids[i] = c.Id
	}
	switch {
	case len(ids) == 0:
		return fault.New("approval/option", "approval %q leaves no choice", a.Id).At("choice").Got(v.Choice).Want("answer without one")
	case !slices.Contains(ids, v.Choice):
		return fault.New("approval/option", "approval %q leaves no such choice", a.Id).At("choice").Got(v.Choice).Want("%s", strings.Join(ids, ", "))
	}
	return nil
}

// chosen reports whether an approval that was answered was answered with this
// choice.
func (d *decision) chosen(a *loomv1.Approval, choice string) bool {
	b, ok := d.s.graph.Ballot(a.Ballot)
	return !ok || b.Result == choice
}
