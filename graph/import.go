package graph

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// MaxPart is the most bytes of a part that is imported at once.
const MaxPart = 512 << 10

// Import adds a part of a graph of elsewhere: nodes, edges or ballots. Nodes get
// the next ids, in their order, and keep all else; edges and ballots are among
// imported nodes. An edge of type supersedes supersedes its end. Ballots that are
// not decided go on from now, see [Parts]. All of it is added or nothing, and so it
// is refused, with the codes of [Graph.Add], [Graph.Link] and [Graph.Open].
func (g *Graph) Import(now time.Time, cmd *loomv1.ImportDecisions) ([]*loomv1.Event, error) {
	part := proto.CloneOf(cmd.GetPart())
	if err := checkPart(part); err != nil {
		return nil, err
	}
	for i, n := range part.Nodes {
		n.Id = name(len(g.sorts) + i + 1)
	}
	for i, e := range part.Edges {
		e.Id, e.Weight = uint64(len(g.ends)+i+1), weight(e)
	}
	opened, err := g.resume(now, part)
	if err != nil {
		return nil, err
	}
	undo, err := g.takeIn(part)
	if err != nil {
		return nil, err
	}
	undo()
	imported := &loomv1.Event{Fact: &loomv1.Event_DecisionsImported{DecisionsImported: &loomv1.DecisionsImported{Part: part}}}
	return append([]*loomv1.Event{imported}, opened...), nil
}

// checkPart wants one kind of content, and not too much of it.
func checkPart(part *loomv1.DecisionGraph) error {
	kinds := 0
	for _, n := range []int{len(part.GetNodes()), len(part.GetEdges()), len(part.GetBallots())} {
		if n > 0 {
			kinds++
		}
	}
	if kinds != 1 || len(part.Imported) > 0 {
		return fault.New("graph/invalid", "a part is nodes, edges or ballots").At("/part")
	}
	if size := proto.Size(part); size > MaxPart {
		return fault.New("graph/invalid", "%d bytes where %d is the most", size, MaxPart).At("/part")
	}
	return nil
}

// imported folds a part.
func (g *Graph) imported(e *loomv1.Event, part *loomv1.DecisionGraph) *fault.Error {
	part = proto.CloneOf(part)
	for i, n := range part.GetNodes() {
		part.Nodes[i] = filledNode(e, n)
		part.Nodes[i].Bead, part.Nodes[i].Execution = n.GetBead(), n.GetExecution()
	}
	for i, edge := range part.GetEdges() {
		part.Edges[i] = filledEdge(e, edge)
	}
	_, err := g.takeIn(part)
	return err
}

// takeIn adds a part, or changes nothing and says why. What it returns takes
// edges and ballots out again, and nodes likewise: nothing else may have been
// added meanwhile.
func (g *Graph) takeIn(part *loomv1.DecisionGraph) (undo func(), err *fault.Error) {
	switch {
	case len(part.GetNodes()) > 0:
		return g.takeNodes(part.Nodes)
	case len(part.GetEdges()) > 0:
		return g.takeEdges(part.Edges)
	}
	return g.takeBallots(part.GetBallots())
}

func (g *Graph) takeNodes(nodes []*loomv1.DecisionNode) (func(), *fault.Error) {
	first := len(g.sorts) + 1
	for i, n := range nodes {
		where := fmt.Sprintf("/part/nodes/%d", i)
		if problems := checkNode(n); len(problems) > 0 {
			return nil, problems[0].At(where + problems[0].Where[len("/node"):])
		}
		if n.Id != name(first+i) || len(g.sorts)+i >= maxNodes {
			return nil, wrong("decision %q where %s is next", n.Id, name(first+i))
		}
		if n.Status != active && n.Status != abandoned || (n.Status == abandoned) != (n.Abandoned != nil) {
			return nil, fault.New("graph/invalid", "it is neither active nor abandoned for a reason").At(where + "/status")
		}
		if problems := checkText(where+"/abandoned/reason", n.Abandoned.GetReason(), MaxRationale); len(problems) > 0 {
			return nil, problems[0]
		}
		if err := checkTimes(where, n.Time, n.Abandoned.GetAt()); err != nil {
			return nil, err
		}
	}
	before := slices.Clone(g.foreign)
	g.foreign = append(slices.Clone(before), &loomv1.NodeSpan{First: uint64(first), Last: uint64(first + len(nodes) - 1)})
	for _, n := range nodes {
		g.put(n)
	}
	return func() {
		kept := first - 1
		g.nodes.cut(kept)
		g.sorts, g.out, g.in, g.foreign, g.words = g.sorts[:kept], g.out[:kept], g.in[:kept], before, nil
		for t, list := range g.byType {
			n := sort.Search(len(list), func(i int) bool { return int(list[i]) >= kept })
			g.byType[t] = list[:n]
		}
	}, nil
}

// checkTimes refuses times that no calendar has, and JSON cannot say.
func checkTimes(where string, times ...*timestamppb.Timestamp) *fault.Error {
	for _, t := range times {
		if t != nil && !t.IsValid() {
			return fault.New("graph/invalid", "a time that no calendar has").At(where)
		}
	}
	return nil
}

func (g *Graph) takeEdges(edges []*loomv1.DecisionEdge) (func(), *fault.Error) {
	kept, was := len(g.ends), map[int32]*loomv1.DecisionNode{}
	undo := func() {
		for i := len(g.ends) - 1; i >= kept; i-- {
			at := g.ends[i]
			g.out[at.from] = g.out[at.from][:len(g.out[at.from])-1]
			g.in[at.to] = g.in[at.to][:len(g.in[at.to])-1]
			delete(g.kinds, kind{at, g.edgeType(int32(i))})
		}
		g.edges.cut(kept)
		g.types, g.ends = g.types[:kept], g.ends[:kept]
		for i, n := range was {
			g.replace(i, n)
		}
	}
	for i, e := range edges {
		if err := g.takeEdge(fmt.Sprintf("/part/edges/%d", i), e, was); err != nil {
			undo()
			return nil, err
		}
	}
	return undo, nil
}

// takeEdge adds an edge; was keeps what it supersedes.
func (g *Graph) takeEdge(where string, e *loomv1.DecisionEdge, was map[int32]*loomv1.DecisionNode) *fault.Error {
	if problems := checkLink(where, e); len(problems) > 0 {
		return problems[0]
	}
	if err := checkTimes(where, e.Time); err != nil {
		return err
	}
	for _, end := range []struct{ where, id string }{{"/from", e.From}, {"/to", e.To}} {
		if err := g.wantsForeign(where+end.where, end.id); err != nil {
			return err
		}
	}
	i, _ := g.at(e.From)
	j, _ := g.at(e.To)
	if _, there := g.kinds[kind{ends{i, j}, e.Type}]; there {
		return fault.New("graph/duplicate", "%s %s %s is there already", e.From, edgeWord(e.Type), e.To).At(where)
	}
	at, err := g.nextEdge(e)
	if err != nil {
		return err.At(where)
	}
	if err := g.closes(where, e.Type, at); err != nil {
		return err
	}
	if e.Type == supersedes {
		if err := g.settled(where+"/to", at.to); err != nil {
			return err
		}
		was[at.to] = g.node(at.to)
		g.retire(at.to)
	}
	g.join(e, at)
	return nil
}

func (g *Graph) takeBallots(ballots []*loomv1.Ballot) (func(), *fault.Error) {
	places := make([]int32, len(ballots))
	for i, b := range ballots {
		where := fmt.Sprintf("/part/ballots/%d", i)
		if err := g.checkForeign(where, b); err != nil {
			return nil, err
		}
		places[i], _ = g.at(b.Decision)
		if g.ballots[places[i]] != nil || slices.Contains(places[:i], places[i]) {
			return nil, fault.New("graph/duplicate", "there is another ballot on %s already", b.Decision).At(where)
		}
	}
	opened := len(g.opened)
	for i, b := range ballots {
		g.keep(places[i], b)
	}
	return func() {
		for _, i := range places {
			delete(g.ballots, i)
		}
		g.opened = g.opened[:opened]
	}, nil
}

// checkForeign says what is wrong with a ballot that is imported.
func (g *Graph) checkForeign(where string, b *loomv1.Ballot) *fault.Error {
	for _, id := range append([]string{b.GetDecision()}, b.GetOptions()...) {
		if err := g.wantsForeign(where, id); err != nil {
			return err
		}
	}
	bad := func(format string, args ...any) *fault.Error {
		return fault.New("graph/invalid", format, args...).At(where)
	}
	switch {
	case b.Status != ballotClosed || b.Until != nil:
		return bad("the ballot on %s is open", b.Decision)
	case len(b.Options) > MaxOptions || len(b.Voters) > MaxVoters || len(b.Votes) > MaxVoters+1 || len(b.Reason) > 2*MaxRationale:
		return bad("the ballot on %s is too large", b.Decision)
	case b.Result != "" && !slices.Contains(b.Options, b.Result):
		return bad("the ballot on %s has no option %q", b.Decision, b.Result)
	}
	for _, voter := range b.Voters {
		if !isName(voter) {
			return bad("the ballot on %s has a voter %q", b.Decision, voter)
		}
	}
	times := []*timestamppb.Timestamp{b.OpenedAt, b.ClosedAt}
	for _, v := range b.Votes {
		if !slices.Contains(b.Options, v.GetOption()) || v.Confidence > maxConfidence || len(v.Rationale) > MaxRationale || !isName(v.Role) {
			return bad("a vote on %s for %q", b.Decision, v.GetOption())
		}
		times = append(times, v.Time)
	}
	return checkTimes(where, times...)
}

// wantsForeign refuses a node that did not come with an import.
func (g *Graph) wantsForeign(where, id string) *fault.Error {
	i, err := g.find(where, id)
	if err != nil {
		return err
	}
	if !g.isForeign(i) {
		return fault.New("graph/invalid", "%s did not come with an import", id).At(where)
	}
	return nil
}

// Imported reports whether a node came with an import: then its bead and
// execution are those of where it came from.
func (g *Graph) Imported(id string) bool {
	i, ok := g.at(id)
	return ok && g.isForeign(i)
}

// Spans returns which of some nodes came with an import, in the order of the nodes.
func (g *Graph) Spans(nodes []*loomv1.DecisionNode) (spans []*loomv1.NodeSpan) {
	for _, n := range nodes {
		i, ok := g.at(n.GetId())
		if !ok || !g.isForeign(i) {
			continue
		}
		at := uint64(i) + 1
		if last := len(spans) - 1; last >= 0 && spans[last].Last+1 == at {
			spans[last].Last = at
			continue
		}
		spans = append(spans, &loomv1.NodeSpan{First: at, Last: at})
	}
	return spans
}

func (g *Graph) isForeign(i int32) bool {
	n := uint64(i) + 1
	at := sort.Search(len(g.foreign), func(k int) bool { return g.foreign[k].Last >= n })
	return at < len(g.foreign) && g.foreign[at].First <= n
}
