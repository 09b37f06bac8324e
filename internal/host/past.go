package host

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/proto/subject"
)

// serveState shows an execution as of a moment of its history.
func (h *Host) serveState(ctx context.Context, c call) proto.Message {
	q := &loomv1.StateRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.StateReply
		if reply, err = h.stateAt(ctx, q); err == nil {
			return reply
		}
	}
	return &loomv1.StateReply{Error: fault.From(err).Proto()}
}

func (h *Host) stateAt(ctx context.Context, q *loomv1.StateRequest) (*loomv1.StateReply, error) {
	m, err := momentOf(q.At, q.Time, q.Number)
	if err != nil {
		return nil, err
	}
	x, err := h.executionOf(ctx, q.Execution)
	if err == nil {
		err = h.roomFor(x.Project)
	}
	if err != nil {
		return nil, err
	}
	reply, err := h.pasts.state(ctx, x.Id, m)
	if fault.Code(err) == "position/before" {
		return nil, fault.From(err).Want("it began at %s", x.StartedAt.AsTime().Format(time.RFC3339Nano))
	}
	return reply, err
}

// serveFork begins a new execution with the state that one has, or had.
func (h *Host) serveFork(ctx context.Context, c call) proto.Message {
	q := &loomv1.ForkRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.SubmitReply
		if reply, err = h.fork(ctx, q, c.from); err == nil {
			return reply
		}
	}
	return &loomv1.SubmitReply{Error: fault.From(err).Proto()}
}

func (h *Host) fork(ctx context.Context, q *loomv1.ForkRequest, from *loomv1.Identity) (*loomv1.SubmitReply, error) {
	m, err := momentOf(q.At, q.Time, q.Number)
	if err != nil {
		return nil, err
	}
	x, err := h.executionOf(ctx, q.Execution)
	if err != nil {
		return nil, err
	}
	fork := &loomv1.ForkExecution{Execution: x.Id, Node: q.Node, Reason: q.Reason, Request: q.Request}
	if m != (moment{}) {
		state, err := h.stateAt(ctx, &loomv1.StateRequest{Execution: x.Id, At: q.At, Time: q.Time, Number: q.Number})
		if err != nil {
			return nil, err
		}
		fork.State, fork.Number = state.Execution, state.Number
	}
	answer, err := h.projects.Do(ctx, &loomv1.Command{Project: x.Project, Actor: from, Body: &loomv1.Command_ForkExecution{ForkExecution: fork}})
	if err != nil {
		return nil, err
	}
	return answer.GetSubmit(), nil
}

// executionOf returns an execution as it is now, by its id or its bead's.
func (h *Host) executionOf(ctx context.Context, id string) (*loomv1.Execution, error) {
	if _, err := subject.Parse("execution", id); err != nil {
		return nil, err
	}
	owner := project.Of(id)
	if owner == "" {
		return nil, fault.New("execution/unknown", "execution %q is not known", id).At("execution")
	}
	view, err := h.states.Look(ctx, project.Executions, &loomv1.Query{Project: owner, Id: id})
	if err != nil {
		return nil, h.known.Suggest(err)
	}
	return view.Executions[0], nil
}

// coreConfig is what the cores of a project know of their surroundings when
// they only read what was.
func (h *Host) coreConfig(id string) project.Config {
	m := h.dir.Manifest()
	return project.Config{ID: id, Deployment: m.Deployment, Epoch: m.Epoch, LockLease: h.config.LockLease, Roles: h.roles}
}
