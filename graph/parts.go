package graph

import (
	"cmp"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Page returns a part of the graph, complete as it is: of all nodes, edges and
// ballots in a row those after the first so many, as far as a limit and a number
// of bytes go, but at least one; and the place of the next page, 0 after the
// last.
func (g *Graph) Page(after uint64, limit, bytes int) (*loomv1.DecisionGraph, uint64) {
	part := &loomv1.DecisionGraph{}
	total := uint64(len(g.sorts) + len(g.ends) + len(g.opened))
	at := after
	for ; at < total && limit > 0; at++ {
		m, add := g.item(int(at), part)
		if bytes -= proto.Size(m); bytes < 0 && at > after {
			break
		}
		add()
		limit--
	}
	if at >= total {
		return part, 0
	}
	return part, at
}

// item returns what is in a place of the row of all, and what adds it to a part.
func (g *Graph) item(at int, part *loomv1.DecisionGraph) (proto.Message, func()) {
	if at < len(g.sorts) {
		n := g.node(int32(at))
		return n, func() { part.Nodes = append(part.Nodes, n) }
	}
	if at -= len(g.sorts); at < len(g.ends) {
		e := g.edge(int32(at))
		return e, func() { part.Edges = append(part.Edges, e) }
	}
	b := g.ballots[g.opened[at-len(g.ends)]]
	return b, func() { part.Ballots = append(part.Ballots, b) }
}

// Parts cuts a graph that was exported into what [Graph.Import] takes, of at most
// so many bytes each, and tries all of it on an empty graph: what comes back can
// be imported, in its order. Nodes are numbered anew from d1, in their order. Votes
// that are open go on elsewhere, with what was cast and the full time again; one
// on what no longer counts, or that cannot go on for another reason, is void. The
// first that cannot be is refused, with its place.
func Parts(from *loomv1.DecisionGraph, bytes int) ([]*loomv1.DecisionGraph, error) {
	c := &cutter{most: bytes, ids: map[string]string{}, trial: New()}
	for i, n := range from.GetNodes() {
		if c.ids[n.GetId()] != "" || n.GetId() == "" {
			return nil, fault.New("graph/invalid", "a decision without an id of its own").At(fmt.Sprintf("/nodes/%d", i)).Got(n.GetId())
		}
		c.ids[n.Id] = name(i + 1)
		c.add(&loomv1.DecisionGraph{Nodes: []*loomv1.DecisionNode{unretired(n)}})
	}
	c.cut()
	for i, e := range from.GetEdges() {
		e = proto.CloneOf(e)
		if err := c.rename(fmt.Sprintf("/edges/%d", i), &e.From, &e.To); err != nil {
			return nil, err
		}
		c.add(&loomv1.DecisionGraph{Edges: []*loomv1.DecisionEdge{e}})
	}
	c.cut()
	if err := c.try(); err != nil {
		return nil, err
	}
	for i, b := range from.GetBallots() {
		b, err := c.ballot(fmt.Sprintf("/ballots/%d", i), b)
		if err != nil {
			return nil, err
		}
		c.add(&loomv1.DecisionGraph{Ballots: []*loomv1.Ballot{b}})
	}
	c.cut()
	return c.parts, cmp.Or(c.try(), c.agrees(from))
}

// cutter is an exported graph on its way to parts.
type cutter struct {
	most  int
	ids   map[string]string // new ones by those of the file
	parts []*loomv1.DecisionGraph
	part  *loomv1.DecisionGraph
	size  int
	trial *Graph
	tried int // parts that the trial has
}

func (c *cutter) add(one *loomv1.DecisionGraph) {
	size := proto.Size(one)
	if c.size+size > c.most {
		c.cut()
	}
	if c.part == nil {
		c.part = &loomv1.DecisionGraph{}
	}
	proto.Merge(c.part, one)
	c.size += size
}

func (c *cutter) cut() {
	if c.part != nil {
		c.parts = append(c.parts, c.part)
	}
	c.part, c.size = nil, 0
}

// rename puts new ids in the place of those of the file.
func (c *cutter) rename(where string, ids ...*string) error {
	for _, id := range ids {
		if c.ids[*id] == "" {
			return fault.New("graph/unknown-node", "there is no such decision in the file").At(where).Got(*id)
		}
		*id = c.ids[*id]
	}
	return nil
}

// unretired is a node as it is imported: what superseded it does so again.
func unretired(n *loomv1.DecisionNode) *loomv1.DecisionNode {
	n = proto.CloneOf(n)
	if n.Id = ""; n.Status == superseded || n.Status == 0 {
		n.Status = active
	}
	return n
}

// ballot is a ballot as it is imported.
func (c *cutter) ballot(where string, b *loomv1.Ballot) (*loomv1.Ballot, error) {
	b = proto.CloneOf(b)
	ids := []*string{&b.Decision}
	for i := range b.Options {
		ids = append(ids, &b.Options[i])
	}
	for _, v := range b.Votes {
		ids = append(ids, &v.Option)
	}
	if b.Result != "" {
		ids = append(ids, &b.Result)
	}
	if err := c.rename(where, ids...); err != nil {
		return nil, err
	}
	if b.Status == ballotClosed {
		return b, nil
	}
	if why := c.trial.checkResumed(b); why != nil {
		b.Status, b.Until, b.Result = ballotClosed, nil, ""
		b.Reason = "it was open when it was exported, and cannot go on: " + hindrance(why)
	}
	return b, nil
}

// hindrance says why a vote cannot go on, without ids, which are others soon.
func hindrance(why *fault.Error) string {
	switch why.Code {
	case "graph/superseded", "graph/abandoned":
		return "what it is on counts no more"
	case "graph/duplicate":
		return "its decision has chosen already"
	}
	return "its options, voters and votes make no vote"
}

// try imports the parts that there are into a graph of its own.
func (c *cutter) try() error {
	for ; c.tried < len(c.parts); c.tried++ {
		events, err := c.trial.Import(time.Time{}, &loomv1.ImportDecisions{Part: c.parts[c.tried]})
		if err != nil {
			return err
		}
		for _, e := range events {
			e.Time = &timestamppb.Timestamp{}
			if err := c.trial.Apply(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// agrees compares what counts in the file and in the trial.
func (c *cutter) agrees(from *loomv1.DecisionGraph) error {
	for i, n := range from.GetNodes() {
		if n.Status == superseded != (c.trial.statusOf(int32(i)) == superseded) {
			return fault.New("graph/invalid", "whether %s is superseded is not what the links of the file say", n.Id).
				At(fmt.Sprintf("/nodes/%d", i)).Want("export the whole graph")
		}
	}
	return nil
}
