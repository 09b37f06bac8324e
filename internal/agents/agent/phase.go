package agent

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// phase works on a node of a process.
func (j *job) phase(ctx context.Context) (*loomv1.Outcome, error) {
	switch j.brief.Node.Phase.Part {
	case loomv1.PhasePart_PHASE_PART_CHECK:
		return j.judge(ctx)
	case loomv1.PhasePart_PHASE_PART_SECOND:
		return j.second(ctx)
	case loomv1.PhasePart_PHASE_PART_REVIEW:
		return j.review(ctx)
	case loomv1.PhasePart_PHASE_PART_VOTE:
		return j.count(), nil
	case loomv1.PhasePart_PHASE_PART_GATHER:
		return j.gather(ctx)
	case loomv1.PhasePart_PHASE_PART_HOOK:
		return j.hook(ctx)
	case loomv1.PhasePart_PHASE_PART_REMEMBER:
		return j.extract(ctx)
	case loomv1.PhasePart_PHASE_PART_PLAN:
		return j.plan(ctx)
	case loomv1.PhasePart_PHASE_PART_INTERVIEW:
		return j.interview(ctx)
	case loomv1.PhasePart_PHASE_PART_CONVERSATION:
		return j.converse(ctx)
	}
	out, err := j.work(ctx)
	if err == nil && out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		j.planAnewBySources(out)
	}
	return out, err
}

// work is the work of a phase itself.
func (j *job) work(ctx context.Context) (*loomv1.Outcome, error) {
	switch {
	case j.brief.Node.Phase.Document != loomv1.DocumentStage_DOCUMENT_STAGE_UNSPECIFIED:
		return j.document(ctx)
	case !j.changes() && !j.bringsDraft():
		return j.study(ctx)
	}
	return j.inTree(ctx, j.phaseTurn)
}

// inTree is the work of a phase, in the execution's worktree and beside
// other phases. A success without what was promised is a failure.
func (j *job) inTree(ctx context.Context, work func(ctx context.Context, tree *git.Worktree, conflicts []string) (*loomv1.Outcome, error)) (*loomv1.Outcome, error) {
	entry, done := j.trees.use(j.brief.Execution.Id)
	defer done()
	tree, conflicts, err := j.settle(ctx, entry)
	if err != nil {
		return nil, err
	}
	j.tree = tree
	free, err := entry.beside(ctx)
	if err != nil {
		return nil, err
	}
	defer free()
	j.inspect = func(ctx context.Context) (*fault.Error, error) {
		entry.git.Lock()
		defer entry.git.Unlock()
		return j.inspected(ctx, tree)
	}
	if err := j.fetchEarlier(ctx, tree.Path()); err != nil {
		return nil, err
	}
	held := j.share
	j.share = entry.sharing(held)
	j.promised = entry.guarded(j.delivers(tree))
	out, err := work(ctx, tree, conflicts)
	if err != nil || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return j.brokenRules(tree, out), err
	}
	if bad, err := j.examined(tree.Path(), out); err != nil || bad {
		return out, err
	}
	if err := j.leave(ctx, tree.Path(), out); err != nil {
		return nil, err
	}
	entry.git.Lock()
	defer entry.git.Unlock()
	j.share = held
	if err := j.dropUndeclared(ctx, tree, out); err != nil {
		return nil, err
	}
	return j.propose(ctx, tree, out)
}

// settle opens the worktree, and moves it to the newest tip where work was sent back.
// Where nobody is at work in it here, it is what other hosts have made of it.
func (j *job) settle(ctx context.Context, entry *tree) (tree *git.Worktree, conflicts []string, err error) {
	if j.amongHosts() {
		if _, err := entry.unused(func() error { return j.repo.Workspaces.Follow(ctx, j.brief.Execution.Id) }); err != nil {
			return nil, nil, err
		}
	}
	entry.git.Lock()
	tree, err = j.open(ctx)
	entry.git.Unlock()
	if err != nil || !j.outdated() {
		return tree, nil, err
	}
	err = entry.alone(ctx, func() error {
		entry.git.Lock()
		defer entry.git.Unlock()
		conflicts, err = j.repo.Workspaces.Rebase(ctx, tree)
		return err
	})
	return tree, conflicts, err
}

// outdated says whether the worktree should be moved to the newest tip before
// this attempt. Where several hosts work, phases leave that to whoever gathers what they
// made: nobody is at work in any of their worktrees then.
func (j *job) outdated() bool {
	if j.amongHosts() && j.brief.Node.Phase.GetPart() != loomv1.PhasePart_PHASE_PART_GATHER {
		return false
	}
	return j.brief.Turn.GetModel() == "" && j.brief.Attempt.Number <= 1 && j.brief.Attempt.Visit > 1
}

func (j *job) phaseTurn(ctx context.Context, tree *git.Worktree, conflicts []string) (*loomv1.Outcome, error) {
	root, err := os.OpenRoot(tree.Path())
	if err != nil {
		return nil, fmt.Errorf("worktree: %w", err)
	}
	defer root.Close()
	return j.turnOf(ctx, j.worktree(tree), root.FS(), j.paperText()+conflictText(conflicts))
}

// examined holds what was delivered against what was promised; bad is true when
// out was made a failure by it. What was delivered, and what only deserves a
// warning, is told in the notes.
func (j *job) examined(dir string, out *loomv1.Outcome) (bad bool, err error) {
	found, err := j.examine(dir, out)
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, fmt.Errorf("worktree: %w", err)
	}
	defer root.Close()
	out.Broken = verify.Broken(unlike(slices.Clone(j.wrong), found))
	out.Judged = j.report(found)
	if j.refuted(out, found) {
		return true, nil
	}
	j.planAnewByRules(out, found)
	out.Notes = text(strings.TrimSpace(out.Notes + "\n" + verify.Text(found) + delivered(root.FS(), j.brief.Node.Phase)))
	return false, nil
}

// refuted makes an outcome a failure if an error was found, and says whether.
func (j *job) refuted(out *loomv1.Outcome, found []verify.Finding) bool {
	errs := verify.Errors(found)
	if len(errs) == 0 {
		return false
	}
	j.fail(out, brokenCode(errs), errs[0].String(), verify.Text(found))
	return true
}

// brokenCode is the code of a failure for errors that were found.
func brokenCode(errs []verify.Finding) string {
	if errs[0].Rule == "deliverables" {
		return "verify/deliverable"
	}
	return "verify/rule"
}

// brokenRules names in a failure, which a refused outcome may have ended with, the
// rules that are broken.
func (j *job) brokenRules(tree *git.Worktree, out *loomv1.Outcome) *loomv1.Outcome {
	if out.GetCode() == "verify/rule" || out.GetCode() == "verify/deliverable" {
		if found, err := j.examine(tree.Path(), out); err == nil {
			out.Broken, out.Judged = verify.Broken(unlike(slices.Clone(j.wrong), found)), j.report(found)
		}
	}
	return out
}

// fail makes an outcome a failure of the runtime's, with what was found first.
func (j *job) fail(out *loomv1.Outcome, code, why, findings string) {
	out.Status = loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
	out.Notes = text(strings.TrimSpace(findings + "\n" + out.Notes))
	out.Summary, out.Code = cut(text(why), 400), code
	if out.Fields == nil {
		out.Fields = j.outcome(out.Status, "", "", nil).Fields
	}
}

func (j *job) rules() []*loomv1.Rule { return j.brief.Definition.GetGuide().GetRules() }

// study is the work of a phase whose role only looks: at what was proposed so
// far, in a checkout that is thrown away.
func (j *job) study(ctx context.Context) (*loomv1.Outcome, error) {
	return j.overProposed(ctx, "", func(dir string, files fs.FS) (*loomv1.Outcome, error) {
		if err := j.fetchEarlier(ctx, dir); err != nil {
			return nil, err
		}
		return j.turnOf(ctx, j.workspace(dir), files, "")
	})
}

// overProposed has look see what a phase has proposed, in a checkout that is
// thrown away.
func (j *job) overProposed(ctx context.Context, phase string, look func(dir string, files fs.FS) (*loomv1.Outcome, error)) (*loomv1.Outcome, error) {
	dir, done, err := j.proposed(ctx, phase)
	if err != nil {
		return nil, err
	}
	defer done()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return look(dir, root.FS())
}

// proposed makes a checkout of what a phase has proposed, or, if that is
// nothing, of the newest proposal, or of the target.
func (j *job) proposed(ctx context.Context, phase string) (dir string, done func(), err error) {
	x := j.brief.Execution
	commit := x.Nodes[phase].GetOutcome().GetChange().GetCommit()
	if commit == "" {
		commit = workflow.Standing(x).GetCommit()
	}
	if commit == "" {
		if commit, err = j.repo.Source.Tip(ctx, j.brief.Project.TargetBranch); err != nil {
			return "", nil, err
		}
	}
	return j.checkout(ctx, commit)
}

// judge has the verifier judge a phase, and holds its files against the rules
// once more: nobody's word counts for a file that is not there.
func (j *job) judge(ctx context.Context) (*loomv1.Outcome, error) {
	return j.overPhase(ctx, func(phase *loomv1.NodeDefinition, dir string, files fs.FS) (*loomv1.Outcome, error) {
		questions := verify.Questions(j.brief.Node.Phase, j.rules())
		evidence := j.evidenceOf(phase, files)
		j.promised = proven(questions, evidence)
		out, err := j.turn(ctx, j.workspace(dir), Prompt(j.brief, j.role)+questionText(questions)+j.material(files, []*loomv1.NodeDefinition{phase}))
		if err != nil || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			return out, err
		}
		o := j.brief.Execution.Nodes[phase.Id].GetOutcome()
		found := verify.Phase(files, phase.Id, phase.Phase, j.rules(), o.GetSummary()+"\n"+o.GetNotes(), j.known(nil))
		judged, unproven := verify.Proven(questions, out.Fields.AsMap(), evidence)
		out.Broken = verify.Broken(append(verify.Errors(found), judged...)) // the phase has told of warnings
		out.Judged = verify.Judgments(questions, out.Fields.AsMap(), unproven)
		found = slices.Concat(found, judged, verify.NotJudged(unproven))
		switch {
		case j.refuted(out, found):
		case verify.Severe(unproven): // what nobody has shown is no verdict
			j.fail(out, "verify/evidence", "the evidence is not in the files: "+verify.UnprovenText(unproven), verify.Text(found))
		default:
			out.Notes = text(strings.TrimSpace(verify.Text(found) + out.Notes))
		}
		return out, nil
	})
}

// overPhase has look see what the phase that the node is about proposed, in a
// checkout that is thrown away; a phase that was left out needs no look.
func (j *job) overPhase(ctx context.Context, look func(phase *loomv1.NodeDefinition, dir string, files fs.FS) (*loomv1.Outcome, error)) (*loomv1.Outcome, error) {
	phase := j.node(j.brief.Node.Phase.Of)
	if !j.succeeded(phase.GetId()) {
		return j.nothingToJudge(phase.GetId()), nil
	}
	return j.overProposed(ctx, phase.Id, func(dir string, files fs.FS) (*loomv1.Outcome, error) { return look(phase, dir, files) })
}

// nothingToJudge is the answer about a phase that was left out: the gap is
// noted already.
func (j *job) nothingToJudge(phase string) *loomv1.Outcome {
	fields := map[string]any{}
	for name, kind := range j.brief.Node.Outcome {
		switch kind {
		case "bool":
			fields[name] = true
		case "string":
			fields[name] = "the phase was left out"
		default:
			fields[name] = ""
		}
	}
	return j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, "phase "+phase+" was left out, so there is nothing to judge", "", fields)
}

// review is one reviewer's look at a phase.
func (j *job) review(ctx context.Context) (*loomv1.Outcome, error) {
	return j.overPhase(ctx, func(phase *loomv1.NodeDefinition, dir string, files fs.FS) (*loomv1.Outcome, error) {
		return j.turn(ctx, j.workspace(dir), Prompt(j.brief, j.role)+j.material(files, []*loomv1.NodeDefinition{phase}))
	})
}

// count counts the reviewers' votes on a phase. Unless most of those who were asked
// have voted, there is no verdict.
func (j *job) count() *loomv1.Outcome {
	phase := j.brief.Node.Phase.Of
	if !j.succeeded(phase) {
		return j.nothingToJudge(phase)
	}
	var votes []verify.Review
	asked := 0
	for _, n := range j.brief.Definition.GetNodes() {
		if n.GetPhase().GetPart() != loomv1.PhasePart_PHASE_PART_REVIEW || n.Phase.Of != phase {
			continue
		}
		if asked++; !j.succeeded(n.Id) {
			continue
		}
		f := j.brief.Execution.Nodes[n.Id].GetOutcome().GetFields().AsMap()
		sound, _ := f["sound"].(bool)
		objection, _ := f["objection"].(string)
		votes = append(votes, verify.Review{Reviewer: n.Role, Sound: sound, Objection: objection})
	}
	if 2*len(votes) <= asked {
		return j.failure(fault.New(workflow.Unverified, "%d of %d reviewers have voted, too few for a verdict", len(votes), asked), "")
	}
	sound, why := verify.Count(votes)
	first, _, _ := strings.Cut(why, "\n")
	if !sound {
		out := noted(j.failure(fault.New("verify/review", "phase %s was voted down: %s", phase, first), ""), why)
		out.Broken, out.Judged = verify.Broken(verify.VotedDown(phase, why)), verify.VotedOn(phase, false, why)
		return out
	}
	out := j.success(first, why)
	out.Judged = verify.VotedOn(phase, true, why)
	return out
}

var variable = regexp.MustCompile(`^(?i:the )?(?i:environment variable) ` + "`?" + `([A-Z_][A-Z0-9_]*)` + "`?" + ` (?:is|must be) set\.?$`)

// hook finds out whether what a hook checks is so: by itself for a variable of
// the host's environment, whose value nobody is told, else with the verifier.
func (j *job) hook(ctx context.Context) (*loomv1.Outcome, error) {
	if m := variable.FindStringSubmatch(j.brief.Node.Phase.Check); m != nil {
		ok := os.Getenv(m[1]) != ""
		why := m[1] + " is " + map[bool]string{true: "set", false: "not set"}[ok] + " in the environment of this host"
		return j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, why, "", map[string]any{"ok": ok, "evidence": why}), nil
	}
	return j.study(ctx)
}

func isWork(n *loomv1.NodeDefinition) bool {
	return n.GetPhase() != nil && n.Phase.Part <= loomv1.PhasePart_PHASE_PART_WORK
}

// node returns a node of the process.
func (j *job) node(id string) *loomv1.NodeDefinition {
	for _, n := range j.brief.Definition.GetNodes() {
		if n.Id == id {
			return n
		}
	}
	return nil
}

func (j *job) succeeded(id string) bool {
	return j.brief.Execution.Nodes[id].GetStatus() == loomv1.NodeStatus_NODE_STATUS_SUCCEEDED
}

// noted returns an outcome with other notes.
func noted(out *loomv1.Outcome, notes string) *loomv1.Outcome {
	out.Notes = text(notes)
	return out
}
