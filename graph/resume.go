package graph

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Votes that were open where they were exported go on where they are imported,
// by whoever imports them: with the votes that were cast, and the full time again
// for whom they wait for.

// resume returns the facts that open the ballots of a part that are not decided,
// and takes them out of the part, or says which cannot go on.
func (g *Graph) resume(now time.Time, part *loomv1.DecisionGraph) ([]*loomv1.Event, *fault.Error) {
	var events []*loomv1.Event
	var decided []*loomv1.Ballot
	seen := map[string]bool{}
	for i, b := range part.Ballots {
		if seen[b.GetDecision()] {
			return nil, fault.New("graph/duplicate", "there is another ballot on %s already", b.Decision).At(fmt.Sprintf("/part/ballots/%d", i))
		}
		seen[b.GetDecision()] = true
		if b.GetStatus() == ballotClosed {
			decided = append(decided, b)
			continue
		}
		if err := g.checkResumed(b); err != nil {
			return nil, err.At(fmt.Sprintf("/part/ballots/%d", i))
		}
		events = append(events, g.resumed(now, b)...)
	}
	part.Ballots = decided
	return events, nil
}

// checkResumed says what is wrong with an open ballot that is imported.
func (g *Graph) checkResumed(b *loomv1.Ballot) *fault.Error {
	for _, id := range append([]string{b.GetDecision()}, b.GetOptions()...) {
		if err := g.wantsForeign("", id); err != nil {
			return err
		}
	}
	if _, there := g.Ballot(b.Decision); there {
		return fault.New("graph/duplicate", "there is another ballot on %s already", b.Decision)
	}
	if b.Status < ballotOpen || b.Status > ballotCEO || b.Result != "" || b.Quorum == 0 || b.Seconds == 0 || len(b.Reason) > 2*MaxRationale {
		return fault.New("graph/invalid", "the ballot on %s is neither open nor decided", b.Decision)
	}
	if problems := g.checkBallot(b); len(problems) > 0 {
		return problems[0]
	}
	return checkCast(b)
}

// checkCast wants votes of voters, and of the lead, one each, for options.
func checkCast(b *loomv1.Ballot) *fault.Error {
	for i, v := range b.Votes {
		known := slices.Contains(b.Voters, v.GetRole()) || v.GetRole() == Lead
		twice := slices.ContainsFunc(b.Votes[:i], func(o *loomv1.Vote) bool { return o.GetRole() == v.GetRole() })
		if !known || twice || !slices.Contains(b.Options, v.GetOption()) || v.Confidence > maxConfidence || len(v.Rationale) > MaxRationale {
			return fault.New("graph/invalid", "a vote of %q on %s for %q", v.GetRole(), b.Decision, v.GetOption())
		}
		if err := checkTimes("", v.Time); err != nil {
			return err
		}
	}
	return nil
}

// resumed are the facts that bring a ballot to where it was.
func (g *Graph) resumed(now time.Time, b *loomv1.Ballot) []*loomv1.Event {
	until := now.Add(time.Duration(b.Seconds) * time.Second)
	opened := &loomv1.Ballot{
		Decision: b.Decision, Options: b.Options, Rule: b.Rule, Voters: b.Voters, Quorum: b.Quorum, Seconds: b.Seconds,
		Status: ballotOpen, Until: timestamppb.New(until), Votes: b.Votes,
	}
	events := []*loomv1.Event{{Fact: &loomv1.Event_BallotOpened{BallotOpened: &loomv1.BallotOpened{Ballot: opened}}}}
	switch b.Status {
	case ballotLead:
		events = append(events, refer(b, ballotLead, until, b.Reason))
	case ballotCEO:
		events = append(events, refer(b, ballotCEO, time.Time{}, b.Reason))
	}
	return events
}
