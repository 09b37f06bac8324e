package simulation

import (
	"fmt"
	"slices"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// poll is a vote, as the journal has it.
type poll struct {
	*loomv1.Ballot
	votes  map[string]*loomv1.Vote
	closed bool
	late   bool // the time to vote was over, or the votes decided nothing
}

// vote has an operator open a vote or cast one, in the name of any role.
func (w *world) vote() {
	who := identity(loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, "o")
	if len(w.oracle.polled) > 0 && !w.one(3) {
		p := w.oracle.polls[w.oracle.polled[w.rng.IntN(len(w.oracle.polled))]]
		w.keeper.send(&loomv1.Command{Body: &loomv1.Command_CastVote{CastVote: &loomv1.CastVote{Decision: p.Decision, Vote: &loomv1.Vote{
			Role: p.Voters[w.rng.IntN(len(p.Voters))], Option: p.Options[w.rng.IntN(len(p.Options))], Confidence: w.rng.Uint32N(101),
		}, Request: fmt.Sprintf("vote-%d-%d", w.steps, w.rng.Uint32())}}}, who, func(*loomv1.Answer) {})
		return
	}
	node := func(t loomv1.DecisionType, then func(id string)) {
		w.keeper.send(&loomv1.Command{Body: &loomv1.Command_AddDecision{AddDecision: &loomv1.AddDecision{
			Node: &loomv1.DecisionNode{Type: t, Title: "which way", Confidence: 50}, Request: fmt.Sprintf("vote-%d-%d", w.steps, w.rng.Uint32()),
		}}}, who, func(ans *loomv1.Answer) {
			if id := ans.GetDecision().GetId(); id != "" {
				then(id)
			}
		})
	}
	node(loomv1.DecisionType_DECISION_TYPE_DECISION, func(decision string) {
		node(loomv1.DecisionType_DECISION_TYPE_OPTION, func(left string) {
			node(loomv1.DecisionType_DECISION_TYPE_OPTION, func(right string) {
				voters := []string{"lead", "architect", "researcher", "implementer", "analyst"}[:2+w.rng.IntN(4)]
				w.keeper.send(&loomv1.Command{Body: &loomv1.Command_OpenBallot{OpenBallot: &loomv1.OpenBallot{Ballot: &loomv1.Ballot{
					Decision: decision, Options: []string{left, right}, Voters: voters,
					Rule: loomv1.VoteRule(1 + w.rng.IntN(3)), Quorum: w.rng.Uint32N(uint32(len(voters)) + 1), Seconds: 1 + w.rng.Uint32N(600),
				}}}}, who, func(*loomv1.Answer) {})
			})
		})
	})
}

// sawVote checks that a vote ends early only where no missing vote can change what
// comes of it, and at the latest when all have voted.
func (o *oracle) sawVote(e *loomv1.Event) {
	switch f := e.Fact.(type) {
	case *loomv1.Event_BallotOpened:
		b := f.BallotOpened.Ballot
		o.polls[b.Decision] = &poll{Ballot: b, votes: map[string]*loomv1.Vote{}}
		o.polled = append(o.polled, b.Decision)
	case *loomv1.Event_VoteCast:
		p := o.polls[f.VoteCast.Decision]
		if p == nil || p.closed || !p.late && !slices.Contains(p.Voters, f.VoteCast.Vote.Role) {
			o.broken(37, "%s votes on %s, which is not open to it", f.VoteCast.Vote.Role, f.VoteCast.Decision)
			return
		}
		p.votes[f.VoteCast.Vote.Role] = f.VoteCast.Vote
	case *loomv1.Event_BallotReferred:
		p := o.polls[f.BallotReferred.Decision]
		if !p.late {
			o.mayEnd(e, p, "")
		}
		p.late = true
	case *loomv1.Event_BallotClosed:
		p := o.polls[f.BallotClosed.Decision]
		if p == nil || p.closed {
			o.broken(37, "the vote on %s ends twice", f.BallotClosed.Decision)
			return
		}
		if !p.late && f.BallotClosed.Option != "" {
			o.mayEnd(e, p, f.BallotClosed.Option)
		}
		p.closed = true
		o.polled = slices.DeleteFunc(o.polled, func(id string) bool { return id == p.Decision })
	}
}

// mayEnd wants the result of a vote to be that of every way in which the missing
// votes could be cast, or its time to be over.
func (o *oracle) mayEnd(e *loomv1.Event, p *poll, result string) {
	var missing []string
	for _, role := range p.Voters {
		if p.votes[role] == nil {
			missing = append(missing, role)
		}
	}
	if len(missing) > 0 {
		o.w.see("vote ends early or with its time")
	}
	if !e.Time.AsTime().Before(p.Until.AsTime()) {
		missing = nil
	}
	var try func(missing []string) bool
	try = func(missing []string) bool {
		if len(missing) == 0 {
			return p.result() == result
		}
		if !try(missing[1:]) {
			return false
		}
		defer delete(p.votes, missing[0])
		for _, option := range p.Options {
			for _, confidence := range []uint32{0, 100} {
				p.votes[missing[0]] = &loomv1.Vote{Role: missing[0], Option: option, Confidence: confidence}
				if !try(missing[1:]) {
					return false
				}
			}
		}
		return true
	}
	if !try(missing) {
		o.broken(37, "the vote on %s ends with %q, and %q could change that", p.Decision, result, missing)
	}
	o.w.see("vote ended")
}

// result counts by hand.
func (p *poll) result() string {
	if len(p.votes) < int(p.Quorum) {
		return ""
	}
	votes, weight, best := map[string]int{}, map[string]int{}, ""
	for _, v := range p.votes {
		votes[v.Option]++
		weight[v.Option] += int(v.Confidence)
	}
	for _, option := range p.Options {
		wins := true
		for _, other := range p.Options {
			if other != option && p.Rule == loomv1.VoteRule_VOTE_RULE_WEIGHTED && weight[other] >= weight[option] {
				wins = false
			}
		}
		switch p.Rule {
		case loomv1.VoteRule_VOTE_RULE_MAJORITY:
			wins = 2*votes[option] > len(p.votes)
		case loomv1.VoteRule_VOTE_RULE_UNANIMOUS:
			wins = votes[option] == len(p.votes) && len(p.votes) > 0
		}
		if wins {
			best = option
		}
	}
	return best
}

// stillVotes wants no vote to wait for those that cannot change it: all have voted.
func (o *oracle) stillVotes() {
	for _, id := range o.polled {
		if p := o.polls[id]; !p.late && len(p.votes) == len(p.Voters) {
			o.broken(37, "all have voted on %s, and it is open", id)
		}
	}
}
