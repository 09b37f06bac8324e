//go:build realwork

package realwork

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/provider"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/ops/errand"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var (
	renew  = flag.Bool("renew", false, "take the prompts as they are now for those that the kept answers belong to")
	makeBy = flag.String("model", "", "have this `model` answer, and keep its answers in place of those that are kept")
)

// branch is where the repositories' work lands.
const branch = "main"

// TestREAL02_WorkOnRepositoriesOfOthers reports a bug in each repository and lets
// Loom mend it: from the report to the verified commit on the branch.
func TestREAL02_WorkOnRepositoriesOfOthers(t *testing.T) {
	t.Log("this proves runtime, sandbox and tools, not that a prompt is good: the model's answers are kept ones")
	if !isolation.CanSandbox() {
		t.Log("work on repositories of others: NOT RUN: this system has no sandbox")
		return
	}
	t.Setenv("GOFLAGS", "") // what programs are built with says of which commit they are
	for _, r := range repositories {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			theirs, err := r.archive.fetch(t.Context())
			if errors.Is(err, errAway) {
				t.Logf("%s: NOT RUN: %v", r.name, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r.mend(t, theirs)
		})
	}
}

// mend puts the repository under git, reports its bug and looks at what landed.
func (r repository) mend(t *testing.T, theirs []git.File) {
	t.Helper()
	dir := t.TempDir()
	files, err := r.files(theirs)
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, r.name)
	if err := git.Create(t.Context(), repo, branch, r.about, files); err != nil {
		t.Fatal(err)
	}
	switch err := r.prepare(t.Context(), repo); {
	case errors.Is(err, errAway):
		t.Logf("%s: NOT RUN: %v", r.name, err)
		return
	case err != nil:
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	m, done := r.model(t, cancel)
	began := time.Now()
	result, err := errand.Run(ctx, errand.Options{
		Config:    host.Config{Data: filepath.Join(dir, "data"), CEOKey: filepath.Join(dir, "ceo.nk"), Model: m},
		Workspace: repo, Project: host.Project{Checks: []string{r.check}}, View: view{t, began},
		Submission: &loomv1.Submission{Goal: r.goal, Description: r.tells, Type: loomv1.BeadType_BEAD_TYPE_BUG, Process: "auto-bug-workflow"},
	})
	if cause := context.Cause(ctx); cause != nil {
		t.Fatalf("the answers lead no further: %v", cause)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.landed(t, repo, result)
	t.Logf("%s: landed after %v", r.name, time.Since(began).Round(time.Second))
	done()
}

// model returns what answers, and what is to be done with the answers in the end.
func (r repository) model(t *testing.T, stop func(error)) (model.Provider, func()) {
	t.Helper()
	file := filepath.Join("answers", r.name+".yaml")
	if *makeBy != "" {
		asked, err := provider.Open(*makeBy, os.Getenv)
		if err != nil {
			t.Fatal(err)
		}
		m := &maker{Provider: asked}
		return m, func() {
			if err := m.made.write(file, "Answers that mended "+r.about+"."); err != nil {
				t.Error(err)
			}
		}
	}
	kept, err := readAnswers(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{kept: kept, stop: stop, keys: map[string]string{}}
	return p, func() {
		if names := p.unused(); len(names) > 0 {
			t.Errorf("nobody asked for the answers of the turns %q", names)
		}
		names := p.changed()
		switch {
		case len(names) == 0:
		case *renew:
			if err := renewKeys(file, p.keys); err != nil {
				t.Error(err)
			}
			t.Logf("%s: the new prompts of %q are those of the answers now", r.name, names)
		default:
			t.Logf("%s: the prompts of %q have changed since the answers were given; -renew takes the new ones", r.name, names)
		}
	}
}

// landed looks at the repository: the verified commit is on the branch, it passed
// the check, and what was planted is gone.
func (r repository) landed(t *testing.T, dir string, result *errand.Result) {
	t.Helper()
	if result.Status != "completed" {
		t.Fatalf("the work ended as %s: %s", result.Status, result.Reason)
	}
	repo, err := git.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	_, head, err := repo.Branch(t.Context(), branch)
	if err != nil {
		t.Fatal(err)
	}
	if result.Commit == "" || head != result.Commit {
		t.Errorf("%s is at %s, want the landed commit %s", branch, head, result.Commit)
	}
	passed := false
	for _, n := range result.View.Nodes {
		for _, c := range n.Outcome.GetChecks() {
			passed = passed || c.Passed && c.Commit == head && c.Command == r.check
		}
	}
	if !passed {
		t.Errorf("%q has not passed on %s", r.check, head)
	}
	now, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(r.mended.path)))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(now), r.mended.old) || !strings.Contains(string(now), r.mended.new) {
		t.Errorf("%s still has %q, or not %q", r.mended.path, r.mended.old, r.mended.new)
	}
}

// view logs what happens, and signs what is asked for.
type view struct {
	t     *testing.T
	began time.Time
}

func (v view) Say(text string) { v.t.Log(text) }

func (v view) Event(n *loomv1.Notice) {
	v.t.Logf("%6.1fs %s %s", time.Since(v.began).Seconds(), notice.Kind(n.Event), notice.Summary(n.Event))
}

// Decide approves a change and nothing else: an escalation says that the work did
// not go as it should.
func (v view) Decide(_ context.Context, a *loomv1.Approval, diff string) (loomv1.ApprovalDecision, string, error) {
	v.t.Logf("approval %s: %s\n%s", a.Id, a.Question, diff)
	if a.Kind != loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL {
		return 0, "", fmt.Errorf("the CEO is asked %q, %s, and not whether to commit a change", a.Question, a.Kind)
	}
	return loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "", nil
}
