package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// phase works on a node of a process.
func (j *job) phase(ctx context.Context) (*loomv1.Outcome, error) {
	switch j.brief.Node.Phase.Part {
	case loomv1.PhasePart_PHASE_PART_CHECK:
		return j.judge(ctx)
	case loomv1.PhasePart_PHASE_PART_REVIEW:
		return j.review(ctx)
	case loomv1.PhasePart_PHASE_PART_VOTE:
		return j.count(), nil
	case loomv1.PhasePart_PHASE_PART_GATHER:
		return j.gather(ctx)
	case loomv1.PhasePart_PHASE_PART_HOOK:
		return j.hook(ctx)
	case loomv1.PhasePart_PHASE_PART_PLAN:
		return j.plan(ctx)
	case loomv1.PhasePart_PHASE_PART_INTERVIEW:
		return j.interview(ctx)
	}
	switch {
	case j.brief.Node.Phase.Document != loomv1.DocumentStage_DOCUMENT_STAGE_UNSPECIFIED:
		return j.document(ctx)
	case !j.changes():
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
	return j.propose(ctx, tree, out)
}

// settle opens the worktree, and moves it to the newest tip where work was sent
// back or another process has landed what this phase builds on.
func (j *job) settle(ctx context.Context, entry *tree) (tree *git.Worktree, conflicts []string, err error) {
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
// this attempt.
func (j *job) outdated() bool {
	if j.brief.Turn.GetModel() != "" || j.brief.Attempt.Number > 1 {
		return false
	}
	return j.brief.Attempt.Visit > 1 || slices.ContainsFunc(j.earlierPhases(), func(n *loomv1.NodeDefinition) bool { return n.Process != "" })
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
	found, err := j.found(dir, out)
	if err != nil {
		return false, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false, fmt.Errorf("worktree: %w", err)
	}
	defer root.Close()
	out.Broken = verify.Broken(unlike(slices.Clone(j.wrong), found))
	if j.refuted(out, found) {
		return true, nil
	}
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
		if found, err := j.found(tree.Path(), out); err == nil {
			out.Broken = verify.Broken(unlike(slices.Clone(j.wrong), found))
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
		commit = x.GetChange().GetCommit()
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
		found := verify.Phase(files, phase.Id, phase.Phase, j.rules(), o.GetSummary()+"\n"+o.GetNotes())
		judged, unproven := verify.Proven(questions, out.Fields.AsMap(), evidence)
		out.Broken = verify.Broken(append(verify.Errors(found), judged...)) // the phase has told of warnings
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
		fields[name] = map[string]any{"bool": true, "string": "the phase was left out"}[kind]
	}
	return j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, "phase "+phase+" was left out, so there is nothing to judge", "", fields)
}

// review is one reviewer's look at a phase.
func (j *job) review(ctx context.Context) (*loomv1.Outcome, error) {
	return j.overPhase(ctx, func(phase *loomv1.NodeDefinition, dir string, files fs.FS) (*loomv1.Outcome, error) {
		return j.turn(ctx, j.workspace(dir), Prompt(j.brief, j.role)+j.material(files, []*loomv1.NodeDefinition{phase}))
	})
}

// count counts the reviewers' votes on a phase.
func (j *job) count() *loomv1.Outcome {
	phase := j.brief.Node.Phase.Of
	if !j.succeeded(phase) {
		return j.nothingToJudge(phase)
	}
	var votes []verify.Review
	for _, n := range j.brief.Definition.GetNodes() {
		if n.GetPhase().GetPart() != loomv1.PhasePart_PHASE_PART_REVIEW || n.Phase.Of != phase || !j.succeeded(n.Id) {
			continue
		}
		f := j.brief.Execution.Nodes[n.Id].GetOutcome().GetFields().AsMap()
		sound, _ := f["sound"].(bool)
		objection, _ := f["objection"].(string)
		votes = append(votes, verify.Review{Reviewer: n.Role, Sound: sound, Objection: objection})
	}
	sound, why := verify.Count(votes)
	first, _, _ := strings.Cut(why, "\n")
	if !sound {
		out := noted(j.failure(fault.New("verify/review", "phase %s was voted down: %s", phase, first), ""), why)
		out.Broken = verify.Broken(verify.VotedDown(phase, why))
		return out
	}
	return j.success(first, why)
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

// gather puts together what the phases have delivered: it takes out the files
// of phases that did not pass, wants those of the others, and proposes the rest.
func (j *job) gather(ctx context.Context) (*loomv1.Outcome, error) {
	entry, done := j.trees.use(j.brief.Execution.Id)
	defer done()
	tree, conflicts, err := j.settle(ctx, entry)
	if err != nil {
		return nil, err
	}
	if len(conflicts) > 0 {
		return j.failure(fault.New("git/conflict", "files conflict with what landed meanwhile: %s", strings.Join(conflicts, ", ")), ""), nil
	}
	var out *loomv1.Outcome
	err = entry.alone(ctx, func() error {
		entry.git.Lock()
		defer entry.git.Unlock()
		out, err = j.collect(ctx, tree)
		return err
	})
	return out, err
}

func (j *job) collect(ctx context.Context, tree *git.Worktree) (*loomv1.Outcome, error) {
	left, err := j.leaveOut(ctx, tree)
	if err != nil {
		return nil, err
	}
	found, err := j.audit(tree.Path())
	if err != nil {
		return nil, err
	}
	if errs := verify.Errors(found); len(errs) > 0 {
		out := noted(j.failure(fault.New("verify/deliverable", "%s", errs[0]), ""), verify.Text(found))
		out.Broken = verify.Broken(errs)
		return out, nil
	}
	out, err := j.propose(ctx, tree, j.success("", ""))
	if err != nil || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		return out, err
	}
	n := out.GetChange().GetFilesTotal()
	whole := j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, gathered(n, left), verify.Text(found), map[string]any{"files": n})
	whole.Change = out.Change
	return whole, nil
}

func gathered(files uint32, left []string) string {
	s := fmt.Sprintf("%d files gathered", files)
	if files == 1 {
		s = "1 file gathered"
	}
	if len(left) > 0 {
		s += "; left out, because their phases did not pass: " + strings.Join(left, ", ")
	}
	return s
}

// leaveOut puts the deliverables of phases that did not pass back to what they
// were, or removes them, and returns which.
func (j *job) leaveOut(ctx context.Context, tree *git.Worktree) (left []string, err error) {
	var names []string
	for _, n := range j.brief.Definition.GetNodes() {
		if isWork(n) && !j.passed(n.Id) {
			for _, d := range verify.Deliverables(n.Phase) {
				if !j.leftEarlier(d.Name) {
					names = append(names, d.Name)
				}
			}
		}
	}
	root, err := os.OpenRoot(tree.Path())
	if err != nil || len(names) == 0 {
		return nil, err
	}
	defer root.Close()
	base, done, err := j.checkoutOf(ctx, j.cone().With(names), tree.Base(), tree.Base())
	if err != nil {
		return nil, err
	}
	defer done()
	was, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer was.Close()
	for _, name := range names {
		if _, gone := root.Lstat(name); gone != nil {
			continue
		}
		left = append(left, name)
		if err := putBack(root, was, name); err != nil {
			return nil, fmt.Errorf("leaving out %s: %w", name, err)
		}
	}
	return left, nil
}

// putBack makes what has a name in a worktree what it was, if it was a file, and
// removes it else. Whatever a command has put there, a pipe or a link, is neither
// written to nor followed; nor is a link in what was.
func putBack(root, was *os.Root, name string) error {
	name = filepath.FromSlash(name)
	if err := discard.In(root, name); err != nil {
		return err
	}
	info, err := was.Lstat(name)
	if err != nil {
		return nil //nolint:nilerr // it was not there
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := was.Readlink(name)
		return errors.Join(err, root.Symlink(target, name))
	}
	before, err := was.ReadFile(name)
	if err != nil {
		return err
	}
	return root.WriteFile(name, before, info.Mode().Perm())
}

// audit holds all phases that passed against what they promised.
func (j *job) audit(dir string) ([]verify.Finding, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var found []verify.Finding
	for _, n := range j.brief.Definition.GetNodes() {
		if isWork(n) && j.passed(n.Id) {
			o := j.brief.Execution.Nodes[n.Id].GetOutcome()
			found = append(found, verify.Phase(root.FS(), n.Id, n.Phase, j.rules(), o.GetSummary()+"\n"+o.GetNotes())...)
		}
	}
	return found, nil
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

// passed says whether a phase has succeeded and nobody who verified it has
// found it wrong.
func (j *job) passed(id string) bool {
	for _, n := range j.brief.Definition.GetNodes() {
		p := n.GetPhase()
		verifies := p.GetPart() == loomv1.PhasePart_PHASE_PART_CHECK || p.GetPart() == loomv1.PhasePart_PHASE_PART_VOTE
		if verifies && p.Of == id && !j.succeeded(n.Id) {
			return false
		}
	}
	return j.succeeded(id)
}

// noted returns an outcome with other notes.
func noted(out *loomv1.Outcome, notes string) *loomv1.Outcome {
	out.Notes = text(notes)
	return out
}
