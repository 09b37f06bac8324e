package project

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Limits of a question to the decision graph.
const (
	askDefault = 200
	askMost    = 2000
	askDepth   = 10
	askTokens  = 1024
	askBudget  = 64 << 10  // tokens
	askPage    = 256 << 10 // bytes of a page of an export
)

// AskAt is Ask of the graph as it was after the project's event of a number,
// which the answer states, with what in it is stale.
func AskAt(g *graph.Graph, number uint64, at time.Time, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	if q.GetAtLeast() > number {
		return nil, fault.New("position/beyond", "project %q has no such moment yet", q.GetProject()).At("at_least").
			Want("its last event is number %d", number)
	}
	r, err := Ask(g, at, q)
	if err != nil {
		return nil, err
	}
	r.Number = number
	nodes := r.GetGraph().GetNodes()
	for _, item := range r.GetContext().GetItems() {
		nodes = append(slices.Clip(nodes), item.Node)
	}
	if len(nodes) > 0 && q.Question != loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT {
		r.Stale = staleOf(g, nodes)
	}
	return r, nil
}

// Ask answers a question to a decision graph as it is at a moment. The
// messages in the answer are the graph's own and are not to be changed.
func Ask(g *graph.Graph, now time.Time, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	if err := checkQuestion(g, q); err != nil {
		return nil, err
	}
	reply, err := answer(g, now, q)
	if part := reply.GetGraph(); part != nil {
		part.Imported = g.Spans(part.Nodes)
	}
	return reply, err
}

func answer(g *graph.Graph, now time.Time, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	limit := int(cmp.Or(q.Limit, askDefault))
	switch q.Question {
	case loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT:
		w := graph.Work{Bead: q.Bead, Execution: q.Execution, Text: q.Text}
		if q.Id != "" {
			w.Nodes = []string{q.Id}
		}
		return &loomv1.GraphReply{Context: g.Context(w, int(cmp.Or(q.Tokens, askTokens)))}, nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_NARRATIVE:
		return &loomv1.GraphReply{Narrative: g.Narrative(q.Id)}, nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_PULSE:
		return &loomv1.GraphReply{Pulse: g.Pulse(now, 0)}, nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT:
		part, next := g.Page(q.After, int(cmp.Or(q.Limit, askMost)), askPage)
		return &loomv1.GraphReply{Graph: part, Next: next, Cut: next > 0}, nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_BALLOTS:
		return askBallots(g, q, limit), nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD:
		part := g.Neighbourhood(q.Id, int(cmp.Or(q.Depth, 1)), limit)
		return &loomv1.GraphReply{Graph: part, Cut: len(part.Nodes) == limit}, nil
	case loomv1.GraphQuestion_GRAPH_QUESTION_PATH:
		return askPath(g, q)
	}
	nodes := askNodes(g, q, limit+1)
	cut := len(nodes) > limit
	switch {
	case cut && q.Question <= loomv1.GraphQuestion_GRAPH_QUESTION_LIST:
		nodes = nodes[len(nodes)-limit:] // the newest
	case cut:
		nodes = nodes[:limit]
	}
	return &loomv1.GraphReply{Graph: partOf(g, nodes), Cut: cut}, nil
}

// askNodes returns the nodes that a question is about, one more than the limit
// if there are more.
func askNodes(g *graph.Graph, q *loomv1.GraphRequest, limit int) []*loomv1.DecisionNode {
	f := graph.Filter{Type: q.Type, Status: q.Status, Bead: q.Bead, Execution: q.Execution, Limit: limit}
	switch q.Question {
	case loomv1.GraphQuestion_GRAPH_QUESTION_SEARCH:
		return g.Search(q.Text, f)
	case loomv1.GraphQuestion_GRAPH_QUESTION_RECENT:
		return g.Recent(limit)
	case loomv1.GraphQuestion_GRAPH_QUESTION_GOALS:
		return g.Goals()
	case loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS:
		return g.Ancestors(q.Id, q.EdgeTypes...)
	case loomv1.GraphQuestion_GRAPH_QUESTION_DESCENDANTS:
		return g.Descendants(q.Id, q.EdgeTypes...)
	}
	return g.List(f)
}

// partOf returns some nodes and the edges among them.
func partOf(g *graph.Graph, nodes []*loomv1.DecisionNode) *loomv1.DecisionGraph {
	part, in := &loomv1.DecisionGraph{Nodes: nodes}, make(map[string]bool, len(nodes))
	for _, n := range nodes {
		in[n.Id] = true
	}
	for _, n := range nodes {
		for _, e := range g.Edges(n.Id, "") {
			if in[e.To] {
				part.Edges = append(part.Edges, e)
			}
		}
	}
	return part
}

func askPath(g *graph.Graph, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	edges, ok := g.Path(q.Id, q.To)
	if !ok {
		return nil, fault.New("graph/no-path", "no way leads from %s to %s", q.Id, q.To).Want("perhaps one leads the other way")
	}
	if len(edges) >= askMost {
		half := edges[askMost-2].To
		return nil, fault.New("graph/long-path", "the way from %s to %s has %d decisions, and %d is the most", q.Id, q.To, len(edges)+1, askMost).
			Want("the way from %s to %s, and from there on", q.Id, half)
	}
	part := &loomv1.DecisionGraph{Edges: edges}
	first, _ := g.Node(q.Id)
	part.Nodes = append(part.Nodes, first)
	for _, e := range edges {
		n, _ := g.Node(e.To)
		part.Nodes = append(part.Nodes, n)
	}
	return &loomv1.GraphReply{Graph: part}, nil
}

func askBallots(g *graph.Graph, q *loomv1.GraphRequest, limit int) *loomv1.GraphReply {
	if q.Id != "" {
		r := &loomv1.GraphReply{}
		if b, ok := g.Ballot(q.Id); ok {
			r.Ballots = append(r.Ballots, b)
		}
		return r
	}
	all := g.Ballots(false)
	from := max(0, len(all)-limit) // the newest
	return &loomv1.GraphReply{Ballots: all[from:], Cut: from > 0}
}

// checkQuestion says all that is wrong with a question.
func checkQuestion(g *graph.Graph, q *loomv1.GraphRequest) error {
	var errs []*fault.Error
	bad := func(where, format string, args ...any) {
		errs = append(errs, fault.New("usage/argument", format, args...).At(where))
	}
	if _, ok := loomv1.GraphQuestion_name[int32(q.Question)]; !ok {
		bad("question", "no question %d", q.Question)
	}
	for _, end := range []struct{ where, id string }{{"id", q.Id}, {"to", q.To}} {
		if needsNode(q.Question, end.where) || end.id != "" && Of(end.id) == "" {
			if _, ok := g.Node(end.id); !ok {
				errs = append(errs, fault.New("graph/unknown-node", "there is no such decision").At(end.where).Got(end.id).Want("d1, d2 and so on"))
			}
		}
	}
	for i, t := range q.EdgeTypes {
		if _, ok := loomv1.DecisionEdgeType_name[int32(t)]; !ok || t == 0 {
			bad(fmt.Sprintf("edge_types/%d", i), "no type of links %d", t)
		}
	}
	if q.Question == loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT && q.Id == "" && q.Bead == "" && q.Execution == "" && q.Text == "" {
		bad("bead", "a context is of a bead, an execution, a decision or words")
	}
	if q.Limit > askMost {
		bad("limit", "%d nodes where %d is the most", q.Limit, askMost)
	}
	if q.Depth > askDepth {
		bad("depth", "a depth of %d where %d is the most", q.Depth, askDepth)
	}
	if q.Tokens > askBudget {
		bad("tokens", "%d tokens where %d is the most", q.Tokens, askBudget)
	}
	return fault.Join(errs)
}

// needsNode says whether a question is about the node that a field names.
func needsNode(q loomv1.GraphQuestion, field string) bool {
	switch q {
	case loomv1.GraphQuestion_GRAPH_QUESTION_PATH:
		return true
	case loomv1.GraphQuestion_GRAPH_QUESTION_ANCESTORS, loomv1.GraphQuestion_GRAPH_QUESTION_DESCENDANTS,
		loomv1.GraphQuestion_GRAPH_QUESTION_NEIGHBOURHOOD:
		return field == "id"
	}
	return false
}
