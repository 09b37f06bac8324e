package actors

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// consult asks the decision graph of a project.
type consult struct {
	question *loomv1.GraphRequest
	reply    func(*loomv1.GraphReply)
}

// answer answers from a graph at the moment of its last event.
func (m *consult) answer(g *graph.Graph, last *loomv1.Event) {
	r, err := project.AskAt(g, last.GetNumber(), last.GetTime().AsTime(), m.question)
	if err != nil {
		r = &loomv1.GraphReply{Error: fault.From(err).Proto(), Number: last.GetNumber()}
	}
	m.reply(r)
}

func (m *consult) otherwise(err *fault.Error) { m.reply(&loomv1.GraphReply{Error: err.Proto()}) }

// consult has the graph answer once everything decided before is durable.
func (p *projectActor) consult(c actor.Context, m *consult) {
	for _, id := range []string{m.question.Bead, m.question.Execution} {
		if err := p.state.Knows(id); err != nil {
			m.otherwise(fault.From(err))
			return
		}
	}
	p.propose(c, nil, nil, func() { c.Send(p.graph, m) }, m.otherwise)
}

// Ask asks the decision graph of a project as it is now: whoever serves it
// here, or else this host's own fold of the journal. The answer sees what the
// question says, by default everything that was acknowledged before.
func (p *Projects) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	if p.far(q.GetProject()) {
		return p.replicas[p.of(q.Project)].ask(ctx, q)
	}
	remote := &loomv1.PartitionRequest{Body: &loomv1.PartitionRequest_Graph{Graph: q}}
	refuse := func(e *loomv1.Error) *loomv1.GraphReply { return &loomv1.GraphReply{Error: e} }
	return retry(ctx, func(reply func(*loomv1.GraphReply)) {
		p.send(ctx, p.of(q.Project), &consult{question: q, reply: reply}, remote, unwrap((*loomv1.PartitionReply).GetGraph, refuse, reply))
	}, (*loomv1.GraphReply).GetError)
}

// far reports whether another host serves a project, or none.
func (p *Projects) far(id string) bool { return p.elsewhere != nil && !p.here[p.of(id)].Load() }
