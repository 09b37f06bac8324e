package processes

import (
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/craft/drawing"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Picture returns a definition as a graph to be drawn. With an execution of it
// the graph also shows how far that has come; x may be nil.
func Picture(def *loomv1.Definition, x *loomv1.Execution) *drawing.Graph {
	g := &drawing.Graph{Title: fmt.Sprintf("workflow %s %s", def.Name, def.Version), Description: def.Description}
	if x != nil {
		g.Title = fmt.Sprintf("execution %s of %s", x.Id, g.Title)
		g.Description = strings.TrimSpace(fmt.Sprintf("%s: %s. %s", x.Id, statusWord(x.Status), def.Description))
	}
	for _, n := range def.Nodes {
		g.Nodes = append(g.Nodes, pictureNode(n, x))
	}
	for _, e := range def.Edges {
		g.Edges = append(g.Edges, pictureEdge(e, x))
	}
	for _, n := range def.Nodes {
		g.Edges = append(g.Edges, ways(n)...)
	}
	return g
}

func pictureNode(n *loomv1.NodeDefinition, x *loomv1.Execution) drawing.Node {
	d := drawing.Node{ID: n.Id, Lines: append([]string{n.Id}, worker(n)...), Shape: shapeOf(n), Hint: n.Description}
	if n.Gate != nil {
		d.Lines = append(d.Lines, "gate: "+n.Gate.Condition)
	}
	switch n.Criticality {
	case loomv1.Criticality_CRITICALITY_CRITICAL:
		d.Lines = append(d.Lines, "critical")
	case optional:
		d.Lines = append(d.Lines, "optional")
	}
	if x != nil {
		state := x.Nodes[n.Id]
		word, tone := progress(state)
		d.Tone = tone
		if state.GetVisit() > 1 {
			word = fmt.Sprintf("%s, visit %d", word, state.Visit)
		}
		d.Lines = append(d.Lines, word)
	}
	return d
}

// worker says who does a node's work, and of what kind that is.
func worker(n *loomv1.NodeDefinition) []string {
	var lines []string
	switch n.Type {
	case approval, loomv1.NodeType_NODE_TYPE_DECISION, loomv1.NodeType_NODE_TYPE_MERGE:
		lines = append(lines, nodeTypes.word(n.Type))
	}
	if n.Kind != 0 && nodeKinds.word(n.Kind) != n.Id {
		lines = append(lines, nodeKinds.word(n.Kind))
	}
	if n.Role != "" {
		lines = append(lines, n.Role)
	}
	if n.Process != "" {
		lines = append(lines, "process "+n.Process)
	}
	for i, role := range n.RolesAny {
		if i == 3 {
			return append(lines, fmt.Sprintf("or %d others", len(n.RolesAny)-i))
		}
		if i > 0 {
			role = "or " + role
		}
		lines = append(lines, role)
	}
	return lines
}

func shapeOf(n *loomv1.NodeDefinition) drawing.Shape {
	switch {
	case n.Type == start || n.Type == end:
		return drawing.Pill
	case n.Type == approval || n.Type == loomv1.NodeType_NODE_TYPE_DECISION:
		return drawing.Hexagon
	case n.Process != "":
		return drawing.Doubled
	}
	return drawing.Box
}

func pictureEdge(e *loomv1.EdgeDefinition, x *loomv1.Execution) drawing.Edge {
	d := drawing.Edge{From: e.From, To: e.To, Label: e.Condition, Hint: e.Condition, Dashed: e.Outcome == failure}
	if e.Outcome == failure {
		d.Label = strings.TrimSpace("on failure " + e.Condition)
	}
	if taken, settled := x.GetEdges()[e.Id]; settled {
		d.Tone = drawing.Faint
		if taken {
			d.Tone = drawing.Good
		}
	}
	return d
}

// ways are where a node sends work back to.
func ways(n *loomv1.NodeDefinition) (edges []drawing.Edge) {
	for _, r := range n.OnFailure.GetRework() {
		label := strings.TrimSpace("rework " + r.When)
		edges = append(edges, drawing.Edge{From: n.Id, To: r.To, Label: label, Hint: label, Dashed: true, Back: true})
	}
	if n.Gate.GetOnFailure() == replan {
		edges = append(edges, drawing.Edge{From: n.Id, To: n.Gate.To, Label: "replan", Hint: "unless " + n.Gate.Condition, Dashed: true, Back: true})
	}
	return edges
}

// progress says in a word and a tone how far a node has come.
func progress(s *loomv1.NodeState) (string, drawing.Tone) {
	switch s.GetStatus() {
	case loomv1.NodeStatus_NODE_STATUS_RUNNING:
		return "running", drawing.Active
	case loomv1.NodeStatus_NODE_STATUS_BACKOFF:
		return "waits to try again", drawing.Active
	case loomv1.NodeStatus_NODE_STATUS_WAITING:
		return "waits for the CEO", drawing.Waiting
	case loomv1.NodeStatus_NODE_STATUS_SUCCEEDED:
		return "succeeded", drawing.Good
	case loomv1.NodeStatus_NODE_STATUS_FAILED:
		return "failed", drawing.Bad
	case loomv1.NodeStatus_NODE_STATUS_SKIPPED:
		return "skipped", drawing.Faint
	case loomv1.NodeStatus_NODE_STATUS_DETACHED:
		return "done after the end", drawing.Faint
	}
	return "not reached", drawing.Plain
}

func statusWord(s loomv1.ExecutionStatus) string {
	return strings.ToLower(strings.TrimPrefix(s.String(), "EXECUTION_STATUS_"))
}
