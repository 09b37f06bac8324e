package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// narrativeMost bounds a narrative, in lines.
const narrativeMost = 1000

// Narrative tells how things came to be as they are, oldest first, in at most
// 1,000 lines, the newest. Of a node it tells what led to it, what it chose
// and rejected, and what came of it; of a bead or an execution, everything
// about it; without an id, the project's goals, decisions and outcomes. Of an
// id of nothing it tells nothing.
func (g *Graph) Narrative(id string) *loomv1.Narrative {
	nodes := g.told(id)
	out := &loomv1.Narrative{}
	for _, i := range nodes[max(0, len(nodes)-narrativeMost):] {
		n := g.node(i)
		out.Lines = append(out.Lines, &loomv1.NarrativeLine{Time: n.Time, Node: n.Id, Text: g.tell(i)})
	}
	return out
}

// told returns the nodes of a narrative, oldest first.
func (g *Graph) told(id string) []int32 {
	var nodes []int32
	switch i, ok := g.at(id); {
	case ok:
		nodes = append(g.reached(i, true), g.reached(i, false)...)
	case id != "":
		nodes = slices.Concat(g.byBead[id], g.byExecution[id])
	default:
		for _, t := range []loomv1.DecisionType{goal, decided, outcome} {
			nodes = append(nodes, g.byType[t]...)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// reached returns a node and all that ways lead to, or come from if backward.
func (g *Graph) reached(i int32, backward bool) []int32 {
	f, none := newFront([]int32{i}), newFront(nil)
	for len(f.edge) > 0 {
		g.level(everyType, f, none, backward)
	}
	nodes := make([]int32, 0, len(f.seen))
	for n := range f.seen {
		nodes = append(nodes, n)
	}
	return nodes
}

// verbs begin what is told of each type.
var verbs = [...]string{
	"noted", "wanted", "decided", "considered", "did", "came of it", "saw", "has to look again at",
}

// tell is a node as a sentence: who, what, with what confidence, and what
// became of it.
func (g *Graph) tell(i int32) string {
	n := g.node(i)
	verb := verbs[0]
	if knownType(n.Type) {
		verb = verbs[n.Type]
	}
	var b strings.Builder
	who := teller(n.Author)
	if g.isForeign(i) {
		who += " (as imported)"
	}
	fmt.Fprintf(&b, "%s %s: %s", who, verb, short(n.Title, contextTitle))
	if n.Type == decided || n.Type == option {
		fmt.Fprintf(&b, " (%d%% sure)", n.Confidence)
	}
	for _, e := range g.in[i] {
		switch g.edgeType(e) {
		case chosen, rejected:
			edge := g.edge(e)
			fmt.Fprintf(&b, "; %s by %s%s", edgeWord(edge.Type), edge.From, because(edge))
		case supersedes:
			edge := g.edge(e)
			fmt.Fprintf(&b, "; later replaced by %s%s", edge.From, because(edge))
		}
	}
	if n.Status == abandoned {
		b.WriteString("; given up" + byWhom(n.Abandoned))
	}
	return b.String()
}

// teller names an author: an agent without its host, the CEO without its key.
func teller(id *loomv1.Identity) string {
	if id.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO {
		return "the CEO"
	}
	name, _, _ := strings.Cut(id.GetName(), "@")
	return cmp.Or(line(name), "somebody")
}

// byWhom says who gave something up, and why.
func byWhom(a *loomv1.Abandonment) string {
	if a == nil {
		return ""
	}
	return " by " + teller(a.By) + ", because " + short(a.Reason, contextDetail)
}

func because(e *loomv1.DecisionEdge) string {
	if e.Rationale == "" {
		return ""
	}
	return ", because " + short(e.Rationale, contextDetail)
}
