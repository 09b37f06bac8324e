package host

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/why"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// serveWhy tells why a line of a project's repository is there.
func (h *Host) serveWhy(ctx context.Context, c call) proto.Message {
	q := &loomv1.WhyRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.WhyReply
		if reply, err = h.whyLine(ctx, q); err == nil {
			return reply
		}
	}
	return &loomv1.WhyReply{Error: fault.From(err).Proto()}
}

// whyLine reads the branches of the repository and never what lies in its checkout:
// that is its user's, and not for everybody who may read the records.
func (h *Host) whyLine(ctx context.Context, q *loomv1.WhyRequest) (*loomv1.WhyReply, error) {
	if q.Project == "" {
		q.Project = h.known.Only()
	}
	v, err := h.view(ctx, project.Projects, &loomv1.Query{Project: q.Project}, nil)
	if err != nil {
		return nil, err
	}
	if len(v.Projects) != 1 {
		return nil, fault.New("project/unknown", "no project is named").At("project").Want("name the project")
	}
	p := v.Projects[0]
	if q.Rev == "" {
		q.Rev = p.TargetBranch
	}
	r, err := git.Open(ctx, p.Repository)
	if err != nil {
		return nil, err
	}
	return why.Line(ctx, r, records{h}, q)
}

// records are what this host knows, for the story of a line.
type records struct{ h *Host }

// View is a view of the host.
func (r records) View(ctx context.Context, v project.View, q *loomv1.Query) (*loomv1.View, error) {
	return r.h.view(ctx, v, q, nil)
}

// Ask asks the decision graph.
func (r records) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	return r.h.ask(ctx, q)
}
