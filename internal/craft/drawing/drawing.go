// Package drawing draws small directed graphs, such as workflows, as SVG, and
// writes them in the languages of Graphviz and Mermaid. The same graph gives the
// same bytes everywhere.
//
// The layout is that of Sugiyama, Tagawa and Toda (Methods for visual
// understanding of hierarchical system structures, 1981) with the refinements
// of Gansner, Koutsofios, North and Vo (A technique for drawing directed
// graphs, 1993): nodes lie in layers, what spans several layers or has a label
// passes each by a place of its own, layers are ordered by medians and swaps,
// and places are found by least squares within that order. So no edge crosses a
// node or a label, and no two of them overlap.
//
// The package reads nothing and knows nothing of workflows. Text is measured by
// a table of widths, not by a font.
package drawing

// Shape is the outline of a node.
type Shape int

// The shapes.
const (
	Box Shape = iota
	Pill
	Hexagon
	Doubled // a box within a box: something that has parts of its own
)

// Tone says what a node's or an edge's state is, beside its words.
type Tone int

// The tones.
const (
	Plain Tone = iota
	Active
	Waiting
	Good
	Bad
	Faint
)

// tones names the tones as they are called in SVG, DOT and Mermaid.
var tones = []string{"plain", "active", "waiting", "good", "bad", "faint"}

// Node is a vertex.
type Node struct {
	// ID is unique in the graph; any text.
	ID string
	// Lines are its words, the first one in bold; long ones are cut.
	Lines []string
	// Hint is all there is to say, shown when one points at it; may be empty.
	Hint  string
	Shape Shape
	Tone  Tone
}

// Edge is a directed link. One from a node to itself, or to a node that is not
// there, is left out.
type Edge struct {
	From, To string
	// Label is cut when it is long; Hint is the whole.
	Label, Hint string
	// Dashed marks what is not the usual way.
	Dashed bool
	// Back says that it leads back to where things come from: it is drawn
	// upwards.
	Back bool
	Tone Tone
}

// Graph is what is drawn. Nodes and edges that come first are placed first.
type Graph struct {
	Title, Description string
	Nodes              []Node
	Edges              []Edge
}

func (t Tone) String() string {
	if t < 0 || int(t) >= len(tones) {
		return tones[Plain]
	}
	return tones[t]
}

// sound returns the edges that can be drawn.
func (g *Graph) sound() []Edge {
	known := make(map[string]bool, len(g.Nodes))
	for _, n := range g.Nodes {
		known[n.ID] = true
	}
	var edges []Edge
	for _, e := range g.Edges {
		if known[e.From] && known[e.To] && e.From != e.To {
			edges = append(edges, e)
		}
	}
	return edges
}
