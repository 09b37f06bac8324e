package play

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// decided adds a node to the decision graph.
func (s *Shop) decided(t loomv1.DecisionType, title string, links ...*loomv1.DecisionEdge) string {
	return s.Do(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node: &loomv1.DecisionNode{Type: t, Title: title, Confidence: 60}, Links: links, Request: title,
	}}}).GetDecision().GetId()
}

// question adds a decision with two options.
func (s *Shop) question(title string) (decision, yes, no string) {
	decision = s.decided(loomv1.DecisionType_DECISION_TYPE_DECISION, title)
	link := &loomv1.DecisionEdge{From: decision, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO}
	yes = s.decided(loomv1.DecisionType_DECISION_TYPE_OPTION, title+": yes", link)
	return decision, yes, s.decided(loomv1.DecisionType_DECISION_TYPE_OPTION, title+": no", link)
}

func (s *Shop) open(rule loomv1.VoteRule, decision string, options ...string) {
	s.Do(&loomv1.Command{Body: &loomv1.Command_OpenBallot{OpenBallot: &loomv1.OpenBallot{Ballot: &loomv1.Ballot{
		Decision: decision, Options: options, Rule: rule, Voters: []string{"architect", backend}, Seconds: 60,
	}}}})
}

func (s *Shop) vote(decision, role, option string, confidence uint32) {
	s.Now = s.Now.Add(time.Second)
	s.Do(&loomv1.Command{Body: &loomv1.Command_CastVote{CastVote: &loomv1.CastVote{
		Decision: decision, Vote: &loomv1.Vote{Role: role, Option: option, Confidence: confidence, Rationale: "so it seems"},
	}}})
}

// Voted is decisions by vote: by the largest confidence, after a change of
// mind, by the lead on a tie, and by the CEO when the lead is silent. What was
// chosen last is superseded, and takes along the approval that rests on it.
func Voted(s *Shop) {
	round, end, line := s.question("round at the end")
	s.open(loomv1.VoteRule_VOTE_RULE_WEIGHTED, round, end, line)
	s.vote(round, "architect", line, 90)
	s.vote(round, "architect", end, 95)
	s.vote(round, backend, line, 70)

	store, yes, no := s.question("store cents")
	s.open(loomv1.VoteRule_VOTE_RULE_MAJORITY, store, yes, no)
	s.vote(store, "architect", yes, 80)
	s.vote(store, backend, no, 80)
	s.vote(store, "lead", yes, 60)

	name, tax, duty := s.question("call it tax")
	s.open(loomv1.VoteRule_VOTE_RULE_UNANIMOUS, name, tax, duty)
	s.vote(name, "architect", tax, 80)
	s.Pass(2 * time.Minute) // too few have voted
	s.Pass(2 * time.Minute) // and the lead is silent
	a := s.Inbox()[0]
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Decide{Decide: &loomv1.DecideApproval{
		Approval: a.Id, Digest: a.Digest, Decision: Approve, Choice: tax, Comment: "as people say",
	}}})

	filed := s.File(&loomv1.Submission{Goal: "the total is wrong: p1", Type: loomv1.BeadType_BEAD_TYPE_BUG})
	s.Work(qa, Outcome(Success, map[string]any{"severity": "high", "specialist": backend, "check": "go test ./..."}))
	way := s.Do(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node:  &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: "as was voted", Confidence: 90, Execution: filed.Execution},
		Links: []*loomv1.DecisionEdge{{To: end, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN}}, Request: "way",
	}}}).GetDecision().GetId()
	s.Work(backend, Outcome(More, nil))
	s.Propose("p1")
	s.Decide(Approve, "go on")
	better := s.decided(loomv1.DecisionType_DECISION_TYPE_OPTION, "count in cents")
	s.Do(&loomv1.Command{Body: &loomv1.Command_SupersedeDecision{SupersedeDecision: &loomv1.SupersedeDecision{Old: end, New: better, Rationale: "nothing is lost"}}})
	s.Do(&loomv1.Command{Body: &loomv1.Command_LinkDecision{LinkDecision: &loomv1.LinkDecision{Edge: &loomv1.DecisionEdge{
		From: better, To: way, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_ENABLES,
	}}}})
	s.Decide(Approve, "all the same")
	s.Finish("p1")
}

// Abandoned is decisions that are given up: an option in the middle of a vote,
// which is void and held anew; what work was approved by, in the CEO's name,
// which takes the approval along; and another with a new node.
func Abandoned(s *Shop) {
	round, end, line := s.question("round at the end")
	never := s.decided(loomv1.DecisionType_DECISION_TYPE_OPTION, "do not round")
	s.open(loomv1.VoteRule_VOTE_RULE_MAJORITY, round, end, line, never)
	s.vote(round, "architect", never, 80)
	s.Do(&loomv1.Command{Body: &loomv1.Command_AbandonDecision{AbandonDecision: &loomv1.AbandonDecision{Id: never, Reason: "it is the law"}}})
	s.open(loomv1.VoteRule_VOTE_RULE_MAJORITY, round, end, line)
	s.vote(round, "architect", end, 80)
	s.vote(round, backend, end, 70)

	filed := s.File(&loomv1.Submission{Goal: "the total is wrong: p1", Type: loomv1.BeadType_BEAD_TYPE_BUG})
	s.Work(qa, Outcome(Success, map[string]any{"severity": "high", "specialist": backend, "check": "go test ./..."}))
	s.Do(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node:  &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Title: "as was voted", Confidence: 90, Execution: filed.Execution},
		Links: []*loomv1.DecisionEdge{{To: end, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN}}, Request: "way",
	}}})
	s.Work(backend, Outcome(More, nil))
	s.Propose("p1")
	s.Decide(Approve, "go on")
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Abandon{Abandon: &loomv1.AbandonDecision{Id: end, Reason: "customers complain"}}})
	s.Do(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
		Node:     &loomv1.DecisionNode{Type: loomv1.DecisionType_DECISION_TYPE_OBSERVATION, Title: "every line is too slow", Confidence: 90},
		Abandons: []*loomv1.AbandonDecision{{Id: line, Reason: "a minute for each order"}}, Request: "slow",
	}}})
	s.Decide(Approve, "all the same")
	s.Finish("p1")
}

// Imported is a graph of elsewhere that is taken in, and given up in part.
func Imported(s *Shop) {
	s.decided(loomv1.DecisionType_DECISION_TYPE_GOAL, "what was there before")
	architect := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "architect/1@h9"}
	node := func(t loomv1.DecisionType, title string) *loomv1.DecisionNode {
		return &loomv1.DecisionNode{
			Type: t, Title: title, Status: loomv1.DecisionStatus_DECISION_STATUS_ACTIVE, Confidence: 70,
			Bead: "shop-1", Execution: "shop-1-x1", Author: architect, Time: timestamppb.New(s.Now.Add(-time.Hour)),
		}
	}
	for i, part := range []*loomv1.DecisionGraph{
		{Nodes: []*loomv1.DecisionNode{
			node(loomv1.DecisionType_DECISION_TYPE_DECISION, "where to round"),
			node(loomv1.DecisionType_DECISION_TYPE_OPTION, "at the end"), node(loomv1.DecisionType_DECISION_TYPE_OPTION, "each line"),
		}},
		{Edges: []*loomv1.DecisionEdge{
			{From: "d2", To: "d3", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN, Author: architect, Rationale: "2 of 2 votes"},
			{From: "d3", To: "d4", Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_SUPERSEDES, Author: architect},
		}},
		{Ballots: []*loomv1.Ballot{{
			Decision: "d2", Options: []string{"d3", "d4"}, Voters: []string{"architect"}, Quorum: 1, Seconds: 60, Rule: loomv1.VoteRule_VOTE_RULE_MAJORITY,
			Status: loomv1.BallotStatus_BALLOT_STATUS_CLOSED, Result: "d3", Reason: "1 of 1 vote",
			Votes: []*loomv1.Vote{{Role: "architect", Option: "d3", Confidence: 80, Voter: architect}},
		}}},
	} {
		s.Do(&loomv1.Command{
			Actor: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "operator"},
			Body:  &loomv1.Command_ImportDecisions{ImportDecisions: &loomv1.ImportDecisions{Part: part, Request: string(rune('a' + i))}},
		})
	}
	s.Order(&loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Abandon{Abandon: &loomv1.AbandonDecision{Id: "d3", Reason: "it is another shop"}}})
}
