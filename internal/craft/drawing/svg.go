package drawing

import (
	"fmt"
	"strconv"
	"strings"
)

// style colours a drawing by what its parts are, for light and dark surroundings.
const style = `
  text { font: 13px Helvetica, Arial, "Liberation Sans", sans-serif; fill: #1b1f24; text-anchor: middle }
  text.first { font-weight: 600 }
  text.rest { font-size: 12px; fill: #57606a }
  text.label { font-size: 11px; fill: #57606a }
  .back { fill: #ffffff }
  .node .shape { fill: #f6f8fa; stroke: #57606a; stroke-width: 1.2 }
  .node.active .shape { fill: #ddf4ff; stroke: #0969da; stroke-width: 2.4 }
  .node.waiting .shape { fill: #fff8c5; stroke: #9a6700; stroke-width: 2.4 }
  .node.good .shape { fill: #dafbe1; stroke: #1a7f37 }
  .node.bad .shape { fill: #ffebe9; stroke: #cf222e; stroke-width: 2.4 }
  .node.faint .shape { stroke-dasharray: 4 3; stroke: #8c959f }
  .node.faint text { fill: #6e7781 }
  .edge path { fill: none; stroke: #57606a; stroke-width: 1.2 }
  .edge.dashed path { stroke-dasharray: 5 4 }
  .edge .head { fill: #57606a; stroke: none }
  .edge.good path { stroke: #1a7f37; stroke-width: 2 }
  .edge.good .head { fill: #1a7f37 }
  .edge.faint { opacity: 0.45 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    text.rest, text.label { fill: #9da7b3 }
    .back { fill: #0d1117 }
    .node .shape { fill: #161b22; stroke: #8b949e }
    .node.active .shape { fill: #0c2d6b; stroke: #58a6ff }
    .node.waiting .shape { fill: #4b2900; stroke: #d29922 }
    .node.good .shape { fill: #04260f; stroke: #3fb950 }
    .node.bad .shape { fill: #490202; stroke: #f85149 }
    .node.faint .shape { stroke: #6e7681 }
    .node.faint text { fill: #8b949e }
    .edge path { stroke: #8b949e }
    .edge .head { fill: #8b949e }
    .edge.good path { stroke: #3fb950 }
    .edge.good .head { fill: #3fb950 }
  }
`

// SVG draws the graph from top to bottom. The picture has a title and a
// description for those who cannot see it, says all in words that it says in
// colours, runs no script and fetches nothing.
func (g *Graph) SVG() string {
	list := parts(g.Nodes, g.sound())
	width, height := pack(list)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" aria-labelledby="title desc">`+"\n", px(width), px(height))
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n<style>%s</style>\n", xml(g.Title), xml(g.Description), style)
	fmt.Fprintf(&b, `<rect class="back" width="%s" height="%s"/>`+"\n", px(width), px(height))
	for _, p := range list {
		p.draw(&b)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw writes the edges, what stands on them, and the nodes.
func (p part) draw(b *strings.Builder) {
	upper, lower := p.ports()
	for i, e := range p.edges {
		p.drawEdge(b, p.chains[i], e, upper[i], lower[i])
	}
	drawn := map[int]bool{}
	for i, e := range p.edges {
		p.drawLabel(b, p.chains[i], e, drawn)
	}
	for i, n := range p.nodes {
		drawNode(b, n, p.items[i])
	}
}

func (l *layout) drawEdge(b *strings.Builder, c chain, e Edge, from, to float64) {
	class := "edge " + e.Tone.String()
	if e.Dashed {
		class += " dashed"
	}
	fmt.Fprintf(b, `<g class="%s" data-from="%s" data-to="%s">%s`, class, xml(e.From), xml(e.To), hint(e.Hint))
	steps, x, y := l.trace(c, from, to)
	fmt.Fprintf(b, `<path d="%s"/>`, strings.Join(steps, " "))
	back := 8.0 // the arrow's head lies this far before its point
	if c.reversed {
		back = -8
	}
	fmt.Fprintf(b, `<path class="head" d="M%s %s l-4.5 %[3]s h9 z"/></g>`+"\n", px(x), px(y), px(-back))
}

// trace returns an edge's way from its upper to its lower end as the steps of a
// path, and where its arrow points.
func (l *layout) trace(c chain, from, to float64) (steps []string, x, y float64) {
	first, last := l.items[c.items[0]], l.items[c.items[len(c.items)-1]]
	x, y = from, first.y+first.h/2
	tipX, tipY := to, last.y-last.h/2
	stop := tipY - 6 // the line ends inside the arrow's head
	if c.reversed {
		tipX, tipY, stop = x, y, tipY
		y += 6
	}
	steps = append(steps, "M"+px(x)+" "+px(y))
	before := first.layer
	for i := 1; i < len(c.items); i++ {
		it := l.items[c.items[i]]
		if l.bands[it.layer] == 0 {
			continue // nothing is there that the edge would have to pass beside
		}
		next := it.x
		if i == len(c.items)-1 {
			next = to
		}
		out, in := l.tops[before]+l.bands[before], l.tops[it.layer]
		before = it.layer
		middle := px((out + in) / 2)
		steps = append(steps, "V"+px(out), "C"+px(x)+" "+middle+" "+px(next)+" "+middle+" "+px(next)+" "+px(in))
		x = next
	}
	return append(steps, "V"+px(stop)), tipX, tipY
}

// drawLabel writes an edge's label, unless it is drawn already for another with
// which it shares its way.
func (l *layout) drawLabel(b *strings.Builder, c chain, e Edge, drawn map[int]bool) {
	for _, n := range c.items {
		it := l.items[n]
		if it.label == "" || drawn[n] {
			continue
		}
		drawn[n] = true
		fmt.Fprintf(b, `<g class="label" data-from="%s" data-to="%s">%s<rect class="back" x="%s" y="%s" width="%s" height="%s"/>`,
			xml(e.From), xml(e.To), hint(e.Hint), px(it.x-it.w/2), px(it.y-it.h/2), px(it.w), px(it.h))
		fmt.Fprintf(b, `<text class="label" x="%s" y="%s">%s</text></g>`+"\n", px(it.x), px(it.y+4), xml(it.label))
	}
}

func drawNode(b *strings.Builder, n Node, it item) {
	fmt.Fprintf(b, `<g class="node %s" data-node="%s">%s`, n.Tone, xml(n.ID), hint(n.Hint))
	left, top, right, bottom := it.x-it.w/2, it.y-it.h/2, it.x+it.w/2, it.y+it.h/2
	switch n.Shape {
	case Hexagon:
		cut := it.h / 3
		fmt.Fprintf(b, `<path class="shape" d="M%s %s L%s %s H%s L%s %s L%s %s H%s z"/>`,
			px(left), px(it.y), px(left+cut), px(top), px(right-cut), px(right), px(it.y), px(right-cut), px(bottom), px(left+cut))
	default:
		corner := 5.0
		if n.Shape == Pill {
			corner = it.h / 2
		}
		fmt.Fprintf(b, `<rect class="shape" x="%s" y="%s" width="%s" height="%s" rx="%s"/>`, px(left), px(top), px(it.w), px(it.h), px(corner))
	}
	if n.Shape == Doubled {
		fmt.Fprintf(b, `<rect class="shape" x="%s" y="%s" width="%s" height="%s" rx="3"/>`, px(left+4), px(top+4), px(it.w-8), px(it.h-8))
	}
	words := n.words()
	y := it.y - float64(len(words)-1)*lineHeight/2 + 4.5
	for i, text := range words {
		class := "rest"
		if i == 0 {
			class = "first"
		}
		fmt.Fprintf(b, `<text class="%s" x="%s" y="%s">%s</text>`, class, px(it.x), px(y+float64(i)*lineHeight), xml(text))
	}
	b.WriteString("</g>\n")
}

func hint(text string) string {
	if text == "" {
		return ""
	}
	return "<title>" + xml(text) + "</title>"
}

// px writes a length with at most one decimal.
func px(f float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// xml makes a text safe in a document, and takes out what no document may have.
func xml(text string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r >= ' ' && r < 0x7f, r > 0x9f && r != 0xfffe && r != 0xffff:
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, "\uFFFD")))
}
