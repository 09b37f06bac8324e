package project

import (
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// abandonDecision gives up a decision for who recorded it.
func (d *decision) abandonDecision(c *loomv1.AbandonDecision) error {
	if err := d.own("/id", c.GetId()); err != nil {
		return err
	}
	return d.giveUp(c)
}

// giveUp gives up a decision, for whoever may.
func (d *decision) giveUp(c *loomv1.AbandonDecision) error {
	return d.endings(d.s.graph.Abandon(c))
}

// endings emits facts of the decision graph, or passes on its refusal; those that
// end something are about what that was about.
func (d *decision) endings(events []*loomv1.Event, err error) error {
	if err != nil {
		return err
	}
	for _, e := range events {
		var err error
		switch f := e.Fact.(type) {
		case *loomv1.Event_DecisionAbandoned:
			err = d.onBallot(f.DecisionAbandoned.Id, []*loomv1.Event{e})
		case *loomv1.Event_BallotClosed:
			err = d.onBallot(f.BallotClosed.Decision, []*loomv1.Event{e})
		default:
			err = d.emit(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ownAll is own for all that a new decision gives up.
func (d *decision) ownAll(list []*loomv1.AbandonDecision) error {
	for i, c := range list {
		if err := d.own(fmt.Sprintf("/abandons/%d/id", i), c.GetId()); err != nil {
			return err
		}
	}
	return nil
}

// own refuses a decision that somebody else recorded. What is not there is left
// to the graph to refuse.
func (d *decision) own(where, id string) error {
	n, ok := d.s.graph.Node(id)
	if !ok || owns(d.actor, n.GetAuthor()) {
		return nil
	}
	return fault.New("graph/not-owner", "%s was recorded by %s", id, owner(n.GetAuthor())).At(where).
		Want("ask them, or have the CEO sign it; or supersede it by a better one")
}

// owns says whether what an author recorded is somebody's own. Agents of one role
// stand in for each other: their attempts pass from one to the next.
func owns(who, author *loomv1.Identity) bool {
	if who.GetKind() != author.GetKind() {
		return false
	}
	if who.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_AGENT {
		return inRole(who) == inRole(author)
	}
	return who.GetName() == author.GetName()
}

// inRole returns the role that an agent works in.
func inRole(agent *loomv1.Identity) string {
	return roleOf(&loomv1.Claimant{Agent: agent.GetName()})
}

// owner names an author for a person.
func owner(author *loomv1.Identity) string {
	switch author.GetKind() {
	case loomv1.IdentityKind_IDENTITY_KIND_AGENT:
		return "the role " + inRole(author)
	case loomv1.IdentityKind_IDENTITY_KIND_CEO:
		return "the CEO"
	}
	return fmt.Sprintf("%s %q", strings.TrimPrefix(Word(author.GetKind()), "identity_kind_"), author.GetName())
}
