package graph

import (
	"cmp"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Add adds a node and its links, all or none, and gives the node the next id.
// Of each link one end is empty and stands for the new node. A link of type
// supersedes from the new node supersedes the old one, as [Graph.Supersede]
// does. The node's id, status, author and time are not the caller's to set. What
// the command gives up is given up as by [Graph.Abandon].
//
// It refuses with every problem at once: see [Graph.Link] and [Graph.Abandon]
// for the codes, and graph/confidence for a confidence above 100.
func (g *Graph) Add(cmd *loomv1.AddDecision) ([]*loomv1.Event, error) {
	d := draft{g: g, id: name(len(g.sorts) + 1), kinds: map[kind]*loomv1.DecisionEdge{}, void: map[string]bool{}}
	d.problems = checkNode(cmd.GetNode())
	if links := cmd.GetLinks(); len(links) > MaxLinks {
		d.refuse(fault.New("graph/invalid", "%d links where %d is the most", len(links), MaxLinks).At("/links"))
	} else {
		for i, l := range links {
			d.link(fmt.Sprintf("/links/%d", i), l)
		}
	}
	if len(d.problems) == 0 {
		d.rounds()
	}
	ends := d.abandon(cmd.GetAbandons())
	if err := fault.Join(d.problems); err != nil {
		return nil, err
	}
	n := proto.CloneOf(cmd.Node)
	n.Id, n.Status, n.Author, n.Time, n.Abandoned = d.id, active, nil, nil, nil
	added := &loomv1.Event{Fact: &loomv1.Event_DecisionAdded{DecisionAdded: &loomv1.DecisionAdded{Node: n}}}
	return slices.Concat([]*loomv1.Event{added}, d.facts(), ends), nil
}

// Link adds an edge between two nodes; its id, author and time are not the
// caller's to set, and a weight of 0 means 1. An edge that is there already,
// with the same weight and rationale, changes nothing. One of type supersedes
// supersedes its end, as [Graph.Supersede] does.
//
// Refusals: graph/unknown-type, graph/unknown-node, graph/self-loop,
// graph/cycle, which names the way round, graph/duplicate when it is there
// with another weight or rationale, graph/superseded and graph/abandoned,
// graph/voting for what a decision with an open vote chooses or rejects, and
// graph/invalid for a weight outside 0 to 1 or a text that is too long.
func (g *Graph) Link(cmd *loomv1.LinkDecision) ([]*loomv1.Event, error) {
	return g.link("/edge", "/edge/from", "/edge/to", cmd.GetEdge())
}

// Supersede puts one node in the place of another in one fact. Open ballots that
// the old one is part of are void. Doing it again with the same rationale changes
// nothing. Refusals are those of [Graph.Link];
// graph/superseded or graph/abandoned when either of the two counts no more.
func (g *Graph) Supersede(cmd *loomv1.SupersedeDecision) ([]*loomv1.Event, error) {
	return g.link("", "/new", "/old", &loomv1.DecisionEdge{
		From: cmd.GetNew(), To: cmd.GetOld(), Type: supersedes, Rationale: cmd.GetRationale(),
	})
}

func (g *Graph) link(where, from, to string, e *loomv1.DecisionEdge) ([]*loomv1.Event, error) {
	problems := checkLink(where, e)
	i, unknownFrom := g.find(from, e.GetFrom())
	j, unknownTo := g.find(to, e.GetTo())
	for _, unknown := range []*fault.Error{unknownFrom, unknownTo} {
		if unknown != nil {
			problems = append(problems, unknown)
		}
	}
	if err := fault.Join(problems); err != nil {
		return nil, err
	}
	at := ends{i, j}
	if there, ok := g.kinds[kind{at, e.Type}]; ok {
		return nil, repeated(where, g.edge(there), e)
	}
	if refusal := cmp.Or(g.closes(where, e.Type, at), g.voting(from, e.Type, i)); refusal != nil {
		return nil, refusal
	}
	if e.Type == supersedes {
		for _, end := range []struct {
			where string
			at    int32
		}{{to, j}, {from, i}} {
			if refusal := g.settled(end.where, end.at); refusal != nil {
				return nil, refusal
			}
		}
	}
	return g.recorded(drawn(e, e.From, e.To, len(g.ends)+1), map[string]bool{}), nil
}

// closes refuses an edge from a node to itself, or one that closes a cycle.
func (g *Graph) closes(where string, t loomv1.DecisionEdgeType, at ends) *fault.Error {
	if at.from == at.to {
		return selfLoop(where, g.node(at.from).Id)
	}
	if !ordering.has(t) {
		return nil
	}
	if way := g.route(of(t), []int32{at.to}, []int32{at.from}); way != nil {
		return g.cycle(where, t, g.node(at.from).Id, way)
	}
	return nil
}

// voting refuses that a decision chooses or rejects beside its own vote.
func (g *Graph) voting(where string, t loomv1.DecisionEdgeType, from int32) *fault.Error {
	if t != chosen && t != rejected || !g.waiting[from] {
		return nil
	}
	return fault.New("graph/voting", "a vote on %s is open, and its result chooses", g.node(from).Id).At(where).
		Want("vote, or wait for the result")
}

// repeated is nil when an edge that is there says the same.
func repeated(where string, there, e *loomv1.DecisionEdge) error {
	if there.Weight == weight(e) && there.Rationale == e.GetRationale() {
		return nil
	}
	return fault.New("graph/duplicate", "%s %s %s is there already, with weight %v and its own rationale",
		there.From, edgeWord(there.Type), there.To, there.Weight).At(where)
}

// weight is an edge's weight, as unset means 1.
func weight(e *loomv1.DecisionEdge) float64 {
	if e.GetWeight() == 0 {
		return 1
	}
	return e.Weight
}

// drawn returns the edge as it is recorded.
func drawn(e *loomv1.DecisionEdge, from, to string, id int) *loomv1.DecisionEdge {
	return &loomv1.DecisionEdge{
		Id: uint64(id), From: from, To: to, Type: e.Type, Weight: weight(e), Rationale: e.Rationale,
	}
}

// recorded returns the facts that record an edge: one that supersedes ends the
// open ballots that its end is part of; done are those that have been ended.
func (g *Graph) recorded(e *loomv1.DecisionEdge, done map[string]bool) []*loomv1.Event {
	if e.Type != supersedes {
		return []*loomv1.Event{fact(e)}
	}
	why := fmt.Sprintf("%s was superseded by %s%s", e.To, e.From, reasoned(e.Rationale))
	return append(g.voided(e.To, why, done), fact(e))
}

// fact is what records an edge.
func fact(e *loomv1.DecisionEdge) *loomv1.Event {
	if e.Type == supersedes {
		return &loomv1.Event{Fact: &loomv1.Event_DecisionSuperseded{DecisionSuperseded: &loomv1.DecisionSuperseded{
			Old: e.To, New: e.From, Edge: e,
		}}}
	}
	return &loomv1.Event{Fact: &loomv1.Event_DecisionLinked{DecisionLinked: &loomv1.DecisionLinked{Edge: e}}}
}
