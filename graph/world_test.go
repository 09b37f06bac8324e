package graph_test

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/graph"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	goal        = loomv1.DecisionType_DECISION_TYPE_GOAL
	decision    = loomv1.DecisionType_DECISION_TYPE_DECISION
	option      = loomv1.DecisionType_DECISION_TYPE_OPTION
	action      = loomv1.DecisionType_DECISION_TYPE_ACTION
	outcome     = loomv1.DecisionType_DECISION_TYPE_OUTCOME
	observation = loomv1.DecisionType_DECISION_TYPE_OBSERVATION

	leadsTo    = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO
	chosen     = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_CHOSEN
	rejected   = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REJECTED
	requires   = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_REQUIRES
	blocks     = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_BLOCKS
	enables    = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_ENABLES
	supersedes = loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_SUPERSEDES

	active     = loomv1.DecisionStatus_DECISION_STATUS_ACTIVE
	superseded = loomv1.DecisionStatus_DECISION_STATUS_SUPERSEDED
	abandoned  = loomv1.DecisionStatus_DECISION_STATUS_ABANDONED
)

// pageSize is small, so that most of what a test adds is read from pages.
const pageSize = 2

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// fatal is a test, benchmark or property that can fail.
type fatal interface {
	Helper()
	Fatalf(string, ...any)
}

// world is what a project does with a graph: it numbers facts, applies and
// logs them.
type world struct {
	t     fatal
	graph *graph.Graph
	log   []*loomv1.Event
}

func newWorld(t fatal) *world { return &world{t: t, graph: graph.NewPaged(pageSize)} }

// take applies what a decider returned; a refusal fails the test.
func (w *world) take(events []*loomv1.Event, err error) []*loomv1.Event {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("refused: %v", err)
	}
	for _, e := range events {
		n := uint64(len(w.log) + 1)
		e.Number, e.Time = n, timestamppb.New(noon.Add(time.Duration(n)*time.Second))
		e.Bead, e.Execution = "demo-1", "demo-1-x1"
		e.Actor = &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "architect/1@h1"}
		if err := w.graph.Apply(e); err != nil {
			w.t.Fatalf("Apply(%v): %v", e, err)
		}
		w.log = append(w.log, e)
	}
	return events
}

// add adds a node with links and returns its id.
func (w *world) add(t loomv1.DecisionType, title string, links ...*loomv1.DecisionEdge) string {
	w.t.Helper()
	events := w.take(w.graph.Add(&loomv1.AddDecision{Node: &loomv1.DecisionNode{Type: t, Title: title, Confidence: 80}, Links: links}))
	return events[0].GetDecisionAdded().Node.Id
}

func (w *world) link(from string, t loomv1.DecisionEdgeType, to string) {
	w.t.Helper()
	w.take(w.graph.Link(&loomv1.LinkDecision{Edge: edge(from, t, to)}))
}

func edge(from string, t loomv1.DecisionEdgeType, to string) *loomv1.DecisionEdge {
	return &loomv1.DecisionEdge{From: from, Type: t, To: to}
}

// from and to are links of a node that is about to be added.
func from(id string, t loomv1.DecisionEdgeType) *loomv1.DecisionEdge { return edge(id, t, "") }
func to(t loomv1.DecisionEdgeType, id string) *loomv1.DecisionEdge   { return edge("", t, id) }

// story is a graph as an execution leaves it.
func story(t fatal) *world {
	w := newWorld(t)
	w.add(goal, "payments fail with odd totals")                                               // d1
	w.add(observation, "TestTotal fails: 10.01 is not 10.00", from("d1", leadsTo))             // d2
	w.add(decision, "round once", from("d2", leadsTo))                                         // d3
	w.add(option, "round at the end", from("d3", chosen))                                      // d4
	w.add(option, "round each line", from("d3", rejected))                                     // d5
	w.add(action, "change total.go", from("d3", leadsTo), to(requires, "d4"))                  // d6
	w.add(decision, "use a decimal type", from("d2", leadsTo))                                 // d7
	w.add(outcome, "commit 3f2a landed on main", from("d6", leadsTo), from("d7", leadsTo))     // d8
	w.take(w.graph.Supersede(&loomv1.SupersedeDecision{Old: "d3", New: "d7", Rationale: "x"})) // by d7
	return w
}

func ids(nodes []*loomv1.DecisionNode) string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.Id)
	}
	return fmt.Sprint(list)
}

func arrows(edges []*loomv1.DecisionEdge) string {
	var list []string
	for _, e := range edges {
		list = append(list, fmt.Sprintf("%s-%d>%s", e.From, e.Type, e.To))
	}
	return fmt.Sprint(list)
}

// same returns how two messages differ, or "".
func same(a, b proto.Message) string {
	if proto.Equal(a, b) {
		return ""
	}
	return cmp.Diff(a, b, protocmp.Transform())
}

// check holds a graph to invariant 25, by an account of its own.
func check(s *loomv1.DecisionGraph) error {
	status, index := map[string]loomv1.DecisionStatus{}, map[string]int{}
	for i, n := range s.Nodes {
		if n.Id != fmt.Sprintf("d%d", i+1) || n.Confidence > 100 || n.Type < 1 || n.Type > 7 {
			return fmt.Errorf("node %d is %v", i, n)
		}
		status[n.Id], index[n.Id] = n.Status, i
	}
	successors, seen := map[string]int{}, map[string]bool{}
	for i, e := range s.Edges {
		key := fmt.Sprint(e.From, e.Type, e.To)
		if status[e.From] == 0 || status[e.To] == 0 || e.From == e.To || seen[key] || e.Id != uint64(i+1) || !(e.Weight >= 0 && e.Weight <= 1) {
			return fmt.Errorf("edge %d is %v", i, e)
		}
		seen[key] = true
		if e.Type == supersedes {
			successors[e.To]++
		}
	}
	for id, st := range status {
		if want := map[bool]int{true: 1}[st == superseded]; successors[id] != want {
			return fmt.Errorf("%s is %v with %d successors", id, st, successors[id])
		}
	}
	for _, b := range s.Ballots {
		for _, id := range append([]string{b.Decision}, b.Options...) {
			if status[id] == abandoned && b.Status != loomv1.BallotStatus_BALLOT_STATUS_CLOSED {
				return fmt.Errorf("a vote is open on %s, which was given up", id)
			}
		}
	}
	for _, t := range []loomv1.DecisionEdgeType{leadsTo, requires, blocks, enables, supersedes} {
		if at := round(s, t, index); at != "" {
			return fmt.Errorf("%v goes round at %s", t, at)
		}
	}
	return nil
}

// round returns a node on a cycle of one edge type, or "".
func round(s *loomv1.DecisionGraph, t loomv1.DecisionEdgeType, index map[string]int) string {
	next := make([][]int, len(s.Nodes))
	for _, e := range s.Edges {
		if e.Type == t {
			next[index[e.From]] = append(next[index[e.From]], index[e.To])
		}
	}
	colour := make([]int, len(s.Nodes)) // 1 is being visited, 2 is done
	var visit func(int) bool
	visit = func(n int) bool {
		colour[n] = 1
		for _, m := range next[n] {
			if colour[m] == 1 || colour[m] == 0 && visit(m) {
				return true
			}
		}
		colour[n] = 2
		return false
	}
	for n := range s.Nodes {
		if colour[n] == 0 && visit(n) {
			return s.Nodes[n].Id
		}
	}
	return ""
}

func mustRestore(t fatal, s *loomv1.DecisionGraph) *graph.Graph {
	t.Helper()
	g, err := graph.Restore(s)
	if err != nil {
		t.Fatalf("Restore: %v", err)
	}
	return g
}

// stamp is the time of event n.
func (w *world) stamp(n int) *timestamppb.Timestamp {
	return timestamppb.New(noon.Add(time.Duration(n) * time.Second))
}
