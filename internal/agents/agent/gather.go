package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// beginning has the worktree of a task begin with what the others of its team
// have made, and says which files that left in conflict. Work that has a worktree
// already keeps it.
func (j *job) beginning(ctx context.Context) (text string, err error) {
	changes := j.brief.Bead.GetDelegation().GetChanges()
	if len(changes) == 0 || j.brief.Turn.GetModel() != "" {
		return "", nil
	}
	joined, err := j.repo.Workspaces.Join(ctx, changes...)
	if err != nil {
		return "", err
	}
	if j.brief.Attempt.Number == 1 {
		text = joinText(joined.Conflicts)
	}
	_, err = j.repo.Workspaces.Inherit(ctx, j.brief.Execution.Id, joined.Commit)
	return text, err
}

func joinText(files []string) string {
	return conflictSection("Your work begins with changes that were made side by side; these files have git's conflict marks, where one of both must win or both be brought together", files)
}

// seen is the commit that work looks at which changes nothing: what its own tasks
// have made, else the change that stands, else what its giver's tasks have made, else
// the newest tip of the target. The text says what it has beyond that tip.
func (j *job) seen(ctx context.Context) (commit, text string, err error) {
	changes := team.Parts(j.brief.Attempt.Tasks)
	if c := workflow.Standing(j.brief.Execution); len(changes) == 0 && c != nil {
		changes = []*loomv1.Change{c}
	}
	if len(changes) == 0 {
		changes = j.brief.Bead.GetDelegation().GetChanges()
	}
	if len(changes) == 0 {
		commit, err = j.repo.Source.Tip(ctx, j.brief.Project.TargetBranch)
		return commit, "", err
	}
	joined, err := j.repo.Workspaces.Join(ctx, changes...)
	if err != nil {
		return "", "", err
	}
	return joined.Commit, aheadText(joined.Base) + joinText(joined.Conflicts), nil
}

// aheadText tells that a checkout has more than the target.
func aheadText(base string) string {
	var p prompt
	p.WriteByte('\n')
	p.section("Your workspace")
	fmt.Fprintf(&p, "It has what this work has changed so far, on top of commit %.12s: git_diff from there shows it.\n", base)
	return p.String()
}

// lead is the work of a role that only looks: what it proposes is what those have
// made whom it gave tasks.
func (j *job) lead(ctx context.Context) (*loomv1.Outcome, error) {
	out, err := j.look(ctx)
	if err != nil || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return out, err
	}
	return j.bring(ctx, out)
}

// bring proposes what the attempt's tasks have made, together with what its own
// worktree has. It repeats safely: what was gathered already adds nothing.
func (j *job) bring(ctx context.Context, out *loomv1.Outcome) (*loomv1.Outcome, error) {
	tasks, err := j.tasks(ctx)
	if err != nil {
		return nil, err
	}
	if len(team.Made(tasks)) == 0 {
		if j.tree == nil {
			return out, nil
		}
		return j.propose(ctx, j.tree, out)
	}
	joined, makers, err := j.joined(ctx, tasks)
	if err != nil {
		return nil, err
	}
	if len(joined.Conflicts) > 0 { // what came after the model was told that there are none
		return j.failure(fault.New("git/conflict", "what the team has made does not come together in %q", joined.Conflicts), "change"), nil
	}
	if j.tree == nil {
		if j.tree, err = j.open(ctx); err != nil {
			return nil, err
		}
	}
	if err := j.tree.Adopt(ctx, joined); err != nil {
		return nil, err
	}
	if out, err = j.propose(ctx, j.tree, out); err == nil && out.Change != nil {
		out.Change.Makers = makers
	}
	return out, err
}

// tasks are those that the attempt gave, as they stand now.
func (j *job) tasks(ctx context.Context) ([]*loomv1.TeamTask, error) {
	if !j.gave && len(j.brief.Attempt.Tasks) == 0 || j.brief.Node.Phase != nil {
		return nil, nil
	}
	replies, err := j.seat.Team(ctx, []*loomv1.TeamCall{{Call: "gather", Verb: &loomv1.TeamCall_Watch{Watch: &loomv1.WatchTasks{}}}})
	if err != nil || len(replies) == 0 {
		return nil, err
	}
	return replies[0].Tasks, nil
}

// joined is what tasks have made and the attempt's own worktree has, and the roles
// that made it.
func (j *job) joined(ctx context.Context, tasks []*loomv1.TeamTask) (*git.Joined, []string, error) {
	parts, makers := team.Parts(tasks), slices.Clone(j.brief.Execution.GetChange().GetMakers())
	own, err := j.own(ctx)
	if err != nil {
		return nil, nil, err
	}
	if own != nil {
		parts, makers = append([]*loomv1.Change{own}, parts...), append(makers, j.brief.Attempt.Role)
	}
	joined, err := j.repo.Workspaces.Join(ctx, parts...)
	return joined, team.Unique(append(makers, team.Makers(tasks)...)), err
}

// own is what the attempt's own worktree has, nil for nothing.
func (j *job) own(ctx context.Context) (*loomv1.Change, error) {
	if j.tree == nil {
		return nil, nil
	}
	return j.tree.Own(ctx)
}

// together refuses an answer that ends the turn with success while what the team
// has made does not come together: the model is told where, and can have it mended.
func (r *run) together(ctx context.Context, resp *model.Response) error {
	if r.silent || !succeeds(resp.Calls) {
		return nil
	}
	if err := r.apart(ctx); err != nil {
		return model.Spent(err, resp.Usage)
	}
	return nil
}

// apart says what of the team's work does not come together, if anything does not.
func (j *job) apart(ctx context.Context) error {
	tasks, err := j.tasks(ctx)
	if err != nil || len(team.Made(tasks)) == 0 {
		return err
	}
	joined, _, err := j.joined(ctx, tasks)
	if err != nil || len(joined.Conflicts) == 0 {
		return err
	}
	return fault.New("model/invalid-output", "what your tasks %q have made does not come together in these files: %q. "+
		"Give one more task to bring it together: it begins with all of it and with git's conflict marks. Or finish with failure.",
		team.Beads(team.Made(tasks)), joined.Conflicts)
}

// succeeds says whether a call ends the turn with success.
func succeeds(calls []*loomv1.ToolCall) bool {
	return slices.ContainsFunc(calls, func(c *loomv1.ToolCall) bool {
		var end struct{ Status string }
		return c.Tool == turn.FinishName && json.Unmarshal([]byte(c.Arguments), &end) == nil && end.Status == "success"
	})
}
