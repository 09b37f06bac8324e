package errand_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/ops/errand"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// TestPROC05_EndsOfTheBuiltInStrategy has the model away in nodes of the process that
// comes with Loom, with its planner, its vote and its phase that is a process.
func TestPROC05_EndsOfTheBuiltInStrategy(t *testing.T) {
	longtest.Skip(t)
	dir := filepath.Join("..", "..", "..", "processes", "marketing-strategy", "test")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	test, err := processes.ParseTest("invoicing.yaml", read("invoicing.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := scripted.Parse("invoicing.script.yaml", read("invoicing.script.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name       string
		away       []string
		exit       fault.Exit
		gaps, asks []string
	}{
		{"a phase", []string{"customer-segmentation"}, fault.Gaps, []string{"customer-segmentation"}, nil},
		{"its judge", []string{"customer-segmentation-check"}, fault.Gaps, []string{"customer-segmentation-check"}, nil},
		{"the judge of a critical phase", []string{"market-sizing-check"}, fault.Waits, nil, []string{"market-sizing-check"}},
		{"a phase that is critical by its place", []string{"channel-strategy"}, fault.Waits, nil, []string{"channel-strategy"}},
		{"one reviewer of three", []string{"positioning-rev-1"}, fault.Gaps, []string{"positioning-rev-1"}, nil},
		{"two reviewers of three", []string{"positioning-rev-1", "positioning-rev-2"}, fault.Waits, []string{"positioning-rev-1", "positioning-rev-2"}, []string{"positioning-vote"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			work := filepath.Join(top, "work")
			for name, text := range test.Files {
				path := filepath.Join(work, filepath.FromSlash(name))
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			policy := func(r *model.Request) (*model.Response, error) {
				if slices.Contains(tt.away, nodeLine.FindStringSubmatch(r.Messages[0].Text)[1]) {
					return nil, errors.New("the model is away")
				}
				return script(r)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			told := &silent{}
			r, err := errand.Run(ctx, errand.Options{
				Workspace: work, View: told,
				Submission: &loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: test.Goal, Process: "marketing-strategy"},
				Config: host.Config{
					Data: filepath.Join(top, "data"), CEOKey: filepath.Join(top, "ceo.nk"), Processes: processes.Builtin(roles.Builtin()),
					Unsandboxed: !isolation.CanSandbox(), Model: scripted.New("invoicing", policy),
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			gaps := nodesOf(r.Gaps)
			slices.Sort(gaps)
			asked, why := told.asked()
			if r.Exit(false) != tt.exit || !slices.Equal(gaps, tt.gaps) || !slices.Equal(asked, tt.asks) {
				t.Errorf("exit status %d, %s %s, gaps %q, asked about %q: %s", r.Exit(false), r.Status, r.Reason, r.Gaps, asked, why)
			}
		})
	}
}
