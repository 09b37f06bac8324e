package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// decisions is the decision graph as the tools of one attempt see it.
type decisions struct{ *job }

// Log adds a node about the job's execution. A node without a link that leads
// to it follows from the bead's goal, so that nothing stands alone.
func (d decisions) Log(ctx context.Context, c *loomv1.AddDecision) (*loomv1.DecisionNode, error) {
	c.Request = d.brief.Attempt.Id + "/" + c.Request
	c.Node.Bead, c.Node.Execution = d.brief.Bead.Id, d.brief.Execution.Id
	leads := slices.ContainsFunc(c.Links, func(e *loomv1.DecisionEdge) bool {
		return e.To == "" && e.Type == loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO
	})
	if !leads && d.brief.Goal != "" {
		c.Links = append(c.Links, &loomv1.DecisionEdge{From: d.brief.Goal, Type: loomv1.DecisionEdgeType_DECISION_EDGE_TYPE_LEADS_TO})
	}
	return d.seat.AddDecision(ctx, c)
}

// Query returns matching nodes of the project, newest first.
func (d decisions) Query(ctx context.Context, q tool.Query) ([]*loomv1.DecisionNode, error) {
	g, err := d.seat.Graph(ctx)
	if err != nil {
		return nil, err
	}
	var out []*loomv1.DecisionNode
	for _, n := range slices.Backward(g.GetNodes()) {
		if len(out) == q.Limit {
			break
		}
		typed := q.Type == loomv1.DecisionType_DECISION_TYPE_UNSPECIFIED || n.Type == q.Type
		if typed && strings.Contains(strings.ToLower(n.Title+"\n"+n.Description), strings.ToLower(q.Text)) {
			out = append(out, n)
		}
	}
	return out, nil
}
