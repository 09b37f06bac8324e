package graph

import (
	"fmt"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// shapes are what Graphviz draws each type as, by its number.
var shapes = [...]string{"box", "house", "hexagon", "ellipse", "box", "note", "tab", "octagon"}

// DOT returns a graph for Graphviz. Edges whose ends are not both in g are
// left out.
func DOT(g *loomv1.DecisionGraph) string {
	v := viewOf(g)
	var b strings.Builder
	b.WriteString("digraph decisions {\n")
	for _, n := range v.nodes {
		fmt.Fprintf(&b, "  %s [label=\"%s %s (%d%%)\\n%s\", shape=%s%s];\n",
			dotQuote(n.Id), dotText(n.Id), dotText(nodeWord(n.Type)+v.by(n)), n.Confidence, dotText(n.Title), shape(n.Type), dashed(gone(n)))
	}
	for _, e := range v.edges {
		fmt.Fprintf(&b, "  %s -> %s [label=%s%s%s];\n",
			dotQuote(e.From), dotQuote(e.To), dotQuote(edgeWord(e.Type)), tooltip(e.Rationale), dashed(against(e)))
	}
	b.WriteString("}\n")
	return b.String()
}

func shape(t loomv1.DecisionType) string {
	if !knownType(t) {
		return shapes[0]
	}
	return shapes[t]
}

func dashed(is bool) string {
	if is {
		return ", style=dashed, color=gray, fontcolor=gray"
	}
	return ""
}

func tooltip(rationale string) string {
	if rationale == "" {
		return ""
	}
	return ", tooltip=" + dotQuote(rationale)
}

func dotQuote(s string) string { return `"` + dotText(s) + `"` }

// dotText makes a text safe between quotes: a backslash begins an escape there
// and an ampersand an entity.
var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")

func dotText(s string) string { return dotEscapes.Replace(line(s)) }
