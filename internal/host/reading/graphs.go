package reading

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/registry"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Graphs answer questions to decision graphs, as they are and as they were.
type Graphs struct {
	States   States
	Projects *registry.Projects
	pasts    *pasts
}

// Ask answers a question to the decision graph of a project.
func (g *Graphs) Ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	if err := CheckQuery(project.Graph, &loomv1.Query{Project: q.Project}); err != nil {
		return nil, err
	}
	switch {
	case q.At != 0 && q.Time != nil:
		return nil, fault.New("usage/argument", "a number and a time exclude each other").At("at")
	case q.Question == loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT && q.At != 0:
		if reply, err := g.askStill(ctx, q); reply != nil || err != nil {
			return reply, err
		}
		return g.askThen(ctx, q)
	case q.At != 0 || q.Time != nil:
		return g.askThen(ctx, q)
	}
	reply, err := g.States.Ask(ctx, q)
	if err != nil {
		return nil, g.Projects.Suggest(err)
	}
	return reply, nil
}

// askStill asks the graph as it is for the page of an export at a number, if that
// is its number still: then nothing has to be folded again.
func (g *Graphs) askStill(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	now := proto.CloneOf(q)
	now.At = 0
	reply, err := g.States.Ask(ctx, now)
	if err != nil {
		return nil, g.Projects.Suggest(err)
	}
	if reply.Number != q.At {
		return nil, nil
	}
	return reply, nil
}

// askThen asks the graph as it was: it is folded again, up to the moment, from
// the newest snapshot before that or the journal's beginning.
func (g *Graphs) askThen(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	m, err := momentOf(nil, q.Time, q.At)
	if err != nil {
		return nil, err
	}
	known := &loomv1.GraphRequest{Project: q.Project, Question: loomv1.GraphQuestion_GRAPH_QUESTION_RECENT, Limit: 1, AtLeast: proto.Uint64(0)}
	if _, err := g.States.Ask(ctx, known); err != nil {
		return nil, g.Projects.Suggest(err)
	}
	return g.pasts.ask(ctx, m, q)
}

// ask asks a graph as it was at a moment.
func (p *pasts) ask(ctx context.Context, m moment, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	var past *pastGraph
	_, err := p.upTo(ctx, q.Project, m, func(from *loomv1.ProjectState) (core, error) {
		g, err := project.KeptGraph(from, journal.NewSegments(ctx, p.snapshots))
		past = &pastGraph{Graph: g, number: from.GetLastNumber(), time: from.GetLastTime()}
		return past, err
	})
	if err != nil {
		return nil, err
	}
	if past.number == 0 {
		return nil, fault.New("position/before", "project %q had not begun then", q.Project).At("at")
	}
	return project.AskAt(past.Graph, past.number, past.time.AsTime(), q)
}

// pastGraph is the decision graph of a project up to a moment.
type pastGraph struct {
	*graph.Graph
	number uint64
	time   *timestamppb.Timestamp
}

func (p *pastGraph) Apply(e *loomv1.Event) error {
	if err := p.Graph.Apply(e); err != nil {
		return err
	}
	p.number, p.time = e.Number, e.Time
	return nil
}

func (p *pastGraph) Number() uint64 { return p.number }
