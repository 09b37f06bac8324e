package graph

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ScopeKey is the key of an option's metadata that says what it answers. Of
// options with one scope only one can be right. Case and the space around it
// do not count.
const ScopeKey = "scope"

// SetScope says what an option answers; an empty scope says nothing.
func SetScope(n *loomv1.DecisionNode, scope string) {
	if scope == "" {
		return
	}
	if n.Metadata == nil {
		n.Metadata = &structpb.Struct{}
	}
	if n.Metadata.Fields == nil {
		n.Metadata.Fields = map[string]*structpb.Value{}
	}
	n.Metadata.Fields[ScopeKey] = structpb.NewStringValue(scope)
}

// scopeOf returns what an option answers, in the one way that is compared.
func scopeOf(n *loomv1.DecisionNode) string {
	if n.GetType() != option {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(n.GetMetadata().GetFields()[ScopeKey].GetStringValue()))
}

// Rivals reports whether two options cannot both be right: they are of one
// scope, or one of them blocks the other.
func (g *Graph) Rivals(a, b string) bool {
	i, knownA := g.at(a)
	j, knownB := g.at(b)
	if !knownA || !knownB || i == j {
		return false
	}
	if scope := scopeOf(g.node(i)); scope != "" && scope == scopeOf(g.node(j)) {
		return true
	}
	_, one := g.kinds[kind{ends{i, j}, blocks}]
	_, other := g.kinds[kind{ends{j, i}, blocks}]
	return one || other
}

// Contested reports whether an option has a scope or blocks, or is blocked by,
// anything: one that is not contested has no rivals.
func (g *Graph) Contested(id string) bool {
	i, ok := g.at(id)
	if !ok {
		return false
	}
	if scopeOf(g.node(i)) != "" {
		return true
	}
	for _, edges := range [][]int32{g.out[i], g.in[i]} {
		for _, e := range edges {
			if g.edgeType(e) == blocks {
				return true
			}
		}
	}
	return false
}

// taken returns the options that active decisions chose, by scope.
func (g *Graph) taken() map[string][]int32 {
	by := map[string][]int32{}
	for _, i := range g.byType[option] {
		if scope := scopeOf(g.node(i)); scope != "" && g.chosenNow(i) {
			by[scope] = append(by[scope], i)
		}
	}
	return by
}

// rivalled reports whether an option was chosen, and one that it cannot be
// right together with.
func (g *Graph) rivalled(i int32, taken map[string][]int32) bool {
	if g.typeOf(i) != option || !g.chosenNow(i) {
		return false
	}
	if len(taken[scopeOf(g.node(i))]) > 1 {
		return true
	}
	for _, e := range g.out[i] {
		if g.edgeType(e) == blocks && g.chosenNow(g.ends[e].to) {
			return true
		}
	}
	for _, e := range g.in[i] {
		if g.edgeType(e) == blocks && g.chosenNow(g.ends[e].from) {
			return true
		}
	}
	return false
}

// chosenNow reports whether an active decision chose a node.
func (g *Graph) chosenNow(i int32) bool {
	for _, e := range g.in[i] {
		if g.edgeType(e) == chosen && g.statusOf(g.ends[e].from) == active {
			return true
		}
	}
	return false
}
