package writing

import (
	"context"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/host/reading"
	"github.com/loomrun/loom/internal/host/service"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// writeWithin bounds a write to the graph, so that one that cannot be made
// durable is not tried for ever.
const writeWithin = 20 * time.Second

// decideGraph writes to a decision graph, for operators.
func (w *Writer) decideGraph(ctx context.Context, r *loomv1.DecisionRequest, c service.Call) (*loomv1.Answer, error) {
	if c.From.GetKind() != loomv1.IdentityKind_IDENTITY_KIND_OPERATOR {
		return nil, fault.New("request/denied", "only operators write to the decision graph here")
	}
	if r.Project == "" {
		r.Project = w.config.Known.Only()
	}
	if err := reading.CheckQuery(project.Graph, &loomv1.Query{Project: r.Project}); err != nil {
		return nil, err
	}
	cmd := &loomv1.Command{Project: r.Project, Actor: c.From}
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
	answer, err := w.config.Projects.Do(ctx, cmd)
	if err != nil {
		return nil, w.config.Known.Suggest(err)
	}
	return answer, nil
}
