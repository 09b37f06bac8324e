package reading

import (
	"context"
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// AskFor answers a question of a sender who may read the projects that narrowed names;
// none means all. One that names no project is to that of its ids, to the only one that
// has the decision, or to all.
func (g *Graphs) AskFor(ctx context.Context, q *loomv1.GraphRequest, narrowed []string) (*loomv1.GraphReply, error) {
	for _, id := range []string{q.Bead, q.Execution, q.Id} {
		if q.Project == "" {
			q.Project = project.Of(id)
		}
	}
	if q.Project == "" {
		q.Project = g.Projects.Only()
	}
	if q.Project != "" {
		if len(narrowed) > 0 && !slices.Contains(narrowed, q.Project) {
			return nil, Denied(q.Project)
		}
		return g.Ask(ctx, q)
	}
	if q.Question == loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT || q.At != 0 || q.GetAtLeast() > 0 {
		return nil, errNoProject() // of which each has its own numbers
	}
	projects := readable(g.Projects.Served(), narrowed)
	if q.Id == "" && q.To == "" {
		return g.askEvery(ctx, q, projects)
	}
	var reply *loomv1.GraphReply
	_, quarantined, err := holder(g.Projects, projects, "id", q.Id, func(id string) error {
		r, err := g.askOf(ctx, q, id)
		if err != nil {
			return err
		}
		reply = r
		return nil
	})
	if err != nil {
		return nil, err
	}
	reply.Quarantined = quarantined
	return reply, nil
}

// askEvery has each project answer a question; one that had not begun then is left out, and
// one that is quarantined is left out and named, unless all are.
func (g *Graphs) askEvery(ctx context.Context, q *loomv1.GraphRequest, projects []string) (*loomv1.GraphReply, error) {
	if len(projects) == 0 {
		return nil, errNoProject()
	}
	all := &loomv1.GraphReply{}
	for _, id := range projects {
		part, err := g.askOf(ctx, q, id)
		if fault.Code(err) == "position/before" {
			continue
		}
		if isQuarantined(err) && len(all.Quarantined) < len(projects)-1 {
			all.Quarantined = append(all.Quarantined, id)
			continue
		}
		if err != nil {
			return nil, err
		}
		all.Parts = append(all.Parts, part)
	}
	return all, nil
}

// askOf asks one project, whose name is with the answer.
func (g *Graphs) askOf(ctx context.Context, q *loomv1.GraphRequest, id string) (*loomv1.GraphReply, error) {
	one := &loomv1.GraphRequest{
		Project: id, Question: q.Question, Id: q.Id, To: q.To, Text: q.Text, Type: q.Type, Status: q.Status, EdgeTypes: q.EdgeTypes,
		Depth: q.Depth, Limit: q.Limit, Tokens: q.Tokens, Time: q.Time, AtLeast: q.AtLeast,
	}
	r, err := g.Ask(ctx, one)
	if err != nil {
		return nil, err
	}
	// The parts of an answer are the graph's own, and are not to be changed.
	return &loomv1.GraphReply{
		Project: id, Graph: r.Graph, Context: r.Context, Narrative: r.Narrative, Pulse: r.Pulse, Ballots: r.Ballots, Number: r.Number, Cut: r.Cut, Stale: r.Stale,
	}, nil
}
