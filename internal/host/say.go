package host

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// serveSay keeps a message for whoever works on an execution. Who may say
// something the project says.
func (h *Host) serveSay(ctx context.Context, c call) proto.Message {
	q := &loomv1.SayRequest{}
	err := actors.Decode(c.contentType, c.data, q)
	if err == nil {
		var reply *loomv1.SubmitReply
		if reply, err = h.say(ctx, q, c.from); err == nil {
			return reply
		}
	}
	return &loomv1.SubmitReply{Error: fault.From(err).Proto()}
}

func (h *Host) say(ctx context.Context, q *loomv1.SayRequest, from *loomv1.Identity) (*loomv1.SubmitReply, error) {
	x, err := h.executionOf(ctx, q.Id)
	if err != nil {
		return nil, err
	}
	tell := &loomv1.TellExecution{Execution: x.Id, Node: q.Node, Text: q.Text, Request: q.Request}
	answer, err := h.projects.Do(ctx, &loomv1.Command{Project: x.Project, Actor: from, Body: &loomv1.Command_TellExecution{TellExecution: tell}})
	if err != nil {
		return nil, err
	}
	return answer.GetSubmit(), nil
}
