package agent

import (
	"context"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/tool"
	"github.com/loomrun/loom/internal/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// teamed carries out the calls by which agents work together, and returns the
// others. If one of them has no answer yet, the attempt is parked and the error
// is [actors.ErrParked]: whoever goes on makes the same calls again, and the
// project knows them by their ids.
func (r *run) teamed(ctx context.Context, calls []turn.Call) ([]turn.Call, error) {
	if r.silent {
		return calls, nil // the recording knows what came of them
	}
	var rest, made []turn.Call
	var asked []*loomv1.TeamCall
	for _, c := range calls {
		if !tool.ForTeam(c.Tool) || !r.has(c) {
			rest = append(rest, c)
			continue
		}
		a, err := tool.TeamCall(c.ToolCall)
		if err != nil { // the tool itself refuses such arguments
			rest = append(rest, c)
			continue
		}
		made, asked = append(made, c), append(asked, a)
	}
	if len(asked) == 0 {
		return rest, nil
	}
	replies, err := r.seat.Team(ctx, asked)
	if err != nil {
		return nil, err
	}
	r.gave = true
	for _, reply := range replies {
		if reply.Waits {
			r.Logger.Info("work waits for its team", "attempt", r.brief.Attempt.Id, "call", reply.Call)
			return nil, actors.ErrParked
		}
	}
	return rest, r.recordTeam(ctx, made, replies)
}

// recordTeam records what came of calls, each with its intent: they are made as
// one.
func (r *run) recordTeam(ctx context.Context, calls []turn.Call, replies []*loomv1.TeamReply) error {
	var records []*loomv1.TurnRecord
	for i, c := range calls {
		result, err := r.result(ctx, tool.TeamResult(c.ToolCall, replies[i]))
		if err != nil {
			return err
		}
		if !c.Intended {
			step := &loomv1.ToolStep{Call: c.ToolCall, Class: r.tools.Class(c.Tool)}
			records = append(records, &loomv1.TurnRecord{Record: &loomv1.TurnRecord_Intent{Intent: step}})
		}
		records = append(records, &loomv1.TurnRecord{Record: &loomv1.TurnRecord_Finish{Finish: &loomv1.FinishTool{Call: c.Id, Result: result}}})
	}
	return r.record(ctx, records...)
}
