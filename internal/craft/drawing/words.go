package drawing

import (
	"fmt"
	"strings"
	"unicode"
)

// DOT writes the graph in the language of Graphviz.
func (g *Graph) DOT() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=TB;\n  tooltip=%s;\n  node [shape=box, style=filled, fillcolor=white, fontname=Helvetica];\n  edge [fontname=Helvetica, fontsize=10];\n",
		dotQuote(g.Title), dotQuote(g.Description))
	for _, n := range g.Nodes {
		fmt.Fprintf(&b, "  %s [label=%s%s%s%s];\n", dotQuote(n.ID), dotQuote(strings.Join(n.words(), "\n")), dotShapes[n.Shape], dotColour(n.Tone), dotHint(n.Hint))
	}
	for _, e := range g.sound() {
		fmt.Fprintf(&b, "  %s -> %s [label=%s%s%s];\n", dotQuote(e.From), dotQuote(e.To), dotQuote(clean(e.Label, labelSize, labelMost)), dotEdge(e), dotHint(e.Hint))
	}
	b.WriteString("}\n")
	return b.String()
}

var dotShapes = map[Shape]string{Pill: `, shape=box, style="rounded,filled"`, Hexagon: ", shape=hexagon", Doubled: ", peripheries=2"}

func dotColour(t Tone) string {
	fills := map[Tone]string{Active: "#ddf4ff", Waiting: "#fff8c5", Good: "#dafbe1", Bad: "#ffebe9", Faint: "#eeeeee"}
	if fill, ok := fills[t]; ok {
		return fmt.Sprintf(", class=%s, fillcolor=%q", t, fill)
	}
	return ""
}

func dotEdge(e Edge) (s string) {
	if e.Dashed {
		s += ", style=dashed"
	}
	if e.Back {
		s += ", constraint=false"
	}
	switch e.Tone {
	case Good:
		s += ", color=\"#1a7f37\", penwidth=2"
	case Faint:
		s += ", color=gray, fontcolor=gray"
	}
	return s
}

func dotHint(text string) string {
	if text == "" {
		return ""
	}
	return ", tooltip=" + dotQuote(text)
}

// dotEscapes makes a text safe between quotes: a backslash begins an escape
// there and an ampersand an entity.
var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;", "\n", `\n`)

func dotQuote(s string) string { return `"` + dotEscapes.Replace(visible(s)) + `"` }

// visible takes out what turns or hides text; lines stay.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Mermaid writes the graph as a flowchart of Mermaid. Ids there are words that
// could be commands, so nodes are numbered instead: n0, n1 and so on.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	fmt.Fprintf(&b, "flowchart TD\n  accTitle: %s\n  accDescr: %s\n", mermaidText(g.Title), mermaidText(g.Description))
	number := map[string]int{}
	for i, n := range g.Nodes {
		number[n.ID] = i
		open, shut := mermaidShape(n.Shape)
		var words []string
		for _, text := range n.words() {
			words = append(words, mermaidText(text))
		}
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s", i, open, strings.Join(words, "<br/>"), shut)
		if n.Tone != Plain {
			fmt.Fprintf(&b, ":::%s", n.Tone)
		}
		b.WriteByte('\n')
	}
	var faint []string
	for i, e := range g.sound() {
		arrow := "-->"
		if e.Dashed {
			arrow = "-.->"
		}
		label := mermaidText(clean(e.Label, labelSize, labelMost))
		if label != "" {
			label = "|\"" + label + "\"|"
		}
		fmt.Fprintf(&b, "  n%d %s%s n%d\n", number[e.From], arrow, label, number[e.To])
		if e.Tone == Faint {
			faint = append(faint, fmt.Sprint(i))
		}
	}
	if len(faint) > 0 {
		fmt.Fprintf(&b, "  linkStyle %s opacity:0.4\n", strings.Join(faint, ","))
	}
	b.WriteString(`  classDef active fill:#ddf4ff,stroke:#0969da,color:#1b1f24
  classDef waiting fill:#fff8c5,stroke:#9a6700,color:#1b1f24
  classDef good fill:#dafbe1,stroke:#1a7f37,color:#1b1f24
  classDef bad fill:#ffebe9,stroke:#cf222e,color:#1b1f24
  classDef faint stroke-dasharray:4
`)
	return b.String()
}

func mermaidShape(s Shape) (open, shut string) {
	switch s {
	case Pill:
		return "([", "])"
	case Hexagon:
		return "{{", "}}"
	case Doubled:
		return "[[", "]]"
	}
	return "[", "]"
}

// mermaidText makes a text safe between quotes. Mermaid reads directives,
// styles, HTML and Markdown in there, so all but letters, digits and a few
// marks become entities.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(visible(s)), " ") {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,-_()/+=!?'", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
