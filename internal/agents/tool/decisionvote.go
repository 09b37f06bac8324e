package tool

import (
	"context"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// decisionBallot is apart from decisionVote because few roles open votes and all
// may cast one: what it describes stands in the requests of those few alone.
var decisionBallot = &tool{
	Spec: Spec{
		Name:  "decision_ballot",
		Class: writes,
		Description: "Have roles vote on a decision between options that were logged before. " +
			"Do not wait: decision_query tells how it stands.",
		Schema: schema(`"decision","options","voters"`, `
			"decision": `+nodeID("")+`,
			"options": {"type": "array", "minItems": 2, "maxItems": 20, "items": `+nodeID("")+`},
			"voters": {"type": "array", "minItems": 1, "maxItems": 20, "items": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,31}$"}, "description": "roles"},
			"rule": {"enum": ["majority", "weighted", "unanimous", "lead"], "description": "default majority"},
			"quorum": {"type": "integer", "minimum": 1, "maximum": 20, "description": "default over half"},
			"minutes": {"type": "integer", "minimum": 1, "maximum": 1440, "description": "default 10"}`),
	},
	needs: graphed,
	run:   with(openBallot),
	// To open the same vote again changes nothing.
	reconcile: func(context.Context, *Set, *loomv1.ToolCall) (Result, bool) { return Result{}, false },
}

var decisionVote = &tool{
	Spec: Spec{
		Name:        "decision_vote",
		Class:       writes,
		Description: "Cast your role's vote on a decision that it is asked about.",
		Schema: schema(`"decision","option"`, `
			"decision": `+nodeID("")+`,
			"option": `+nodeID("")+`,
			"confidence": {"type": "integer", "minimum": 0, "maximum": 100, "description": "default 50"},
			"why": {"type": "string", "maxLength": 2000}`),
	},
	needs: graphed,
	run:   with(castVote),
	// To cast the same vote again changes nothing.
	reconcile: func(context.Context, *Set, *loomv1.ToolCall) (Result, bool) { return Result{}, false },
}

type ballotArguments struct {
	Decision string   `json:"decision"`
	Options  []string `json:"options"`
	Voters   []string `json:"voters"`
	Rule     string   `json:"rule"`
	Quorum   uint32   `json:"quorum"`
	Minutes  uint32   `json:"minutes"`
}

func openBallot(ctx context.Context, j job, a ballotArguments) (Result, error) {
	rule := loomv1.VoteRule_value["VOTE_RULE_"+strings.ToUpper(a.Rule)]
	if err := j.decisions.Open(ctx, &loomv1.OpenBallot{Ballot: &loomv1.Ballot{
		Decision: a.Decision, Options: a.Options, Voters: a.Voters, Rule: loomv1.VoteRule(rule), Quorum: a.Quorum, Seconds: a.Minutes * 60,
	}}); err != nil {
		return Result{}, err
	}
	return done("the vote is open\n", "%s: %s vote", a.Decision, strings.Join(a.Voters, ", ")), nil
}

type voteArguments struct {
	Decision   string  `json:"decision"`
	Option     string  `json:"option"`
	Confidence *uint32 `json:"confidence"`
	Why        string  `json:"why"`
}

func castVote(ctx context.Context, j job, a voteArguments) (Result, error) {
	confidence := uint32(50)
	if a.Confidence != nil {
		confidence = *a.Confidence
	}
	// The graph fills in the caller's role.
	vote := &loomv1.Vote{Option: a.Option, Confidence: confidence, Rationale: plain(a.Why)}
	if err := j.decisions.Vote(ctx, &loomv1.CastVote{Decision: a.Decision, Vote: vote, Request: j.id}); err != nil {
		return Result{}, err
	}
	return done("your vote is counted\n", "%s: a vote for %s", a.Decision, a.Option), nil
}
