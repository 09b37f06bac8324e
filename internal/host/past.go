package host

import (
	"context"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fork begins a new execution with the state that one has, or had.
func (h *Host) fork(ctx context.Context, q *loomv1.ForkRequest, c service.Call) (*loomv1.SubmitReply, error) {
	x, err := h.reading.Executions.Execution(ctx, q.Execution)
	if err != nil {
		return nil, err
	}
	fork := &loomv1.ForkExecution{Execution: x.Id, Node: q.Node, Reason: q.Reason, Request: q.Request}
	if q.At != nil || q.Time != nil || q.Number != 0 {
		state, err := h.reading.Executions.At(ctx, &loomv1.StateRequest{Execution: x.Id, At: q.At, Time: q.Time, Number: q.Number})
		if err != nil {
			return nil, err
		}
		fork.State, fork.Number = state.Execution, state.Number
	}
	answer, err := h.projects.Do(ctx, &loomv1.Command{Project: x.Project, Actor: c.From, Body: &loomv1.Command_ForkExecution{ForkExecution: fork}})
	if err != nil {
		return nil, err
	}
	return answer.GetSubmit(), nil
}

// coreConfig is what the cores of a project know of their surroundings when
// they only read what was.
func (h *Host) coreConfig(id string) project.Config {
	m := h.dir.Manifest()
	return project.Config{ID: id, Deployment: m.Deployment, Epoch: m.Epoch, LockLease: h.config.LockLease, Roles: h.roles}
}
