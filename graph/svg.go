package graph

import (
	"fmt"

	"github.com/loomrun/loom/internal/craft/drawing"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// SVG returns a graph as a picture: what led to what runs downwards, options
// that were not taken and what no longer counts are faint. Edges whose ends
// are not both in g are left out.
func SVG(g *loomv1.DecisionGraph) string {
	v := viewOf(g)
	d := &drawing.Graph{
		Title:       "Decision graph",
		Description: fmt.Sprintf("%d decisions and what links them", len(v.nodes)),
	}
	for _, n := range v.nodes {
		d.Nodes = append(d.Nodes, drawing.Node{
			ID: n.Id, Lines: []string{fmt.Sprintf("%s %s%s %d%%", n.Id, nodeWord(n.Type), v.by(n), n.Confidence), line(n.Title)},
			Hint: line(n.Title + " - " + n.Description), Shape: outline(n.Type), Tone: tone(n),
		})
	}
	for _, e := range v.edges {
		d.Edges = append(d.Edges, drawnEdge(e))
	}
	return d.SVG()
}

// drawnEdge is an edge in the picture. What takes the place of something comes
// after it, whatever way the edge points.
func drawnEdge(e *loomv1.DecisionEdge) drawing.Edge {
	d := drawing.Edge{From: e.From, To: e.To, Hint: line(e.Rationale), Dashed: against(e)}
	if e.Type != leadsTo {
		d.Label = edgeWord(e.Type)
	}
	switch e.Type {
	case chosen:
		d.Tone = drawing.Good
	case rejected:
		d.Tone = drawing.Faint
	case supersedes:
		d.From, d.To, d.Label, d.Tone = e.To, e.From, "superseded by", drawing.Faint
	}
	return d
}

func outline(t loomv1.DecisionType) drawing.Shape {
	switch t {
	case goal, outcome:
		return drawing.Pill
	case decided:
		return drawing.Hexagon
	}
	return drawing.Box
}

func tone(n *loomv1.DecisionNode) drawing.Tone {
	switch {
	case gone(n):
		return drawing.Faint
	case n.Type == goal:
		return drawing.Active
	case n.Type == outcome:
		return drawing.Good
	case n.Confidence < LowConfidence:
		return drawing.Waiting
	}
	return drawing.Plain
}
