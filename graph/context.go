package graph

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// How far [Graph.Context] looks.
const (
	contextWork   = 50  // newest nodes of the work itself
	contextSteps  = 3   // edges away from them
	contextNear   = 200 // nodes within those
	contextEdges  = 64  // newest edges of one node
	contextFound  = 20  // nodes that match the text
	contextGoals  = 20  // newest active goals of the project
	contextRecent = 50  // newest decisions of the project
	contextTitle  = 160 // bytes of a title in a line
	contextDetail = 240 // bytes of a description or rationale in a line
	bytesPerToken = 4   // the estimate that budgets count by
)

// The ranks of a context: all of one come before any of the next.
const (
	rankGoal   = iota + 1 // active goals of the work, and goals that led to it
	rankWork              // what else counts about the work
	rankNear              // what is linked to it, at most 3 steps away
	rankFound             // what has the words asked for
	rankGoals             // other active goals, of the newest 20, that are not reached
	rankRecent            // of the newest 50 decisions, those that say more than yes
)

// Work is what a context is for. At least one field is set.
type Work struct {
	// Bead and Execution are what is worked on.
	Bead, Execution string
	// Nodes are decisions that the work starts from.
	Nodes []string
	// Text is what the work is about, in words.
	Text string
}

// Context returns what somebody who is about to do some work should know of
// the graph, in at most so many tokens, each counted as 4 bytes of text.
//
// A goal of other work that has an outcome is reached, and an answer of the CEO to
// other work without a comment says nothing that others could go by: neither is
// told unless it is linked to the work. Only active nodes are candidates; an option
// that a decision chose or rejected is told with the decision. They are ordered by
// rank (see the constants), then by score, then the newer first. The score is the
// mean of confidence and of how new the node is among all, divided by its steps
// from the work. What does not fit is left out and counted, and what comes after it
// is tried. It costs what it looks at, whatever the size of the graph.
func (g *Graph) Context(w Work, tokens int) *loomv1.DecisionContext {
	return g.choose(w).fill(tokens, true)
}

// Told is [Graph.Context] without its items: the text alone, for who reads
// nothing else.
func (g *Graph) Told(w Work, tokens int) *loomv1.DecisionContext {
	return g.choose(w).fill(tokens, false)
}

// scratch is what one choice after another uses, so that none of them has to
// make it: each claim of an attempt makes one.
type scratch struct {
	at    map[int32]bool
	items []candidate
	text  []byte
}

func (g *Graph) choose(w Work) *chooser {
	if g.scratch.at == nil {
		g.scratch.at = map[int32]bool{}
	}
	clear(g.scratch.at)
	c := &chooser{g: g, bead: w.Bead, at: g.scratch.at, items: g.scratch.items[:0]}
	work := g.work(w)
	c.goals(work)
	c.take(work, rankWork, aboutWork)
	c.near(work)
	c.found(w.Text)
	c.take(c.binding(g.newest(goal, contextGoals)), rankGoals, activeGoal)
	c.take(c.binding(g.newest(decided, contextRecent)), rankRecent, recentDecision)
	return c
}

// binding leaves out what is no matter of other work.
func (c *chooser) binding(nodes []int32) []int32 {
	return slices.DeleteFunc(nodes, func(i int32) bool {
		n := c.g.node(i)
		if c.bead == "" || n.Bead == "" || n.Bead == c.bead {
			return false
		}
		return n.Type == goal && c.g.hasOutcome(n.Bead) || n.Author.GetKind() == loomv1.IdentityKind_IDENTITY_KIND_CEO && n.Description == ""
	})
}

// hasOutcome reports whether there is one among the newest nodes of a bead.
func (g *Graph) hasOutcome(bead string) bool {
	about := g.byBead[bead]
	return slices.ContainsFunc(about[max(0, len(about)-contextWork):], func(i int32) bool {
		return g.typeOf(i) == loomv1.DecisionType_DECISION_TYPE_OUTCOME && g.statusOf(i) == active
	})
}

// work returns the nodes of the work itself, oldest first.
func (g *Graph) work(w Work) []int32 {
	var nodes []int32
	for _, id := range w.Nodes {
		if i, ok := g.at(id); ok {
			nodes = append(nodes, i)
		}
	}
	for _, index := range [][]int32{g.byBead[w.Bead], g.byExecution[w.Execution]} {
		nodes = append(nodes, index[max(0, len(index)-contextWork):]...)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// newest returns the newest active nodes of a type.
func (g *Graph) newest(t loomv1.DecisionType, most int) []int32 {
	var nodes []int32
	for _, i := range slices.Backward(g.byType[t]) {
		if len(nodes) == most {
			break
		}
		if g.statusOf(i) == active {
			nodes = append(nodes, i)
		}
	}
	return nodes
}

// chooser collects candidates; the first reason for a node stands.
type chooser struct {
	g     *Graph
	bead  string
	at    map[int32]bool
	items []candidate
}

// candidate is a node and why it is one. Most are never told, so words for it
// are made when it is.
type candidate struct {
	place int32
	rank  uint32
	score float64
	why   reason
	step  step
}

// reason says why a node is a candidate.
type reason uint8

const (
	aboutWork reason = iota
	goalOfWork
	goalBefore // step says of what
	nearWork   // step says how far, and from what
	hasWords
	activeGoal
	recentDecision
)

func (c *chooser) add(i int32, rank uint32, why reason, at step) {
	if c.at[i] || !c.g.tells(i) {
		return
	}
	c.at[i] = true
	score := (float64(c.g.confidence(i))/100 + float64(i+1)/float64(len(c.g.sorts))) / 2
	c.items = append(c.items, candidate{i, rank, score / float64(max(at.steps, 1)), why, at})
}

func (c *chooser) take(nodes []int32, rank uint32, why reason) {
	for _, i := range nodes {
		c.add(i, rank, why, step{})
	}
}

// words says why a node was chosen.
func (c *chooser) words(x candidate) string {
	switch x.why {
	case goalOfWork:
		return "goal of the work"
	case goalBefore:
		return "goal that led to " + c.g.node(x.step.from).Id
	case nearWork:
		return fmt.Sprintf("%s away from %s", fault.Count(x.step.steps, "step"), c.g.node(x.step.from).Id)
	case hasWords:
		return "has the words that are asked for"
	case activeGoal:
		return "an active goal"
	case recentDecision:
		return "a recent decision"
	case aboutWork:
	}
	return "about the work"
}

// tells reports whether a node is worth a line of its own.
func (g *Graph) tells(i int32) bool {
	if g.statusOf(i) != active {
		return false
	}
	return g.typeOf(i) != option || !slices.ContainsFunc(g.in[i], func(e int32) bool {
		return g.edgeType(e) == chosen || g.edgeType(e) == rejected
	})
}

// goals adds the goals of the work, and those that led to it.
func (c *chooser) goals(work []int32) {
	for _, i := range work {
		if c.g.typeOf(i) == goal {
			c.add(i, rankGoal, goalOfWork, step{})
		}
	}
	for i, s := range c.g.spread(work, of(leadsTo), true) {
		if c.g.typeOf(i) == goal {
			c.add(i, rankGoal, goalBefore, s)
		}
	}
}

// near adds what is linked to the work, the nearest first.
func (c *chooser) near(work []int32) {
	for i, s := range c.g.spread(work, everyType, false) {
		c.add(i, rankNear, nearWork, s)
	}
}

func (c *chooser) found(text string) {
	for _, n := range c.g.Search(text, Filter{Status: active, Limit: contextFound}) {
		if i, ok := c.g.at(n.Id); ok {
			c.add(i, rankFound, hasWords, step{})
		}
	}
}

// step is how a node was reached: how far, and from which of the first.
type step struct {
	steps int
	from  int32
}

// spread yields nodes around some others, the nearest first; against the
// edges alone if backward, else in both directions.
func (g *Graph) spread(start []int32, types edgeTypes, backward bool) func(func(int32, step) bool) {
	seen, last := map[int32]step{}, start
	for _, i := range start {
		seen[i] = step{0, i}
	}
	return func(yield func(int32, step) bool) {
		for d := 1; d <= contextSteps; d++ {
			var next []int32
			for _, n := range last {
				for _, m := range g.beside(n, types, backward) {
					if _, ok := seen[m]; ok {
						continue
					}
					s := step{d, seen[n].from}
					seen[m] = s
					next = append(next, m)
					if len(seen) > contextNear+len(start) || !yield(m, s) {
						return
					}
				}
			}
			last = next
		}
	}
}

// beside returns the other ends of a node's newest edges, newest first.
func (g *Graph) beside(n int32, types edgeTypes, backward bool) []int32 {
	var nodes []int32
	edges := g.in[n]
	for _, e := range slices.Backward(edges[max(0, len(edges)-contextEdges):]) {
		if types.has(g.edgeType(e)) {
			nodes = append(nodes, g.ends[e].from)
		}
	}
	if backward {
		return nodes
	}
	edges = g.out[n]
	for _, e := range slices.Backward(edges[max(0, len(edges)-contextEdges):]) {
		if types.has(g.edgeType(e)) {
			nodes = append(nodes, g.ends[e].to)
		}
	}
	return nodes
}

// fill takes the candidates in order as far as the tokens go.
func (c *chooser) fill(tokens int, items bool) *loomv1.DecisionContext {
	slices.SortFunc(c.items, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(b.score, a.score), cmp.Compare(b.place, a.place))
	})
	out := &loomv1.DecisionContext{}
	text := c.g.scratch.text[:0]
	for _, x := range c.items {
		before := len(text)
		text = append(c.say(text, x.place), '\n')
		cost := (len(text) - before + bytesPerToken - 1) / bytesPerToken
		if int(out.Tokens)+cost > tokens {
			text = text[:before]
			out.LeftOut++
			continue
		}
		out.Tokens += uint32(cost)
		if items {
			out.Items = append(out.Items, &loomv1.ContextItem{
				Node: c.g.node(x.place), Rank: x.rank, Score: x.score, Why: c.words(x), Tokens: uint32(cost),
			})
		}
	}
	out.Text = string(text)
	c.g.scratch.items, c.g.scratch.text = c.items, text
	return out
}

// say appends a node in one line: what it is and who made it, and for a decision what
// it chose and rejected, and why.
// The bead of a node is told where it is another than the work's, so that nobody
// takes the approval of other work for that of their own.
func (c *chooser) say(b []byte, i int32) []byte {
	g, n := c.g, c.g.node(i)
	b = append(append(append(b, n.Id...), ' '), nodeWord(n.Type)...)
	if c.bead != "" && n.Bead != "" && n.Bead != c.bead {
		b = append(append(b, " of "...), n.Bead...)
	}
	b = append(b, by(n.Author, g.isForeign(i))...)
	b = append(strconv.AppendUint(append(b, " ("...), uint64(n.Confidence), 10), "%): "...)
	b = append(b, short(n.Title, contextTitle)...)
	if n.Description != "" {
		b = append(append(b, " - "...), short(n.Description, contextDetail)...)
	}
	for _, e := range g.out[i] {
		if t := g.edgeType(e); t != chosen && t != rejected {
			continue
		}
		edge := g.edge(e)
		b = fmt.Appendf(b, "; %s %s %s", edgeWord(edge.Type), edge.To, short(g.node(g.ends[e].to).Title, contextTitle))
		if edge.Rationale != "" {
			b = append(append(b, " because "...), short(edge.Rationale, contextDetail)...)
		}
	}
	return b
}

// short makes one printable line of a text, cut at a rune's edge.
func short(s string, most int) string {
	s = line(s)
	if len(s) <= most {
		return s
	}
	cut := s[:most-len("…")]
	return strings.ToValidUTF8(cut, "") + "…"
}
