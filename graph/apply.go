package graph

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Apply folds one committed event into the graph; events of other cores change
// nothing. What a fact leaves empty of a node's time, author, bead, execution
// and of an edge's time and author comes from the event. An event that cannot
// follow from the state is graph/inconsistent and changes nothing. Apply keeps
// no reference to e.
func (g *Graph) Apply(e *loomv1.Event) error {
	var err *fault.Error
	switch f := e.GetFact().(type) {
	case *loomv1.Event_DecisionAdded:
		err = g.added(e, f.DecisionAdded.GetNode())
	case *loomv1.Event_DecisionLinked:
		err = g.linked(e, f.DecisionLinked.GetEdge())
	case *loomv1.Event_DecisionSuperseded:
		err = g.superseded(e, f.DecisionSuperseded)
	case *loomv1.Event_DecisionsImported:
		err = g.imported(e, f.DecisionsImported.GetPart())
	case *loomv1.Event_DecisionAbandoned:
		err = g.abandonedFact(e, f.DecisionAbandoned)
	case *loomv1.Event_BallotOpened:
		err = g.ballotOpened(e, f.BallotOpened.GetBallot())
	case *loomv1.Event_VoteCast:
		err = g.voteCast(e, f.VoteCast)
	case *loomv1.Event_BallotReferred:
		err = g.ballotReferred(f.BallotReferred)
	case *loomv1.Event_BallotClosed:
		err = g.ballotClosed(e, f.BallotClosed)
	}
	if err != nil {
		return wrong("event %d", e.GetNumber()).Because(err)
	}
	return nil
}

func (g *Graph) added(e *loomv1.Event, n *loomv1.DecisionNode) *fault.Error {
	if err := g.nextNode(n); err != nil {
		return err
	}
	if n.Status == superseded {
		return wrong("%s is new and superseded", n.Id)
	}
	g.put(filledNode(e, n))
	return nil
}

// nextNode says why a node cannot be the next of the graph.
func (g *Graph) nextNode(n *loomv1.DecisionNode) *fault.Error {
	if next := name(len(g.sorts) + 1); n.GetId() != next || len(g.sorts) >= maxNodes {
		return wrong("decision %q where %s is next", n.GetId(), next)
	}
	if problems := checkValues(n); len(problems) > 0 {
		return problems[0]
	}
	if n.Status != 0 && !knownStatus(n.Status) {
		return wrong("%s has the status %d", n.Id, n.Status)
	}
	return nil
}

func (g *Graph) linked(e *loomv1.Event, edge *loomv1.DecisionEdge) *fault.Error {
	at, err := g.nextEdge(edge)
	if err != nil {
		return err
	}
	if edge.Type == supersedes {
		return wrong("edge %d supersedes %s as a mere link", edge.Id, edge.To)
	}
	if err := g.closes("", edge.Type, at); err != nil {
		return err
	}
	g.join(filledEdge(e, edge), at)
	return nil
}

func (g *Graph) superseded(e *loomv1.Event, f *loomv1.DecisionSuperseded) *fault.Error {
	edge := f.GetEdge()
	at, err := g.nextEdge(edge)
	if err != nil {
		return err
	}
	if edge.Type != supersedes || edge.From != f.New || edge.To != f.Old {
		return wrong("%s supersedes %s, and its edge says otherwise", f.New, f.Old)
	}
	if err := g.settled("", at.to); err != nil {
		return err
	}
	if err := g.closes("", edge.Type, at); err != nil {
		return err
	}
	g.join(filledEdge(e, edge), at)
	g.retire(at.to)
	return nil
}

// nextEdge returns the ends of an edge, or why it cannot be the next of the
// graph. Cycles are left to the caller.
func (g *Graph) nextEdge(e *loomv1.DecisionEdge) (ends, *fault.Error) {
	if next := uint64(len(g.ends) + 1); e.GetId() != next || next > maxNodes {
		return ends{}, wrong("edge %d where %d is next", e.GetId(), next)
	}
	if problems := checkEdge("", e); len(problems) > 0 {
		return ends{}, problems[0]
	}
	from, err := g.find("", e.From)
	if err != nil {
		return ends{}, err
	}
	to, err := g.find("", e.To)
	if err != nil {
		return ends{}, err
	}
	at := ends{from, to}
	if _, ok := g.kinds[kind{at, e.Type}]; ok {
		return ends{}, wrong("%s %s %s a second time", e.From, edgeWord(e.Type), e.To)
	}
	return at, nil
}

// filledNode returns a copy of n with what it leaves empty.
func filledNode(e *loomv1.Event, n *loomv1.DecisionNode) *loomv1.DecisionNode {
	n = proto.CloneOf(n)
	if n.Status == 0 {
		n.Status = active
	}
	if n.Bead == "" {
		n.Bead = e.Bead
	}
	if n.Execution == "" {
		n.Execution = e.Execution
	}
	if n.Author == nil {
		n.Author = proto.CloneOf(e.Actor)
	}
	if n.Time == nil {
		n.Time = proto.CloneOf(e.Time)
	}
	return n
}

// filledEdge returns a copy of edge with what it leaves empty.
func filledEdge(e *loomv1.Event, edge *loomv1.DecisionEdge) *loomv1.DecisionEdge {
	edge = proto.CloneOf(edge)
	edge.Weight = weight(edge)
	if edge.Author == nil {
		edge.Author = proto.CloneOf(e.Actor)
	}
	if edge.Time == nil {
		edge.Time = proto.CloneOf(e.Time)
	}
	return edge
}

func wrong(format string, args ...any) *fault.Error {
	return fault.New("graph/inconsistent", "decision graph: %s", fmt.Sprintf(format, args...))
}
