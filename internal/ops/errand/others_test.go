package errand_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/isolation"
	"github.com/loomrun/loom/internal/ops/errand"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What an earlier run has left is named, and nothing is asked for it in a run for another
// goal; its own run goes on with it.
func TestBYD05_ARunForAnotherGoalLeavesEarlierWorkAlone(t *testing.T) {
	longtest.Skip(t)
	def := quickly(t, "note.yaml", `name: note
version: "1.0"
phase_mode: strict
phases:
  - {id: note, description: Write note.md., deliverables: [note.md], is_critical_path: true}
`)
	top := t.TempDir()
	work := filepath.Join(top, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	script := &strategist{def: def}
	var asked atomic.Int32 // for the first goal
	run := func(goal, key string, stop context.CancelFunc, ctx context.Context) (*errand.Result, []*loomv1.Bead, error) {
		var left []*loomv1.Bead
		r, err := errand.Run(ctx, errand.Options{
			Workspace: work, View: &silent{}, Left: func(_ *errand.Result, beads []*loomv1.Bead) { left = beads },
			Submission: &loomv1.Submission{Type: loomv1.BeadType_BEAD_TYPE_TASK, Goal: goal, Process: def.Name, IdempotencyKey: key},
			Config: host.Config{
				Data: filepath.Join(top, "data"), CEOKey: filepath.Join(top, "ceo.nk"), Processes: processes.NewLibrary(def), Unsandboxed: !isolation.CanSandbox(),
				Model: scripted.New("leftovers", func(r *model.Request) (*model.Response, error) {
					if strings.Contains(r.Messages[0].Text, "<goal>\nfirst goal\n") {
						asked.Add(1)
					}
					if stop != nil {
						stop()
						return nil, errors.New("the run is interrupted")
					}
					return script.answer(r)
				}),
			},
		})
		return r, left, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	interrupted, stop := context.WithCancel(ctx)
	first, left, err := run("first goal", "one", stop, interrupted)
	if !errors.Is(err, context.Canceled) || first == nil || len(left) > 0 {
		t.Fatalf("the first run: %+v, %v, left %v", first, err, left)
	}
	before := asked.Load()
	second, left, err := run("second goal", "", nil, ctx)
	if err != nil || second.Status != "completed" {
		t.Fatalf("the second run: %+v, %v", second, err)
	}
	if len(left) != 1 || left[0].Id != first.Bead || left[0].Goal != "first goal" {
		t.Errorf("left are %v, want %s", left, first.Bead)
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("the run for another goal asked %d times for the first", n)
	}
	again, left, err := run("first goal", "one", nil, ctx)
	if err != nil || again.Bead != first.Bead || again.Status != "completed" || len(left) > 0 {
		t.Errorf("the first goal again: %+v, %v, left %v", again, err, left)
	}
}
