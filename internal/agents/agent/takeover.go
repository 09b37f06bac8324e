package agent

import (
	"context"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// takeOver brings what a child execution has delivered into the worktree of the
// execution that it worked for, while nobody else is at work there, and proposes all
// of it. It repeats safely: what was taken over already adds nothing. What does not
// come together with what was made meanwhile is a failure; the child of the next
// attempt begins with that.
func (j *job) takeOver(ctx context.Context) (out *loomv1.Outcome, err error) {
	entry, done := j.trees.use(j.brief.Execution.Id)
	defer done()
	err = entry.alone(ctx, func() error {
		entry.git.Lock()
		defer entry.git.Unlock()
		if j.amongHosts() {
			if err := j.repo.Workspaces.Follow(ctx, j.brief.Execution.Id); err != nil {
				return err
			}
		}
		tree, err := j.open(ctx)
		if err == nil {
			out, err = j.taken(ctx, tree)
		}
		return err
	})
	return out, err
}

func (j *job) taken(ctx context.Context, tree *git.Worktree) (*loomv1.Outcome, error) {
	given := j.brief.Attempt.Given.GetChange()
	parts := []*loomv1.Change{given}
	own, err := tree.Own(ctx)
	if err != nil {
		return nil, err
	}
	if own == nil { // a workspace that was made anew, as on another host
		own = workflow.Standing(j.brief.Execution)
	}
	if own != nil {
		parts = []*loomv1.Change{own, given}
	}
	joined, err := j.repo.Workspaces.Join(ctx, parts...)
	if err != nil {
		return nil, err
	}
	if len(joined.Conflicts) > 0 {
		return j.failure(fault.New("git/conflict", "what execution %s delivered conflicts with what was made meanwhile: %s",
			j.brief.Attempt.Child, strings.Join(joined.Conflicts, ", ")), "change"), nil
	}
	if err := tree.Adopt(ctx, joined); err != nil {
		return nil, err
	}
	out, err := j.propose(ctx, tree, j.success("", ""))
	if err == nil && out.Change != nil {
		out.Change.Makers = team.Unique(append(slices.Clone(j.brief.Execution.GetChange().GetMakers()), given.GetMakers()...))
	}
	return out, err
}
