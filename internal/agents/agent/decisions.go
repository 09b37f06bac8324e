package agent

import (
	"context"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
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

// Ask asks the project's graph, about the job's work where it is for a context.
func (d decisions) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	if q.Question == loomv1.GraphQuestion_GRAPH_QUESTION_CONTEXT {
		q.Bead, q.Execution = d.brief.Bead.Id, d.brief.Execution.Id
	}
	return d.seat.Ask(ctx, q)
}

// Open opens a vote. Whoever is asked for a vote opens no other one, so that a
// question never leads to questions without end.
func (d decisions) Open(ctx context.Context, b *loomv1.OpenBallot) error {
	if on := d.brief.Bead.Ballot; on != "" {
		return fault.New("graph/no-voter", "you are asked for your vote on %s and cannot open another", on).At("/action")
	}
	return d.seat.OpenBallot(ctx, b)
}

// Vote casts the vote of the job's role.
func (d decisions) Vote(ctx context.Context, v *loomv1.CastVote) error {
	v.Vote.Role = d.brief.Attempt.Role
	return d.seat.CastVote(ctx, v)
}
