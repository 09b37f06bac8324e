// Package graph is the decision graph of a project: what was wanted, seen,
// weighed, decided and done, and how one led to the other.
//
// A [Graph] is a fold over the decision facts of a journal. Its deciders (Add,
// Link, Supersede, Abandon, Import) return the facts that a command leads to, or a refusal, and
// change nothing; [Graph.Apply] is the only thing that changes a graph, and
// decides nothing. [DOT], [Mermaid], [JSON] and [Text] write a graph, or a part
// of one, for other programs and for people; [Graph.Context] chooses what an
// agent should know, [Graph.Narrative] tells how things came about, and
// [Graph.Pulse] says what wants attention.
//
// # What it promises
//
// After every fact of a log: an edge joins two different nodes that are there,
// at most once for each type; no edge type that orders things (all but chosen
// and rejected) has a cycle; a node is superseded exactly when one other has
// taken its place, and no vote is open on what was given up; confidence is 0 to
// 100 and weight 0 to 1. Nodes and edges are numbered from 1 in the order of the
// log and never go away.
//
// # What it costs
//
// Adding a node costs no more than its links, however large the graph is.
// Linking two nodes that are there costs the smaller of what leads to the one
// and what the other leads to. Reads cost what they return, but for
// [Graph.List], which may look at each node of a bead, execution or type,
// [Graph.Search], which looks at each different word, and [Graph.Snapshot] and
// [Graph.Pulse], which look at everything. Nodes and edges of long ago are kept
// in pages ([Page]), which are unpacked when one in them is read.
//
// # What it never does
//
// It knows no clock, log or lock, and forgets nothing: a decision that no
// longer counts is superseded, with its successor, or was given up, and stays.
package graph

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Graph is a decision graph; [New] gives an empty one. It is not safe for
// concurrent use.
//
// Nodes and edges in it are replaced and never changed. So what reads and
// snapshots return is shared with the graph: it may be kept and handed to
// other goroutines, and stays as it was, but must not be written to.
type Graph struct {
	nodes list[*loomv1.DecisionNode] // number i is "d(i+1)"
	edges list[*loomv1.DecisionEdge] // number i has the id i+1
	sorts []nodeSort                 // of each node
	types []uint8                    // of each edge
	ends  []ends                     // of edges[i]
	out   [][]int32                  // by node: edges from it, oldest first
	in    [][]int32                  // by node: edges to it, oldest first
	kinds map[kind]int32             // the one edge of each kind

	byType      map[loomv1.DecisionType][]int32
	byBead      map[string][]int32
	byExecution map[string][]int32
	words       *index // nil until the first search
	scratch     scratch

	foreign []*loomv1.NodeSpan // nodes that were imported

	ballots map[int32]*loomv1.Ballot // by the decision
	opened  []int32                  // decisions with a ballot, in order
	waiting map[int32]bool           // those whose ballot is not decided
}

// ends are the places in nodes of an edge's two ends.
type ends struct{ from, to int32 }

// kind is what there may be one edge of.
type kind struct {
	ends
	edge loomv1.DecisionEdgeType
}

// New returns an empty graph.
func New() *Graph {
	return &Graph{
		nodes:       newList(PageSize, func() *loomv1.DecisionNode { return &loomv1.DecisionNode{} }),
		edges:       newList(PageSize, func() *loomv1.DecisionEdge { return &loomv1.DecisionEdge{} }),
		kinds:       map[kind]int32{},
		byType:      map[loomv1.DecisionType][]int32{},
		byBead:      map[string][]int32{},
		byExecution: map[string][]int32{},
		ballots:     map[int32]*loomv1.Ballot{},
		waiting:     map[int32]bool{},
	}
}

// Snapshot returns the whole graph, nodes and edges in the order of their
// numbers.
func (g *Graph) Snapshot() *loomv1.DecisionGraph {
	return &loomv1.DecisionGraph{Nodes: g.nodes.whole(), Edges: g.edges.whole(), Ballots: g.Ballots(false), Imported: slices.Clone(g.foreign)}
}

// put adds a node that has been checked.
func (g *Graph) put(n *loomv1.DecisionNode) {
	g.nodes.add(n)
	g.note(n)
}

// note takes the newest node into what is found without reading nodes.
func (g *Graph) note(n *loomv1.DecisionNode) {
	i := int32(len(g.sorts))
	g.sorts, g.out, g.in = append(g.sorts, sortOf(n)), append(g.out, nil), append(g.in, nil)
	g.byType[n.Type] = append(g.byType[n.Type], i)
	local := !g.isForeign(i)
	if n.Bead != "" && local {
		g.byBead[n.Bead] = append(g.byBead[n.Bead], i)
	}
	if n.Execution != "" && local {
		g.byExecution[n.Execution] = append(g.byExecution[n.Execution], i)
	}
	if g.words != nil {
		g.words.add(i, n)
	}
}

// join adds an edge that has been checked.
func (g *Graph) join(e *loomv1.DecisionEdge, at ends) {
	g.edges.add(e)
	g.tie(e, at)
}

// tie takes the newest edge into what is found without reading edges.
func (g *Graph) tie(e *loomv1.DecisionEdge, at ends) {
	i := int32(len(g.ends))
	g.types, g.ends = append(g.types, uint8(e.Type)), append(g.ends, at)
	g.out[at.from] = append(g.out[at.from], i)
	g.in[at.to] = append(g.in[at.to], i)
	g.kinds[kind{at, e.Type}] = i
}

// retire replaces a node by itself, superseded.
func (g *Graph) retire(i int32) {
	n := proto.CloneOf(g.node(i))
	n.Status = loomv1.DecisionStatus_DECISION_STATUS_SUPERSEDED
	g.replace(i, n)
}

// replace puts a node in the place of itself.
func (g *Graph) replace(i int32, n *loomv1.DecisionNode) {
	g.nodes.set(int(i), n)
	g.sorts[i] = sortOf(n)
}

// nodeSort is what is known of a node without reading it.
type nodeSort struct{ kind, status, confidence uint8 }

func sortOf(n *loomv1.DecisionNode) nodeSort {
	return nodeSort{uint8(n.Type), uint8(n.Status), uint8(n.Confidence)}
}

func (g *Graph) node(i int32) *loomv1.DecisionNode { return g.nodes.at(int(i)) }
func (g *Graph) edge(i int32) *loomv1.DecisionEdge { return g.edges.at(int(i)) }

func (g *Graph) typeOf(i int32) loomv1.DecisionType { return loomv1.DecisionType(g.sorts[i].kind) }

func (g *Graph) statusOf(i int32) loomv1.DecisionStatus {
	return loomv1.DecisionStatus(g.sorts[i].status)
}

func (g *Graph) confidence(i int32) uint32                { return uint32(g.sorts[i].confidence) }
func (g *Graph) edgeType(e int32) loomv1.DecisionEdgeType { return loomv1.DecisionEdgeType(g.types[e]) }

// at returns the place of a node, by its id.
func (g *Graph) at(id string) (int32, bool) {
	n, ok := number(id)
	return int32(n - 1), ok && n <= len(g.sorts)
}

// successor returns the node that took the place of a superseded one, or "".
func (g *Graph) successor(i int32) string {
	for _, e := range g.in[i] {
		if g.edgeType(e) == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_SUPERSEDES {
			return name(int(g.ends[e].from) + 1)
		}
	}
	return ""
}

// name returns the id of node number n.
func name(n int) string { return "d" + strconv.Itoa(n) }

// number returns N of an id "dN", N from 1, written in the one way.
func number(id string) (int, bool) {
	digits, ok := strings.CutPrefix(id, "d")
	if !ok || len(digits) == 0 || len(digits) > 9 || digits[0] == '0' {
		return 0, false
	}
	n := 0
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
