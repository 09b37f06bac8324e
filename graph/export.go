package graph

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// JSON returns a graph in the JSON form of its message, indented, the same
// bytes for the same graph. It is an error when metadata cannot be JSON, which
// is so in no graph of this package. Which nodes were imported is a matter of this
// project and not of the file, which is the same after an import elsewhere.
func JSON(g *loomv1.DecisionGraph) (string, error) {
	raw, err := protojson.Marshal(&loomv1.DecisionGraph{Nodes: g.GetNodes(), Edges: g.GetEdges(), Ballots: g.GetBallots()})
	if err != nil {
		return "", fmt.Errorf("decision graph as JSON: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return "", fmt.Errorf("decision graph as JSON: %w", err)
	}
	return b.String() + "\n", nil
}

// view is a graph to be written, which may be a part of one: its nodes by id,
// and its edges but for those with an end that is not in it.
type view struct {
	nodes []*loomv1.DecisionNode
	byID  map[string]*loomv1.DecisionNode
	edges []*loomv1.DecisionEdge
	of    *loomv1.DecisionGraph
}

func viewOf(g *loomv1.DecisionGraph) view {
	v := view{byID: map[string]*loomv1.DecisionNode{}, of: g}
	for _, n := range g.GetNodes() {
		if n != nil && v.byID[n.Id] == nil {
			v.byID[n.Id] = n
			v.nodes = append(v.nodes, n)
		}
	}
	for _, e := range g.GetEdges() {
		if v.byID[e.GetFrom()] != nil && v.byID[e.GetTo()] != nil {
			v.edges = append(v.edges, e)
		}
	}
	return v
}

// MadeBy is [By] of a node of g, which may be a part of a graph; what came with an
// import says so.
func MadeBy(g *loomv1.DecisionGraph, n *loomv1.DecisionNode) string {
	at, ok := number(n.GetId())
	return by(n.GetAuthor(), ok && slices.ContainsFunc(g.GetImported(), func(s *loomv1.NodeSpan) bool {
		return s.First <= uint64(at) && uint64(at) <= s.Last
	}))
}

// by is [By]. What came with an import says so: its author is whom the file names,
// and no signature here stands behind that.
func by(author *loomv1.Identity, imported bool) string {
	if author != nil && imported {
		return By(author) + " as imported"
	}
	return By(author)
}

// By says who made an entry of the graph, in one printable line with a blank before
// it: " by the CEO", " by implementer/1". It is empty where nobody is known.
func By(author *loomv1.Identity) string {
	if author == nil {
		return ""
	}
	return " by " + teller(author)
}

func (v view) by(n *loomv1.DecisionNode) string { return MadeBy(v.of, n) }

// line makes one printable line of a text: runs of white space are one blank,
// what would steer a terminal is replaced, and invisible characters are gone.
func line(s string) string {
	if isLine(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.In(r, unicode.Cc, unicode.Co, unicode.Cs):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, string(unicode.ReplacementChar)))
	return strings.Join(strings.Fields(s), " ")
}

// isLine reports whether a text is plainly one line already.
func isLine(s string) bool {
	blank := true // none may come first
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank || s == ""
}

// gone reports whether a node no longer counts.
func gone(n *loomv1.DecisionNode) bool { return n.Status == superseded || n.Status == abandoned }

// against reports whether an edge says what did not stay.
func against(e *loomv1.DecisionEdge) bool { return e.Type == rejected || e.Type == supersedes }
