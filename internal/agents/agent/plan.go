package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/plan"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// plan makes the plan of the phases to come, from the newest that was proposed:
// with the model or, where the bead says so, by rules. A plan of the model that
// cannot be carried out is refused within its turn; an attempt that ends without one
// has failed, and in the place of the last there is the plan by rules.
func (j *job) plan(ctx context.Context) (*loomv1.Outcome, error) {
	written, now := processes.Outline(j.brief.Definition, j.Roles)
	if written == nil {
		return j.success("nothing is left to plan", ""), nil
	}
	return j.overProposed(ctx, "", func(dir string, files fs.FS) (*loomv1.Outcome, error) {
		if plan.WithRules(j.brief.Bead) {
			return j.ruled(now, files, "the plan is made by rules"), nil
		}
		j.promised = j.planned
		out, err := j.turn(ctx, j.workspace(dir), j.planPrompt(ctx, written, now, dir, files))
		if !j.lastTry() || ctx.Err() != nil || errors.Is(err, actors.ErrParked) || notOurs[fault.Code(err)] {
			return out, err
		}
		if err == nil {
			err = j.planSound(out)
		}
		if err != nil {
			return noted(j.ruled(now, files, "the plan is made by rules, because no other could be carried out"), fault.From(err).Lines()), nil
		}
		return out, nil
	})
}

// notOurs are codes of errors after which somebody else goes on.
var notOurs = map[string]bool{"attempt/paused": true, "attempt/stale": true, "attempt/claimed": true, "attempt/unknown": true, "git/taken": true}

// planPrompt is the first message to a planner.
func (j *job) planPrompt(ctx context.Context, written, now *processes.Process, dir string, files fs.FS) string {
	var p prompt
	p.WriteString(j.inWorkspace(files) + j.mapText(ctx, dir) + j.instructions(dir))
	p.WriteByte('\n')
	p.section("The plan")
	p.WriteString(plan.Ask(written, now, plan.Begun(j.brief.Definition, j.brief.Execution)))
	return p.String()
}

// ruled is the outcome with the plan that rules make. If not even that can be
// carried out, the phases stay as they are.
func (j *job) ruled(now *processes.Process, files fs.FS, summary string) *loomv1.Outcome {
	var made map[string]any
	if err := json.Unmarshal([]byte(plan.Rules(now, j.brief.Bead.Goal, files)), &made); err != nil {
		panic(err) // it is JSON
	}
	out := j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, summary, "", map[string]any{"plan": made})
	if j.planSound(out) != nil {
		return j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, "the phases are taken as they are", "", nil)
	}
	return out
}

// planSound holds the plan of an outcome against the process.
func (j *job) planSound(out *loomv1.Outcome) error {
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return fault.New("plan/none", "the planner made no plan: %s", out.Summary)
	}
	o := plan.Options(j.brief.Bead, j.brief.Execution, j.brief.Bead.GetBudget().GetTokens())
	o.Roles = j.Roles
	_, _, err := processes.Replan(j.brief.Definition, plan.Text(out), o)
	return err
}

// lastTry says whether the node has no attempt after this one.
func (j *job) lastTry() bool {
	return j.brief.Attempt.Number >= j.brief.Node.MaxAttempts+j.brief.Execution.Nodes[j.brief.Attempt.Node].GetExtraAttempts()
}
