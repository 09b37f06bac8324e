package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Bounds of a ballot.
const (
	MaxVoters      = 20
	MaxOptions     = 20
	DefaultSeconds = 600
	MaxSeconds     = 7 * 24 * 3600

	maxConfidence = 100 // of a vote or a node

	// Lead is the role that decides what votes do not.
	Lead = "lead"
)

// The statuses and rules of a ballot, by their short names.
const (
	ballotOpen   = loomv1.BallotStatus_BALLOT_STATUS_OPEN
	ballotLead   = loomv1.BallotStatus_BALLOT_STATUS_LEAD
	ballotCEO    = loomv1.BallotStatus_BALLOT_STATUS_CEO
	ballotClosed = loomv1.BallotStatus_BALLOT_STATUS_CLOSED

	byMajority  = loomv1.VoteRule_VOTE_RULE_MAJORITY
	byWeight    = loomv1.VoteRule_VOTE_RULE_WEIGHTED
	unanimously = loomv1.VoteRule_VOTE_RULE_UNANIMOUS
	byLead      = loomv1.VoteRule_VOTE_RULE_LEAD
)

// Ballot returns the ballot on a decision. It is not to be changed.
func (g *Graph) Ballot(decision string) (*loomv1.Ballot, bool) {
	i, ok := g.at(decision)
	b := g.ballots[i]
	return b, ok && b != nil
}

// Ballots returns all ballots in the order they were opened, or those that
// wait for somebody. They are not to be changed.
func (g *Graph) Ballots(waiting bool) []*loomv1.Ballot {
	var list []*loomv1.Ballot
	for _, i := range g.opened {
		if b := g.ballots[i]; !waiting || b.Status != ballotClosed {
			list = append(list, b)
		}
	}
	return list
}

// NextBallot returns when the earliest ballot has run out of time.
func (g *Graph) NextBallot() (time.Time, bool) {
	var earliest time.Time
	found := false
	for i := range g.waiting {
		if b := g.ballots[i]; b.Until != nil && (!found || b.Until.AsTime().Before(earliest)) {
			earliest, found = b.Until.AsTime(), true
		}
	}
	return earliest, found
}

// Open begins a vote on the options of a decision. The same again changes
// nothing.
//
// Refusals: graph/unknown-node, graph/unknown-type for a rule, graph/duplicate
// when the decision has another ballot that is not void or an option chosen,
// graph/superseded or graph/abandoned for a decision or an option that no longer
// counts, and graph/invalid, all
// problems at once.
func (g *Graph) Open(now time.Time, cmd *loomv1.OpenBallot) ([]*loomv1.Event, error) {
	b := g.proposed(now, cmd.GetBallot())
	if err := fault.Join(g.checkBallot(b)); err != nil {
		return nil, err
	}
	if there, ok := g.Ballot(b.Decision); ok && !void(there) {
		if sameBallot(there, b) {
			return nil, nil
		}
		return nil, fault.New("graph/duplicate", "there is another ballot on %s already", b.Decision).At("/ballot/decision")
	}
	return []*loomv1.Event{{Fact: &loomv1.Event_BallotOpened{BallotOpened: &loomv1.BallotOpened{Ballot: b}}}}, nil
}

// proposed is a ballot as it would be opened.
func (g *Graph) proposed(now time.Time, b *loomv1.Ballot) *loomv1.Ballot {
	seconds := cmp.Or(b.GetSeconds(), DefaultSeconds)
	p := &loomv1.Ballot{
		Decision: b.GetDecision(), Options: b.GetOptions(), Rule: cmp.Or(b.GetRule(), byMajority), Voters: b.GetVoters(),
		Quorum: cmp.Or(b.GetQuorum(), uint32(len(b.GetVoters())/2+1)), Seconds: seconds, Status: ballotOpen,
		Until: timestamppb.New(now.Add(time.Duration(seconds) * time.Second)),
	}
	if i, ok := g.at(p.Decision); ok {
		p.Bead, p.Execution = g.node(i).Bead, g.node(i).Execution
	}
	return p
}

func sameBallot(a, b *loomv1.Ballot) bool {
	return slices.Equal(a.Options, b.Options) && slices.Equal(a.Voters, b.Voters) &&
		a.Rule == b.Rule && a.Quorum == b.Quorum && a.Seconds == b.Seconds
}

// Vote casts the vote of a role, or changes it as long as the ballot waits for
// that role, and closes the ballot when everybody has voted, or when no missing
// vote can change the result. The same vote again changes nothing, but for that of
// the lead by another request, once the ballot waits for it.
//
// Refusals: graph/unknown-node when there is no such ballot or option,
// graph/closed when it is decided or waits for somebody else, graph/no-voter
// for a role that has no vote, graph/confidence and graph/invalid.
func (g *Graph) Vote(now time.Time, cmd *loomv1.CastVote) ([]*loomv1.Event, error) {
	b, ok := g.Ballot(cmd.GetDecision())
	if !ok {
		return nil, fault.New("graph/unknown-node", "there is no ballot on this decision").At("/decision").Got(cmd.GetDecision())
	}
	v := cmd.GetVote()
	if was := voteOf(b, v.GetRole()); was != nil && sameVote(was, v) {
		anew := b.Status == ballotLead && v.Role == Lead // asked anew, the lead may say the same
		if !anew || cmd.Request != "" && cmd.Request == was.Request {
			return nil, nil
		}
	}
	if err := fault.Join(checkVote(b, v)); err != nil {
		return nil, err
	}
	cast := &loomv1.Vote{Role: v.Role, Option: v.Option, Confidence: v.Confidence, Rationale: v.Rationale, Request: cmd.GetRequest()}
	events := []*loomv1.Event{{Fact: &loomv1.Event_VoteCast{VoteCast: &loomv1.VoteCast{Decision: b.Decision, Vote: cast}}}}
	return append(events, g.after(now, withVote(b, cast), cast)...), nil
}

func sameVote(a, b *loomv1.Vote) bool {
	return a.Option == b.Option && a.Confidence == b.Confidence && a.Rationale == b.Rationale
}

// after returns what a vote leads to.
func (g *Graph) after(now time.Time, b *loomv1.Ballot, cast *loomv1.Vote) []*loomv1.Event {
	leads := cast.Role == Lead && (b.Status == ballotLead || b.Rule == byLead)
	switch {
	case leads:
		return g.close(b, cast.Option, "the lead decided"+reasoned(cast.Rationale))
	case b.Status == ballotOpen && certain(b):
		return g.conclude(now, b)
	}
	return nil
}

// absent are the voters who have not voted.
func absent(b *loomv1.Ballot) []string {
	return slices.DeleteFunc(slices.Clone(b.Voters), func(role string) bool { return voteOf(b, role) != nil })
}

// certain reports whether the result is the same whatever those who have not voted do,
// voting or not. Votes that are cast could be changed until then: nobody waits for that.
func certain(b *loomv1.Ballot) bool {
	missing := len(absent(b))
	if missing == 0 {
		return true
	}
	first, second := ranking(b)
	total := len(b.Votes)
	switch b.Rule {
	case byMajority:
		wins := total >= int(b.Quorum) && 2*first.votes > total+missing
		return wins || 2*first.votes+missing <= total
	case byWeight:
		return total >= int(b.Quorum) && first.weight > second.weight+maxConfidence*missing
	case unanimously:
		return second.votes > 0
	}
	return false // the lead's is the only vote that counts
}

func reasoned(rationale string) string {
	if rationale == "" {
		return ""
	}
	return ": " + short(rationale, contextDetail)
}

// TickBallots does what time demands: a ballot whose voters have had their
// time is decided or passed to the lead, one whose lead has had its time is
// passed to the CEO. At most so many ballots at once, the oldest first.
func (g *Graph) TickBallots(now time.Time, most int) []*loomv1.Event {
	var events []*loomv1.Event
	for _, i := range slices.Sorted(keys(g.waiting)) {
		b := g.ballots[i]
		if b.Until == nil || now.Before(b.Until.AsTime()) {
			continue
		}
		if most--; most < 0 {
			break
		}
		if b.Status == ballotOpen {
			events = append(events, g.conclude(now, b)...)
		} else {
			events = append(events, refer(b, ballotCEO, time.Time{}, "the lead did not answer in time"))
		}
	}
	return events
}

func keys(m map[int32]bool) func(func(int32) bool) {
	return func(yield func(int32) bool) {
		for i := range m {
			if !yield(i) {
				return
			}
		}
	}
}

// Settle decides a ballot on the CEO's word, whoever it waits for. Refusals:
// graph/unknown-node, and graph/closed for one that is decided otherwise.
func (g *Graph) Settle(decision, option, why string) ([]*loomv1.Event, error) {
	b, ok := g.Ballot(decision)
	if !ok || !slices.Contains(b.Options, option) {
		return nil, fault.New("graph/unknown-node", "there is no ballot on %q with this option", decision).At("/option").Got(option)
	}
	if b.Status == ballotClosed {
		if b.Result == option {
			return nil, nil
		}
		return nil, over(b)
	}
	return g.close(b, option, "the CEO decided"+reasoned(why)), nil
}

// conclude counts the votes of a ballot whose time is over, or whose result is certain.
func (g *Graph) conclude(now time.Time, b *loomv1.Ballot) []*loomv1.Event {
	option, why := count(b)
	if left := absent(b); len(left) > 0 && now.Before(b.Until.AsTime()) {
		why += fmt.Sprintf("; without %s, who could not change that", strings.Join(left, ", "))
	}
	if option != "" {
		return g.close(b, option, why)
	}
	until := now.Add(time.Duration(b.Seconds) * time.Second)
	return []*loomv1.Event{refer(b, ballotLead, until, why)}
}

func refer(b *loomv1.Ballot, to loomv1.BallotStatus, until time.Time, why string) *loomv1.Event {
	r := &loomv1.BallotReferred{Decision: b.Decision, Status: to, Reason: why}
	if !until.IsZero() {
		r.Until = timestamppb.New(until)
	}
	return &loomv1.Event{Fact: &loomv1.Event_BallotReferred{BallotReferred: r}}
}

// count returns the option that the rule chooses, or "" and why there is none.
func count(b *loomv1.Ballot) (option, why string) {
	if n := len(b.Votes); n < int(b.Quorum) {
		return "", fmt.Sprintf("%s, and the quorum is %d", fault.Count(n, "vote"), b.Quorum)
	}
	if b.Rule == byLead {
		if v := voteOf(b, Lead); v != nil {
			return v.Option, "the lead decided" + reasoned(v.Rationale)
		}
		return "", "the lead has not voted"
	}
	first, second := ranking(b)
	total := len(b.Votes)
	switch {
	case b.Rule == byWeight && first.weight > second.weight:
		return first.option, fmt.Sprintf("%d of confidence against %d", first.weight, second.weight)
	case b.Rule == byMajority && 2*first.votes > total:
		return first.option, fmt.Sprintf("%d of %s", first.votes, fault.Count(total, "vote"))
	case b.Rule == unanimously && first.votes == total:
		return first.option, "all " + fault.Count(total, "vote")
	}
	return "", "the votes decide nothing: " + tallied(b)
}

// tally is what an option has.
type tally struct {
	option        string
	votes, weight int
}

// ranking returns the two options that are ahead under the rule.
func ranking(b *loomv1.Ballot) (first, second tally) {
	list := tallies(b)
	slices.SortStableFunc(list, func(x, y tally) int {
		if b.Rule == byWeight {
			return cmp.Compare(y.weight, x.weight)
		}
		return cmp.Compare(y.votes, x.votes)
	})
	return list[0], list[1]
}

func tallies(b *loomv1.Ballot) []tally {
	list := make([]tally, len(b.Options))
	for i, o := range b.Options {
		list[i].option = o
		for _, v := range b.Votes {
			if v.Option == o {
				list[i].votes++
				list[i].weight += int(v.Confidence)
			}
		}
	}
	return list
}

func tallied(b *loomv1.Ballot) string {
	s := ""
	for i, t := range tallies(b) {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%s %d", t.option, t.votes)
	}
	return s
}

// close decides a ballot and links the decision to its options, as far as it
// is not linked already.
func (g *Graph) close(b *loomv1.Ballot, option, why string) []*loomv1.Event {
	events := []*loomv1.Event{{Fact: &loomv1.Event_BallotClosed{BallotClosed: &loomv1.BallotClosed{
		Decision: b.Decision, Option: option, Reason: why,
	}}}}
	next := len(g.ends) + 1
	for _, o := range b.Options {
		t, because := rejected, why
		if o == option {
			t = chosen
		}
		if v := advocate(b, o); v != nil && v.Rationale != "" {
			because = why + "; " + v.Role + ": " + v.Rationale
		}
		i, _ := g.at(b.Decision)
		j, _ := g.at(o)
		if _, there := g.kinds[kind{ends{i, j}, t}]; there {
			continue
		}
		e := &loomv1.DecisionEdge{Type: t, Rationale: short(because, MaxRationale)}
		events = append(events, fact(drawn(e, b.Decision, o, next)))
		next++
	}
	return events
}

// advocate returns the most confident vote for an option, or nil.
func advocate(b *loomv1.Ballot, option string) *loomv1.Vote {
	var best *loomv1.Vote
	for _, v := range b.Votes {
		if v.Option == option && (best == nil || v.Confidence > best.Confidence) {
			best = v
		}
	}
	return best
}

func voteOf(b *loomv1.Ballot, role string) *loomv1.Vote {
	for _, v := range b.Votes {
		if v.Role == role {
			return v
		}
	}
	return nil
}

// withVote returns a ballot with a vote in place of the role's last.
func withVote(b *loomv1.Ballot, v *loomv1.Vote) *loomv1.Ballot {
	b = proto.CloneOf(b)
	for i, was := range b.Votes {
		if was.Role == v.Role {
			b.Votes[i] = v
			return b
		}
	}
	b.Votes = append(b.Votes, v)
	return b
}
