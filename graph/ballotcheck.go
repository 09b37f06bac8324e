package graph

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// checkBallot says all that is wrong with a ballot that is to be opened.
func (g *Graph) checkBallot(b *loomv1.Ballot) []*fault.Error {
	problems := g.checkOptions(b)
	bad := func(where, format string, args ...any) {
		problems = append(problems, fault.New("graph/invalid", format, args...).At("/ballot/"+where))
	}
	if b.Rule < byMajority || b.Rule > byLead {
		problems = append(problems, fault.New("graph/unknown-type", "there is no rule %d", b.Rule).
			At("/ballot/rule").Want("majority, weighted, unanimous or lead"))
	}
	switch n := len(b.Voters); {
	case n < 1 || n > MaxVoters:
		bad("voters", "%d voters where 1 to %d are possible", n, MaxVoters)
	case int(b.Quorum) > n:
		bad("quorum", "a quorum of %d of %s can never be", b.Quorum, fault.Count(n, "voter"))
	}
	for i, v := range b.Voters {
		if !isRole(v) || slices.Contains(b.Voters[:i], v) {
			bad(fmt.Sprintf("voters/%d", i), "each voter is a role, once")
		}
	}
	if b.Seconds > MaxSeconds {
		bad("seconds", "%d seconds where %d is the most", b.Seconds, MaxSeconds)
	}
	return problems
}

// isRole reports whether a text can be the name of a role: 1 to 64 of a-z, 0-9, _
// and -, beginning with a letter or digit.
func isRole(s string) bool {
	return s != "" && len(s) <= 64 && s[0] != '-' && s[0] != '_' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// isName reports whether a text can stand for a role of elsewhere: one printable
// line.
func isName(s string) bool { return len(s) <= maxID && line(s) == s }

// checkOptions wants a decision that counts, and options that do.
func (g *Graph) checkOptions(b *loomv1.Ballot) []*fault.Error {
	var problems []*fault.Error
	check := func(where, id string, want loomv1.DecisionType) {
		i, unknown := g.find(where, id)
		switch {
		case unknown != nil:
			problems = append(problems, unknown)
		case g.typeOf(i) != want:
			problems = append(problems, fault.New("graph/invalid", "%s is not of type %s", id, nodeWord(want)).At(where))
		default:
			if refusal := g.settled(where, i); refusal != nil {
				problems = append(problems, refusal)
			}
		}
	}
	check("/ballot/decision", b.Decision, decided)
	if n := len(b.Options); n < 2 || n > MaxOptions {
		return append(problems, fault.New("graph/invalid", "%d options where 2 to %d are possible", n, MaxOptions).At("/ballot/options"))
	}
	for i, o := range b.Options {
		where := fmt.Sprintf("/ballot/options/%d", i)
		check(where, o, option)
		if slices.Contains(b.Options[:i], o) {
			problems = append(problems, fault.New("graph/invalid", "an option stands twice").At(where).Got(o))
		}
	}
	if i, ok := g.at(b.Decision); ok && g.has(i, chosen) {
		problems = append(problems, fault.New("graph/duplicate", "%s has chosen already", b.Decision).At("/ballot/decision"))
	}
	return problems
}

// has reports whether an edge of a type leads from a node.
func (g *Graph) has(i int32, t loomv1.DecisionEdgeType) bool {
	return slices.ContainsFunc(g.out[i], func(e int32) bool { return g.edgeType(e) == t })
}

// checkVote says all that is wrong with a vote.
func checkVote(b *loomv1.Ballot, v *loomv1.Vote) []*fault.Error {
	var problems []*fault.Error
	refuse := func(err *fault.Error) { problems = append(problems, err) }
	role := v.GetRole()
	switch {
	case b.Status == ballotClosed:
		return []*fault.Error{over(b)}
	case role != Lead && !slices.Contains(b.Voters, role):
		refuse(fault.New("graph/no-voter", "this role has no vote on %s", b.Decision).At("/vote/role").Got(role))
	case b.Status == ballotCEO, b.Status == ballotLead && role != Lead:
		return []*fault.Error{fault.New("graph/closed", "the ballot on %s waits for the %s", b.Decision, map[bool]string{true: "CEO", false: "lead"}[b.Status == ballotCEO])}
	case b.Status == ballotOpen && role == Lead && b.Rule != byLead && !slices.Contains(b.Voters, role):
		refuse(fault.New("graph/no-voter", "the lead decides on %s only if the votes do not", b.Decision).At("/vote/role"))
	}
	if !slices.Contains(b.Options, v.GetOption()) {
		refuse(fault.New("graph/unknown-node", "it is not an option of %s", b.Decision).At("/vote/option").Got(v.GetOption()))
	}
	if v.GetConfidence() > maxConfidence {
		refuse(fault.New("graph/confidence", "confidence %d is not 0 to 100", v.Confidence).At("/vote/confidence"))
	}
	problems = append(problems, checkText("/vote/rationale", v.GetRationale(), MaxRationale)...)
	return problems
}

// over refuses what comes after the end of a ballot.
func over(b *loomv1.Ballot) *fault.Error {
	if void(b) {
		return fault.New("graph/closed", "the ballot on %s is void: %s", b.Decision, b.Reason)
	}
	return fault.New("graph/closed", "the ballot on %s is decided: %s", b.Decision, b.Result)
}

// void reports whether a ballot has ended without a result.
func void(b *loomv1.Ballot) bool { return b.GetStatus() == ballotClosed && b.Result == "" }

// The fold of a ballot's facts.

func (g *Graph) ballotOpened(e *loomv1.Event, b *loomv1.Ballot) *fault.Error {
	i, err := g.find("", b.GetDecision())
	if err != nil {
		return err
	}
	if there := g.ballots[i]; there != nil && !void(there) || b.Status != ballotOpen || b.Until == nil || len(b.Options) < 2 {
		return wrong("a ballot on %s cannot be opened", b.Decision)
	}
	for _, id := range append([]string{b.Decision}, b.Options...) {
		j, err := g.find("", id)
		if err != nil {
			return err
		}
		if g.statusOf(j) == abandoned {
			return wrong("a ballot with %s, which was given up", id)
		}
	}
	b = proto.CloneOf(b)
	b.OpenedBy, b.OpenedAt = proto.CloneOf(e.Actor), proto.CloneOf(e.Time)
	g.keep(i, b)
	return nil
}

// keep puts a ballot in the place of what was there.
func (g *Graph) keep(i int32, b *loomv1.Ballot) {
	if g.ballots[i] == nil {
		g.opened = append(g.opened, i)
	}
	g.ballots[i] = b
	if b.Status == ballotClosed {
		delete(g.waiting, i)
	} else {
		g.waiting[i] = true
	}
}

// waits returns a copy of the ballot on a decision, if it is not decided.
func (g *Graph) waits(decision string) (int32, *loomv1.Ballot, *fault.Error) {
	i, ok := g.at(decision)
	b := g.ballots[i]
	if !ok || b == nil || b.Status == ballotClosed {
		return 0, nil, wrong("no ballot waits on %q", decision)
	}
	return i, withVotes(b, b.Votes), nil
}

// withVotes returns a copy of a ballot; its votes are shared.
func withVotes(b *loomv1.Ballot, votes []*loomv1.Vote) *loomv1.Ballot {
	return &loomv1.Ballot{
		Decision: b.Decision, Options: b.Options, Rule: b.Rule, Quorum: b.Quorum, Voters: b.Voters, Status: b.Status, Until: b.Until,
		Votes: votes, Result: b.Result, Reason: b.Reason, OpenedBy: b.OpenedBy, OpenedAt: b.OpenedAt, ClosedAt: b.ClosedAt,
		Bead: b.Bead, Execution: b.Execution, Seconds: b.Seconds,
	}
}

func (g *Graph) voteCast(e *loomv1.Event, f *loomv1.VoteCast) *fault.Error {
	i, b, err := g.waits(f.Decision)
	if err != nil {
		return err
	}
	v := f.GetVote()
	if !slices.Contains(b.Options, v.GetOption()) || v.Confidence > maxConfidence {
		return wrong("a vote on %s for %q", f.Decision, v.GetOption())
	}
	cast := &loomv1.Vote{Role: v.Role, Option: v.Option, Confidence: v.Confidence, Rationale: v.Rationale, Request: v.Request, Voter: proto.CloneOf(e.Actor), Time: proto.CloneOf(e.Time)}
	g.keep(i, withVote(b, cast))
	return nil
}

func (g *Graph) ballotReferred(f *loomv1.BallotReferred) *fault.Error {
	i, b, err := g.waits(f.Decision)
	if err != nil {
		return err
	}
	if f.Status <= b.Status || f.Status == ballotClosed {
		return wrong("the ballot on %s cannot be referred from %s to %s", f.Decision, b.Status, f.Status)
	}
	b.Status, b.Until, b.Reason = f.Status, proto.CloneOf(f.Until), f.Reason
	g.keep(i, b)
	return nil
}

func (g *Graph) ballotClosed(e *loomv1.Event, f *loomv1.BallotClosed) *fault.Error {
	i, b, err := g.waits(f.Decision)
	if err != nil {
		return err
	}
	if f.Option != "" && !slices.Contains(b.Options, f.Option) {
		return wrong("the ballot on %s has no option %q", f.Decision, f.Option)
	}
	b.Status, b.Until, b.Result, b.Reason, b.ClosedAt = ballotClosed, nil, f.Option, f.Reason, proto.CloneOf(e.Time)
	g.keep(i, b)
	return nil
}
