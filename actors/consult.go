package actors

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// consult asks the decision graph of a project.
type consult struct {
	question *loomv1.GraphRequest
	reply    func(*loomv1.GraphReply)
}

func (m *consult) otherwise(err *fault.Error) { m.reply(&loomv1.GraphReply{Error: err.Proto()}) }

// Ask asks the decision graph of a project as it is now: whoever serves it
// here, or else this host's own fold of the journal. The answer sees what the
// question says, by default everything that was acknowledged before.
func (p *Projects) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	if p.far(q.GetProject()) {
		return p.replicas[p.of(q.Project)].ask(ctx, q)
	}
	remote := &loomv1.CellRequest{Body: &loomv1.CellRequest_Graph{Graph: q}}
	refuse := func(e *loomv1.Error) *loomv1.GraphReply { return &loomv1.GraphReply{Error: e} }
	return retry(ctx, p, func(reply func(*loomv1.GraphReply)) {
		p.send(ctx, q.Project, &consult{question: q, reply: reply}, remote, unwrap((*loomv1.CellReply).GetGraph, refuse, reply))
	}, (*loomv1.GraphReply).GetError)
}

// far reports whether another host serves a project, or none.
func (p *Projects) far(id string) bool { return p.elsewhere != nil && !p.here[p.of(id)].Load() }
