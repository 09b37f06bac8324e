package graph

import (
	"fmt"
	"strings"
	"unicode"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Mermaid returns a graph as a Mermaid flowchart. Edges whose ends are not
// both in g are left out.
func Mermaid(g *loomv1.DecisionGraph) string {
	v := viewOf(g)
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for _, n := range v.nodes {
		fmt.Fprintf(&b, "  %s[\"%s %s %d%%<br/>%s\"]%s\n",
			mermaidID(n.Id), mermaidText(n.Id), mermaidText(nodeWord(n.Type)+v.by(n)), n.Confidence, mermaidText(n.Title), class(n))
	}
	for _, e := range v.edges {
		arrow := "-->"
		if against(e) {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s|%s| %s\n", mermaidID(e.From), arrow, mermaidText(edgeWord(e.Type)), mermaidID(e.To))
	}
	b.WriteString("  classDef gone stroke-dasharray:4\n")
	return b.String()
}

func class(n *loomv1.DecisionNode) string {
	if gone(n) {
		return ":::gone"
	}
	return ""
}

// mermaidID returns a word for an id; other ids than "dN", which no graph of
// this package has, are spelt in hexadecimal.
func mermaidID(id string) string {
	if _, ok := number(id); ok {
		return id
	}
	return fmt.Sprintf("x%x", id)
}

// mermaidText makes a text safe between quotes. Mermaid reads directives,
// styles, HTML and Markdown in there, so all but letters, digits and a few
// marks become entities.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range line(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,-_()/+=!?'", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
