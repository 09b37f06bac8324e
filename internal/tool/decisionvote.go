package tool

import (
	"context"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var decisionVote = &tool{
	Spec: Spec{
		Name:  "decision_vote",
		Class: writes,
		Description: "Have roles vote on a decision, or vote yourself. open: name a decision, its options (logged before) and who votes. " +
			"cast: the vote of your own role. Do not wait: decision_query with votes_on tells how it stands.",
		Schema: schema(`"action","decision"`, `
			"action": {"enum": ["open", "cast"]},
			"decision": `+nodeID("")+`,
			"options": {"type": "array", "minItems": 2, "maxItems": 20, "items": `+nodeID("")+`, "description": "for open"},
			"voters": {"type": "array", "minItems": 1, "maxItems": 20, "items": {"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,31}$"}, "description": "for open: roles"},
			"rule": {"enum": ["majority", "weighted", "unanimous", "lead"], "description": "for open; default majority"},
			"quorum": {"type": "integer", "minimum": 1, "maximum": 20, "description": "for open; default over half"},
			"minutes": {"type": "integer", "minimum": 1, "maximum": 1440, "description": "for open; default 10"},
			"option": `+nodeID("for cast")+`,
			"confidence": {"type": "integer", "minimum": 0, "maximum": 100, "description": "for cast; default 50"},
			"why": {"type": "string", "maxLength": 2000, "description": "for cast"}`),
	},
	run: with(voteDecision),
	// To open the same vote again, or to cast the same, changes nothing.
	reconcile: func(context.Context, *Set, *loomv1.ToolCall) (Result, bool) { return Result{}, false },
}

type voteArguments struct {
	Action     string   `json:"action"`
	Decision   string   `json:"decision"`
	Options    []string `json:"options"`
	Voters     []string `json:"voters"`
	Rule       string   `json:"rule"`
	Quorum     uint32   `json:"quorum"`
	Minutes    uint32   `json:"minutes"`
	Option     string   `json:"option"`
	Confidence *uint32  `json:"confidence"`
	Why        string   `json:"why"`
}

func voteDecision(ctx context.Context, j job, a voteArguments) (Result, error) {
	if j.decisions == nil {
		return Result{}, errNoGraph()
	}
	if err := a.fits(); err != nil {
		return Result{}, err
	}
	if a.Action == "open" {
		if err := j.decisions.Open(ctx, &loomv1.OpenBallot{Ballot: a.ballot()}); err != nil {
			return Result{}, err
		}
		return done("the vote is open\n", "%s: %s vote", a.Decision, strings.Join(a.Voters, ", ")), nil
	}
	if err := j.decisions.Vote(ctx, &loomv1.CastVote{Decision: a.Decision, Vote: a.vote()}); err != nil {
		return Result{}, err
	}
	return done("your vote is counted\n", "%s: a vote for %s", a.Decision, a.Option), nil
}

// fits wants the arguments of the action, and no others.
func (a voteArguments) fits() error {
	open := a.Action == "open"
	for _, c := range []struct {
		name                   string
		given, forOpen, needed bool
	}{
		{"options", a.Options != nil, true, true},
		{"voters", a.Voters != nil, true, true},
		{"rule", a.Rule != "", true, false},
		{"quorum", a.Quorum != 0, true, false},
		{"minutes", a.Minutes != 0, true, false},
		{"option", a.Option != "", false, true},
		{"confidence", a.Confidence != nil, false, false},
		{"why", a.Why != "", false, false},
	} {
		switch mine := c.forOpen == open; {
		case mine && c.needed && !c.given:
			return unfit("/"+c.name, "%s needs it", a.Action)
		case !mine && c.given:
			return unfit("/"+c.name, "it is not for %s", a.Action)
		}
	}
	return nil
}

func (a voteArguments) ballot() *loomv1.Ballot {
	rule := loomv1.VoteRule_value["VOTE_RULE_"+strings.ToUpper(a.Rule)]
	return &loomv1.Ballot{
		Decision: a.Decision, Options: a.Options, Voters: a.Voters, Rule: loomv1.VoteRule(rule), Quorum: a.Quorum, Seconds: a.Minutes * 60,
	}
}

// vote is a vote of the caller's role, which the graph fills in.
func (a voteArguments) vote() *loomv1.Vote {
	confidence := uint32(50)
	if a.Confidence != nil {
		confidence = *a.Confidence
	}
	return &loomv1.Vote{Option: a.Option, Confidence: confidence, Rationale: plain(a.Why)}
}
