package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// upToTeam splits the calls of an answer at its first calls to the team: before
// are those to carry out first, team those to make then, as one, and rest the
// calls that wait for what comes of them. Decisions that stand between the calls
// to the team come before them all, so that a task is dispatched with the
// decisions that were recorded for it.
func (r *run) upToTeam(calls []turn.Call) (before, team []turn.Call, asked []*loomv1.TeamCall, rest []turn.Call) {
	for i, c := range calls {
		ask := r.forTeam(c)
		switch {
		case ask != nil:
			team, asked = append(team, c), append(asked, ask)
		case len(team) == 0 || strings.HasPrefix(c.Tool, "decision_"):
			before = append(before, c)
		default:
			return before, team, asked, calls[i:]
		}
	}
	return before, team, asked, nil
}

// forTeam returns what a call asks of the team, or nil where it asks nothing:
// arguments that cannot be read are refused by the tool itself, and what came of
// the calls of a recording is known.
func (r *run) forTeam(c turn.Call) *loomv1.TeamCall {
	if r.silent || !tool.ForTeam(c.Tool) || !r.has(c) {
		return nil
	}
	ask, err := tool.TeamCall(c.ToolCall)
	if err != nil {
		return nil
	}
	return ask
}

// teamed makes calls by which agents work together. If one of them has no answer
// yet, the attempt is parked and the error is [actors.ErrParked]: whoever goes on
// makes the same calls again, and the project knows them by their ids.
func (r *run) teamed(ctx context.Context, calls []turn.Call, asked []*loomv1.TeamCall) error {
	if len(asked) == 0 {
		return nil
	}
	replies, err := r.seat.Team(ctx, asked)
	if err != nil {
		return err
	}
	r.gave = true
	for _, reply := range replies {
		if reply.Waits {
			r.Logger.Info("work waits for its team", "attempt", r.brief.Attempt.Id, "call", reply.Call)
			return actors.ErrParked
		}
	}
	return r.recordTeam(ctx, calls, replies)
}

// recordTeam records what came of calls, each with its intent: they are made as
// one.
func (r *run) recordTeam(ctx context.Context, calls []turn.Call, replies []*loomv1.TeamReply) error {
	var records []*loomv1.Event
	for i, c := range calls {
		said := tool.TeamResult(c.ToolCall, replies[i])
		for _, t := range replies[i].Tasks {
			if c.Tool == "agent_list" {
				break // that only tells how they stand
			}
			if patch := r.patchOf(ctx, t.GetOutcome().GetChange(), taskBytes); patch != "" {
				said.Output += fmt.Sprintf("\n## What task %s changed\n%s", t.Bead, patch)
			}
		}
		result, err := r.result(ctx, said)
		if err != nil {
			return err
		}
		if !c.Intended {
			step := &loomv1.ToolStep{Call: c.ToolCall, Class: r.tools.Class(c.Tool)}
			records = append(records, turn.IntendedFact(step))
		}
		records = append(records, turn.FinishedFact(c.Id, result))
	}
	return r.record(ctx, records...)
}
