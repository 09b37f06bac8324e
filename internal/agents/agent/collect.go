package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/discard"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

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
	if begins := j.brief.Execution.GetBegins(); begins != nil && out.GetChange().GetPatchDigest() == begins.PatchDigest {
		n = 0 // it is what another had made already
	}
	if n == 0 && !j.delivered() {
		return noted(j.failure(fault.New(workflow.NothingDelivered, "no phase delivered anything"), ""), verify.Text(found)), nil
	}
	whole := j.outcome(loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, gathered(n, left), verify.Text(found), map[string]any{"files": n})
	whole.Change = out.Change
	return whole, nil
}

// delivered says whether any phase has passed that promises something: files, or
// what another process delivers; of a process without promises, any phase.
func (j *job) delivered() bool {
	promises, passed := false, false
	for _, n := range j.brief.Definition.GetNodes() {
		if !isWork(n) && n.Process == "" {
			continue
		}
		if n.Process != "" || len(verify.Deliverables(n.Phase)) > 0 {
			if j.passed(n.Id) {
				return true
			}
			promises = true
		}
		passed = passed || j.passed(n.Id)
	}
	return passed && !promises
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
	return j.restore(ctx, tree, names)
}

// restore puts files of a worktree back to what they were when its work began, or removes
// them, and returns those that were there.
func (j *job) restore(ctx context.Context, tree *git.Worktree, names []string) (left []string, err error) {
	root, err := os.OpenRoot(tree.Path())
	if err != nil || len(names) == 0 {
		return nil, err
	}
	defer root.Close()
	base, done, err := j.checkoutOf(ctx, j.cone().With(names), cmp.Or(j.brief.Execution.GetBegins().GetCommit(), tree.Base()), tree.Base())
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
			found = append(found, verify.Phase(root.FS(), n.Id, n.Phase, j.rules(), o.GetSummary()+"\n"+o.GetNotes(), j.known(nil))...)
		}
	}
	return found, nil
}

// passed says whether a phase has succeeded and nobody who verified it has
// found it wrong. Work that nobody could judge has passed: it is not verified.
func (j *job) passed(id string) bool {
	return j.succeeded(id) && !slices.ContainsFunc(j.judges(id), func(n *loomv1.NodeDefinition) bool {
		return workflow.FoundWrong(j.brief.Execution.Nodes[n.Id])
	})
}

// judges are the nodes that give the verdicts on a phase.
func (j *job) judges(phase string) (list []*loomv1.NodeDefinition) {
	for _, n := range j.brief.Definition.GetNodes() {
		if p := n.GetPhase(); workflow.Judges(p) && p.Of == phase {
			list = append(list, n)
		}
	}
	return list
}
