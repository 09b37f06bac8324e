package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/patchscan"
	"github.com/loomrun/loom/internal/core/team"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// commit makes the candidate commit of the change that stands.
func (j *job) commit(ctx context.Context, token uint64) (*loomv1.Outcome, error) {
	x := j.brief.Execution
	if x.Change == nil {
		return j.present(ctx, token, "no change was proposed")
	}
	p, err := j.newPlace()
	if err != nil {
		return nil, err
	}
	defer p.close()
	who := j.author()
	subject, body, err := j.message(j.subject(who.outcome), j.body(who.outcome))
	if err != nil {
		return nil, err
	}
	candidate, hooks, err := j.repo.Committer.Candidate(ctx, git.CandidateRequest{
		Deployment: j.brief.Deployment, Bead: j.brief.Bead.Id, Execution: x.Id, Decision: x.Approved.GetDecision(),
		Token: token, Target: j.brief.Project.TargetBranch, Change: x.Change,
		Author:  authorOf(team.MakersOf(x.Change, who.role)[0]),
		Subject: subject, Body: body,
		Hooks: p.hooks(),
	})
	if fault.Code(err) == "git/no-change" {
		return j.present(ctx, token, fault.From(err).Message)
	}
	if err == nil {
		err = j.asJudged(ctx, candidate.Commit)
	}
	if err != nil {
		return j.refused(ctx, err)
	}
	out := j.success(fmt.Sprintf("candidate %.12s on %.12s", candidate.Commit, candidate.Base), hookText(hooks))
	out.Candidate = candidate
	return out, nil
}

// present names what the target has in the place of a candidate, where there is
// nothing to commit.
func (j *job) present(ctx context.Context, token uint64, why string) (*loomv1.Outcome, error) {
	c, err := j.repo.Committer.Present(ctx, git.PresentRequest{
		Deployment: j.brief.Deployment, Token: token, Target: j.brief.Project.TargetBranch, Change: j.lastProposed(),
	})
	if err == nil {
		err = j.asJudged(ctx, c.Commit)
	}
	if err != nil {
		return j.refused(ctx, err)
	}
	out := j.success(fmt.Sprintf("nothing to commit on %.12s: %s", c.Commit, why), "")
	if c.DoneByBead != "" {
		out.Notes = fmt.Sprintf("Commit %s of bead %s has the change.", c.DoneByCommit, c.DoneByBead)
	}
	out.Candidate = c
	return out, nil
}

// lastProposed is the change that stands or, where it was withdrawn, the last that
// did; nil where none ever did.
func (j *job) lastProposed() *loomv1.Change {
	if c := j.brief.Execution.Change; c != nil {
		return c
	}
	var last *loomv1.Attempt
	for _, n := range j.brief.Execution.Nodes {
		for _, a := range n.History {
			if a.Outcome.GetChange() != nil && later(a, last) {
				last = a
			}
		}
	}
	return last.GetOutcome().GetChange()
}

// refused turns what kept a candidate from being made into an outcome. What
// only a different change can mend goes back to whoever made it.
func (j *job) refused(ctx context.Context, err error) (*loomv1.Outcome, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	switch fault.Code(err) {
	case "git/hook-failed", "git/hook-changed", "git/hook-timeout", "git/conflict", "git/patch-changed", "git/no-change", "git/unsupported", notJudged:
		return j.failure(err, "change"), nil
	}
	return j.failure(err, ""), nil
}

func hookText(hooks []git.HookRun) string {
	var b strings.Builder
	for _, h := range hooks {
		switch {
		case h.Name == git.SetupName:
			fmt.Fprintf(&b, "setup for the hooks\n%s", h.Output)
		case h.Skipped:
			fmt.Fprintf(&b, "hook %s is not executable and was not run\n", h.Name)
		default:
			fmt.Fprintf(&b, "hook %s passed\n%s", h.Name, h.Output)
		}
	}
	return b.String()
}

// maker is who made the change.
type maker struct {
	role    string
	outcome *loomv1.Outcome
}

// author finds the attempt whose outcome proposed the change that stands; the
// last one, where several proposed the same.
func (j *job) author() maker {
	var last *loomv1.Attempt
	for _, n := range j.brief.Execution.Nodes {
		for _, a := range n.History {
			if c := a.Outcome.GetChange(); c != nil && c.Commit == j.brief.Execution.Change.Commit && later(a, last) {
				last = a
			}
		}
	}
	switch {
	case last == nil:
		return maker{role: "agent"}
	case last.Given != nil && len(last.Given.Change.GetMakers()) > 0: // who took it over has made nothing of it
		return maker{role: last.Given.Change.Makers[0], outcome: last.Outcome}
	}
	return maker{role: last.Role, outcome: last.Outcome}
}

func later(a, than *loomv1.Attempt) bool {
	return than == nil || cmp.Or(a.EndedAt.AsTime().Compare(than.EndedAt.AsTime()), cmp.Compare(a.Id, than.Id)) > 0
}

// message is what a commit says, of texts that agents and publishers wrote: a key
// that the policy keeps out of files is not in it either.
func (j *job) message(subject, body string) (string, string, error) {
	if patchscan.Policy(j.brief.Project.GetPatch()).Of(patchscan.Secret) == patchscan.Allow {
		return subject, body, nil
	}
	s, err := scanner()
	if err != nil {
		return "", "", err
	}
	return s.Blotted(subject), s.Blotted(body), nil
}

// bySummary reports whether the summary of who made a change is the subject of its
// commit. Where a process has several work on it, that is the goal. Prompts say the
// same of it.
func bySummary(b *loomv1.Brief) bool { return b.Definition == nil }

func (j *job) subject(o *loomv1.Outcome) string {
	if s := strings.TrimSpace(o.GetSummary()); s != "" && bySummary(j.brief) {
		return s
	}
	return j.brief.Bead.Goal
}

func (j *job) body(o *loomv1.Outcome) string {
	return bodyOf(j.subject(o), o.GetNotes(), j.brief.Execution.Change.GetMakers(), j.brief.Bead.Id, j.brief.Bead.Goal)
}

// land moves the target branch to the verified candidate.
func (j *job) land(ctx context.Context, token uint64) (*loomv1.Outcome, error) {
	c := j.brief.Execution.Candidate
	if c == nil {
		return j.failure(fault.New("git/no-change", "no candidate was made"), ""), nil
	}
	if workflow.RefusedByTrain(j.brief.Execution) {
		return j.derailed(j.brief.Execution.Car.Refused), nil
	}
	if j.brief.Project.GetTrain() > 1 {
		out, fence, err := j.drive(ctx, token)
		if out != nil || err != nil {
			return out, err
		}
		token = fence
	}
	landing, err := j.repo.Committer.Land(ctx, git.LandRequest{
		Deployment: j.brief.Deployment, Bead: j.brief.Bead.Id, Execution: j.brief.Execution.Id,
		Token: token, Target: j.brief.Project.TargetBranch, Candidate: c, Head: j.brief.Execution.Car.GetHead(),
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return j.failure(err, ""), nil
	}
	return j.arrived(landing), nil
}

// arrived is the outcome of a landing.
func (j *job) arrived(landing *loomv1.Landing) *loomv1.Outcome {
	out := j.success(fmt.Sprintf("%.12s landed on %s", landing.Commit, landing.Ref), landing.Checkout)
	out.Landing = landing
	return out
}
