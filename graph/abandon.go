package graph

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Abandon gives up a node, with nothing in its place; what rests on it is stale
// from then on. Open ballots that it is part of are void. Doing it again for the
// same reason changes nothing.
//
// Refusals, all at once: graph/unknown-node, graph/superseded, graph/abandoned
// for what was given up for another reason, and graph/invalid for a reason that
// is empty or too long.
func (g *Graph) Abandon(cmd *loomv1.AbandonDecision) ([]*loomv1.Event, error) {
	events, problems := g.giveUp("", []*loomv1.AbandonDecision{cmd}, nil, map[string]bool{})
	return events, fault.Join(problems)
}

// giveUp returns what gives up several nodes, or all that is wrong with that:
// taken are those that are superseded in the same breath, and void the decisions
// whose votes that has ended. Where is a pattern for the place of each in the
// command, or "".
func (g *Graph) giveUp(where string, list []*loomv1.AbandonDecision, taken, void map[string]bool) ([]*loomv1.Event, []*fault.Error) {
	var events []*loomv1.Event
	var problems []*fault.Error
	gone := map[string]string{}
	for i, c := range list {
		at := where
		if at != "" {
			at = fmt.Sprintf(where, i)
		}
		id, why := c.GetId(), c.GetReason()
		if was, twice := gone[id]; twice && was == why {
			continue
		}
		done, wrong := g.checkAbandon(at, c)
		if _, twice := gone[id]; len(wrong) == 0 && (twice || taken[id]) {
			wrong = append(wrong, fault.New("graph/invalid", "%s ends in two ways at once", id).At(at+"/id"))
		}
		problems = append(problems, wrong...)
		gone[id] = why
		if done || len(wrong) > 0 {
			continue
		}
		events = append(events, g.voided(id, id+" was given up: "+why, void)...)
		events = append(events, &loomv1.Event{Fact: &loomv1.Event_DecisionAbandoned{DecisionAbandoned: &loomv1.DecisionAbandoned{Id: id, Reason: why}}})
	}
	return events, problems
}

// checkAbandon says all that is wrong with giving up a node, and whether that
// has been done already.
func (g *Graph) checkAbandon(where string, c *loomv1.AbandonDecision) (done bool, problems []*fault.Error) {
	if strings.TrimSpace(c.GetReason()) == "" {
		problems = append(problems, fault.New("graph/invalid", "no reason is given").At(where+"/reason").Want("say why it is given up"))
	}
	problems = append(problems, checkText(where+"/reason", c.GetReason(), MaxRationale)...)
	i, unknown := g.find(where+"/id", c.GetId())
	if unknown != nil {
		return false, append(problems, unknown)
	}
	if n := g.node(i); n.Status == abandoned && n.Abandoned.GetReason() == c.GetReason() {
		return true, problems
	}
	if refusal := g.settled(where+"/id", i); refusal != nil {
		problems = append(problems, refusal)
	}
	return false, problems
}

// voided returns what ends the open ballots that a node is part of, which counts
// no more; done are those that have been ended.
func (g *Graph) voided(id, why string, done map[string]bool) []*loomv1.Event {
	var events []*loomv1.Event
	for _, b := range g.votesOn(id) {
		if done[b.Decision] {
			continue
		}
		done[b.Decision] = true
		events = append(events, &loomv1.Event{Fact: &loomv1.Event_BallotClosed{BallotClosed: &loomv1.BallotClosed{
			Decision: b.Decision, Reason: short(why, MaxRationale),
		}}})
	}
	return events
}

// votesOn returns the open ballots that a node is part of, in the order of their
// decisions.
func (g *Graph) votesOn(id string) []*loomv1.Ballot {
	var list []*loomv1.Ballot
	for _, i := range slices.Sorted(keys(g.waiting)) {
		if b := g.ballots[i]; b.Decision == id || slices.Contains(b.Options, id) {
			list = append(list, b)
		}
	}
	return list
}

// abandonedFact folds that a node was given up.
func (g *Graph) abandonedFact(e *loomv1.Event, f *loomv1.DecisionAbandoned) *fault.Error {
	i, err := g.find("", f.GetId())
	if err != nil {
		return err
	}
	if err := g.settled("", i); err != nil {
		return err
	}
	if votes := g.votesOn(f.Id); len(votes) > 0 {
		return wrong("%s is given up while the vote on %s is open", f.Id, votes[0].Decision)
	}
	n := proto.CloneOf(g.node(i))
	n.Status = abandoned
	n.Abandoned = &loomv1.Abandonment{Reason: f.Reason, By: proto.CloneOf(e.Actor), At: proto.CloneOf(e.Time)}
	g.replace(i, n)
	return nil
}
