package reading

import (
	"context"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/why"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Lines tells why lines of repositories are there.
type Lines struct {
	*Views
	Graphs *Graphs
}

// Why reads the branches of the repository and never what lies in its checkout:
// that is its user's, and not for everybody who may read the records.
func (l *Lines) Why(ctx context.Context, q *loomv1.WhyRequest) (*loomv1.WhyReply, error) {
	p, err := l.registered(ctx, q.Project)
	if err != nil {
		return nil, err
	}
	q.Project = p.Id
	if q.Rev == "" {
		q.Rev = p.TargetBranch
	}
	r, err := git.Open(ctx, p.Repository)
	if err != nil {
		return nil, err
	}
	return why.Line(ctx, r, records{l}, q)
}

// records are what this host knows, for the story of a line.
type records struct{ *Lines }

// View is a view of the host.
func (r records) View(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	return r.Answer(ctx, v, q, nil)
}

// Ask asks the decision graph.
func (r records) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	return r.Graphs.Ask(ctx, q)
}
