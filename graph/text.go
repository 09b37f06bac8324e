package graph

import (
	"fmt"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	deepest  = 30 // levels of indentation; what is deeper is not indented more
	mostSaid = 5  // edges of one type that a line names
)

// Text returns a graph as an indented tree for a terminal, a line a node:
// goals first, each with who made it, under each node what it leads to and the options that were
// chosen or rejected at it, in the order of their links. A node that is reached in
// several ways stands in full at the first, and with "see above" at the
// others. What no longer counts is struck through, with what took its place.
// What is stale is marked with what it rests on, as [Graph.Stale] has it. Edges
// whose ends are not both in g are left out.
func Text(g *loomv1.DecisionGraph, stale map[string]string) string {
	t := treeOf(viewOf(g))
	for id, because := range stale {
		t.say(id, "stale: rests on", because)
	}
	for _, isRoot := range []func(*loomv1.DecisionNode) bool{t.parentless(true), t.parentless(false), all} {
		for _, n := range t.nodes {
			if isRoot(n) && !t.done[n.Id] {
				t.grow(n)
			}
		}
	}
	return t.b.String()
}

// tree is a graph on its way to lines.
type tree struct {
	view
	children map[string][]*loomv1.DecisionNode
	hung     map[[2]string]bool // which child is under which node
	parents  map[string]int
	says     map[string]map[string][]string // by node: what is said of it, and the nodes it is said with
	done     map[string]bool
	b        strings.Builder
}

func treeOf(v view) *tree {
	t := &tree{
		view: v, children: map[string][]*loomv1.DecisionNode{}, hung: map[[2]string]bool{}, parents: map[string]int{},
		says: map[string]map[string][]string{}, done: map[string]bool{},
	}
	for _, e := range v.edges {
		switch e.Type {
		case leadsTo:
			t.hang(e)
		case chosen, rejected:
			t.hang(e)
			t.say(e.To, edgeWord(e.Type)+" by", e.From)
		case supersedes:
			t.say(e.To, "superseded by", e.From)
		default:
			t.say(e.From, edgeWord(e.Type), e.To)
		}
	}
	return t
}

// hang puts the end of an edge under its start, once.
func (t *tree) hang(e *loomv1.DecisionEdge) {
	pair := [2]string{e.From, e.To}
	if e.From == e.To || t.hung[pair] {
		return
	}
	t.hung[pair] = true
	t.children[e.From] = append(t.children[e.From], t.byID[e.To])
	t.parents[e.To]++
}

func (t *tree) say(of, what, with string) {
	if t.says[of] == nil {
		t.says[of] = map[string][]string{}
	}
	t.says[of][what] = append(t.says[of][what], with)
}

// parentless matches what nothing leads to, goals or all else.
func (t *tree) parentless(goals bool) func(*loomv1.DecisionNode) bool {
	return func(n *loomv1.DecisionNode) bool { return t.parents[n.Id] == 0 && (n.Type == goal) == goals }
}

func all(*loomv1.DecisionNode) bool { return true }

// grow writes a node and all under it.
func (t *tree) grow(root *loomv1.DecisionNode) {
	type place struct {
		n     *loomv1.DecisionNode
		depth int
	}
	for todo := []place{{root, 0}}; len(todo) > 0; {
		p := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		t.b.WriteString(strings.Repeat("  ", min(p.depth, deepest)))
		if t.done[p.n.Id] {
			t.b.WriteString(line(p.n.Id) + " (see above)\n")
			continue
		}
		t.done[p.n.Id] = true
		t.b.WriteString(t.describe(p.n) + "\n")
		for _, child := range slices.Backward(t.children[p.n.Id]) {
			todo = append(todo, place{child, p.depth + 1})
		}
	}
}

func (t *tree) describe(n *loomv1.DecisionNode) string {
	title := line(n.Title)
	if gone(n) {
		title = "~~" + title + "~~"
	}
	s := fmt.Sprintf("%s %s%s: %s (%d%%)", line(n.Id), nodeWord(n.Type), t.by(n), title, n.Confidence)
	if n.Status == abandoned {
		s += " (abandoned" + reasoned(n.Abandoned.GetReason()) + ")"
	}
	for _, what := range []string{"superseded by", "chosen by", "rejected by", "requires", "blocks", "enables", "stale: rests on"} {
		if with := t.says[n.Id][what]; len(with) > 0 {
			s += " (" + what + " " + names(with) + ")"
		}
	}
	return s
}

// names joins ids, and counts those that would make the line too long.
func names(ids []string) string {
	over := len(ids) - mostSaid
	list := line(strings.Join(ids[:min(len(ids), mostSaid)], ", "))
	if over > 0 {
		list += fmt.Sprintf(" and %d more", over)
	}
	return list
}
