package project_test

import (
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// add adds a decision and returns its id.
func (d *desk) add(t loomv1.DecisionType, title string, links ...*loomv1.DecisionEdge) string {
	d.t.Helper()
	return d.ok(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node: &loomv1.DecisionNode{Type: t, Title: title, Confidence: 80}, Links: links,
	}}}).GetDecision().Id
}

// tie is a vote of two roles on two options that ends in a tie; the lead has a
// minute to break it.
func (d *desk) tie() (decision, left, right string) {
	d.t.Helper()
	decision = d.add(loomv1.DecisionType_DECISION_TYPE_DECISION, "which way")
	from := &loomv1.DecisionEdge{From: decision, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO}
	left = d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "left", from)
	right = d.add(loomv1.DecisionType_DECISION_TYPE_OPTION, "right", from)
	d.ok(&loomv1.Command{Body: &loomv1.Command_OpenBallot{OpenBallot: &loomv1.OpenBallot{Ballot: &loomv1.Ballot{
		Decision: decision, Options: []string{left, right}, Voters: []string{"architect", "implementer"}, Seconds: 60,
	}}}})
	d.ok(vote(decision, "architect", left))
	d.ok(vote(decision, "implementer", right))
	return decision, left, right
}

func vote(decision, role, option string) *loomv1.Command {
	return &loomv1.Command{
		Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: role + "/1@h1"},
		Body: &loomv1.Command_CastVote{CastVote: &loomv1.CastVote{
			Decision: decision, Vote: &loomv1.Vote{Role: role, Option: option, Confidence: 50},
		}},
	}
}

func (d *desk) ballot(decision string) *loomv1.Ballot {
	d.t.Helper()
	v, err := d.s.Look(project.Graph, &loomv1.Query{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, b := range v.Graph.Ballots {
		if b.Decision == decision {
			return b
		}
	}
	d.t.Fatalf("no ballot on %s", decision)
	return nil
}

func TestGRAPH05_ATieGoesToTheLeadAndThenToTheCEO(t *testing.T) {
	d := newDesk(t)
	decision, left, right := d.tie()
	if next, ok := d.s.Next(); !ok || next.After(d.now.Add(time.Minute)) {
		t.Fatalf("the lead's time ends at %v (%t)", next, ok)
	}
	d.now = d.now.Add(2 * time.Minute)
	d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
	a := d.inbox()
	if a.Ballot != decision || len(a.Choices) != 2 || a.Choices[1].Title != "right" {
		t.Fatalf("the CEO is asked %v", a)
	}
	choose := func(option string) error {
		return d.present(loomv1.IdentityKind_IDENTITY_KIND_CEO, d.sign(a, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, func(c *loomv1.CeoCommand) {
			c.GetDecide().Choice = option
		}))
	}
	for _, option := range []string{"", decision, "d99"} {
		if err := choose(option); fault.Code(err) != "approval/option" {
			t.Errorf("choice %q: %v", option, err)
		}
	}
	if err := choose(right); err != nil {
		t.Fatal(err)
	}
	b := d.ballot(decision)
	if b.Result != right || b.Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED {
		t.Errorf("the ballot is %s for %s", b.Status, b.Result)
	}
	if err := choose(right); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := choose(left); fault.Code(err) != "approval/decided" {
		t.Errorf("otherwise: %v", err)
	}
}

func TestGRAPH05_TheLeadBreaksATie(t *testing.T) {
	d := newDesk(t)
	decision, left, _ := d.tie()
	d.ok(vote(decision, "lead", left))
	if b := d.ballot(decision); b.Result != left {
		t.Errorf("the ballot is %s for %q", b.Status, b.Result)
	}
}

func TestGRAPH05_AgentsVoteForTheirOwnRole(t *testing.T) {
	d := newDesk(t)
	decision, left, _ := d.tie()
	cmd := vote(decision, "lead", left)
	cmd.Actor.Name = "architect/1@h1"
	if _, err := d.do(cmd); fault.Code(err) != "graph/no-voter" {
		t.Errorf("an architect votes as the lead: %v", err)
	}
}

// What is asked about a decision that is not there is refused, and not answered with nothing.
func TestGRAPH05_AQuestionAboutNoDecisionIsRefused(t *testing.T) {
	d := newDesk(t)
	decision, _, _ := d.tie()
	for _, question := range []loomv1.GraphQuestion{
		loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS, loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT, loomv1.GraphQuestion_GRAPH_QUESTION_NARRATIVE,
	} {
		for _, id := range []string{"d99", "nonsense"} {
			if _, err := d.s.Ask(&loomv1.GraphRequest{Question: question, Id: id}); fault.Code(err) != "graph/unknown-node" {
				t.Errorf("%s of %s: %v, want graph/unknown-node", question, id, err)
			}
		}
		if _, err := d.s.Ask(&loomv1.GraphRequest{Question: question, Id: decision}); err != nil {
			t.Errorf("%s of %s: %v", question, decision, err)
		}
	}
}
