package host

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/store/journal"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// serveAsk answers a question to a decision graph.
func (h *Host) serveAsk(ctx context.Context, c call) proto.Message {
	q := &loomv1.GraphRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.GraphReply
		if reply, err = h.ask(ctx, q); err == nil {
			return reply
		}
	}
	return &loomv1.GraphReply{Error: fault.From(err).Proto()}
}

func (h *Host) ask(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	if q.Project == "" {
		q.Project = h.known.Only()
	}
	if err := checkQuery(project.Graph, &loomv1.Query{Project: q.Project}); err != nil {
		return nil, err
	}
	switch {
	case q.At != 0 && q.Time != nil:
		return nil, fault.New("usage/argument", "a number and a time exclude each other").At("at")
	case q.Question == loomv1.GraphQuestion_GRAPH_QUESTION_EXPORT && q.At != 0:
		if reply, err := h.askStill(ctx, q); reply != nil || err != nil {
			return reply, err
		}
		return h.askThen(ctx, q)
	case q.At != 0 || q.Time != nil:
		return h.askThen(ctx, q)
	}
	reply, err := h.states.Ask(ctx, q)
	if err != nil {
		return nil, h.known.Suggest(err)
	}
	return reply, nil
}

// askStill asks the graph as it is for the page of an export at a number, if that
// is its number still: then nothing has to be folded again.
func (h *Host) askStill(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	now := proto.CloneOf(q)
	now.At = 0
	reply, err := h.states.Ask(ctx, now)
	if err != nil {
		return nil, h.known.Suggest(err)
	}
	if reply.Number != q.At {
		return nil, nil
	}
	return reply, nil
}

// askThen asks the graph as it was: it is folded again, up to the moment, from
// the newest snapshot before that or the journal's beginning.
func (h *Host) askThen(ctx context.Context, q *loomv1.GraphRequest) (*loomv1.GraphReply, error) {
	m, err := momentOf(nil, q.Time, q.At)
	if err != nil {
		return nil, err
	}
	known := &loomv1.GraphRequest{Project: q.Project, Question: loomv1.GraphQuestion_GRAPH_QUESTION_RECENT, Limit: 1, AtLeast: proto.Uint64(0)}
	if _, err := h.states.Ask(ctx, known); err != nil {
		return nil, h.known.Suggest(err)
	}
	return h.pasts.ask(ctx, m, q)
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

func (p *pastGraph) Number() uint64 { return p.number }

func (p *pastGraph) Apply(e *loomv1.Event) error {
	if err := p.Graph.Apply(e); err != nil {
		return err
	}
	p.number, p.time = e.Number, e.Time
	return nil
}

// serveDecide writes to a decision graph, for operators.
func (h *Host) serveDecide(ctx context.Context, c call) proto.Message {
	r := &loomv1.DecisionRequest{}
	err := actors.Decode(c.contentType, c.data, r)
	if err == nil {
		var answer *loomv1.Answer
		if answer, err = h.decideGraph(ctx, r, c.from); err == nil {
			return answer
		}
	}
	return &loomv1.Answer{Error: fault.From(err).Proto()}
}

// writeWithin bounds a write to the graph, so that one that cannot be made
// durable is not tried for ever.
const writeWithin = 20 * time.Second

func (h *Host) decideGraph(ctx context.Context, r *loomv1.DecisionRequest, from *loomv1.Identity) (*loomv1.Answer, error) {
	if from.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators write to the decision graph here")
	}
	if r.Project == "" {
		r.Project = h.known.Only()
	}
	if err := checkQuery(project.Graph, &loomv1.Query{Project: r.Project}); err != nil {
		return nil, err
	}
	cmd := &loomv1.Command{Project: r.Project, Actor: from}
	switch v := r.Verb.(type) {
	case *loomv1.DecisionRequest_Add:
		cmd.Body = &loomv1.Command_AddDecision{AddDecision: v.Add}
	case *loomv1.DecisionRequest_Link:
		cmd.Body = &loomv1.Command_LinkDecision{LinkDecision: v.Link}
	case *loomv1.DecisionRequest_Supersede:
		cmd.Body = &loomv1.Command_SupersedeDecision{SupersedeDecision: v.Supersede}
	case *loomv1.DecisionRequest_Abandon:
		cmd.Body = &loomv1.Command_AbandonDecision{AbandonDecision: v.Abandon}
	case *loomv1.DecisionRequest_Import:
		cmd.Body = &loomv1.Command_ImportDecisions{ImportDecisions: v.Import}
	case *loomv1.DecisionRequest_Open:
		cmd.Body = &loomv1.Command_OpenBallot{OpenBallot: v.Open}
	case *loomv1.DecisionRequest_Vote:
		cmd.Body = &loomv1.Command_CastVote{CastVote: v.Vote}
	default:
		return nil, fault.New("command/malformed", "the request asks for nothing that this release knows").At("verb")
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	answer, err := h.projects.Do(ctx, cmd)
	if err != nil {
		return nil, h.known.Suggest(err)
	}
	return answer, nil
}
