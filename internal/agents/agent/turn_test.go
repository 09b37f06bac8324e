package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestACT04_TurnGoesOnFromEveryStep kills the host at every record of a turn,
// before and after it is durable, and goes on with the turn elsewhere. No
// answer that is recorded is asked for again, and no tool that ended, or may
// have run, runs a second time.
func TestACT04_TurnGoesOnFromEveryStep(t *testing.T) {
	longtest.Skip(t)
	whole := newTurn(t)
	whole.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	steps := whole.seat.calls
	if steps < 8 || whole.ran("first") != 1 || whole.ran("second") != 1 {
		t.Fatalf("uncut, the turn takes %d records and runs its commands %d and %d times", steps, whole.ran("first"), whole.ran("second"))
	}
	for at := 1; at <= steps; at++ {
		for _, durable := range []bool{false, true} {
			t.Run(fmt.Sprintf("ACT04 at %d of %d, durable %t", at, steps, durable), func(t *testing.T) {
				b := newTurn(t)
				b.seat.cutAt, b.seat.durable = at, durable
				br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
				if _, err := b.work(br); !errors.Is(err, errCut) {
					t.Fatalf("the cut turn returns %v", err)
				}
				answered := recorded(b.seat.turn)
				br.Turn = proto.CloneOf(b.seat.turn)
				out := b.must(br)
				if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || out.Change == nil {
					t.Errorf("outcome %v", out)
				}
				for digest := range answered {
					if n := b.asks.by[digest]; n != 1 {
						t.Errorf("the model was asked %.8s %d times though its answer was recorded", digest, n)
					}
				}
				for _, command := range []string{"first", "second"} {
					if n := b.ran(command); n > 1 {
						t.Errorf("command %q ran %d times", command, n)
					}
				}
			})
		}
	}
}

// recorded returns the digests of the requests whose answers a turn has.
func recorded(t *loomv1.Turn) map[string]bool {
	all := map[string]bool{}
	for _, s := range t.GetSteps() {
		if a := s.GetAnswer(); a != nil {
			all[a.Request] = true
		}
	}
	return all
}

// newTurn is a bench whose model runs two commands, reads and writes.
func newTurn(t *testing.T) *turnBench {
	log := filepath.Join(t.TempDir(), "ran")
	policy := script(
		says(call("shell", map[string]any{"command": "echo first >> " + log}), call("file_read", map[string]any{"path": "a.txt"})),
		says(call("shell", map[string]any{"command": "echo second >> " + log})),
		says(call("file_write", map[string]any{"path": "new.txt", "content": "new\n"})),
		finish("success"),
	)
	return &turnBench{newBench(t, policy), log}
}

type turnBench struct {
	*bench
	log string
}

// ran says how often a command has run.
func (b *turnBench) ran(command string) int {
	data, err := os.ReadFile(b.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		b.t.Fatal(err)
	}
	return strings.Count(string(data), command+"\n")
}

func TestACT04_ChangeIsWhatTheWorktreeHas(t *testing.T) {
	longtest.Skip(t)
	b := newTurn(t)
	out := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if len(out.Change.GetFiles()) != 1 || out.Change.Files[0].Path != "new.txt" || out.Change.Files[0].Status != "added" {
		t.Errorf("change %v, want new.txt added", out.Change)
	}
	if _, err := os.Stat(filepath.Join(b.top, "new.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the user's own checkout has the file: %v", err)
	}
}

// TestWF08_RoleWithoutWriteToolsChangesNothing gives a role that may only look
// a model that tries to write all the same.
func TestWF08_RoleWithoutWriteToolsChangesNothing(t *testing.T) {
	policy := script(
		says(call("file_write", map[string]any{"path": "a.txt", "content": "mine\n"}), call("file_edit", map[string]any{"path": "a.txt", "old": "one", "new": "mine"})),
		says(call("shell", map[string]any{"command": "echo mine > made.txt"})), // which no tool list can keep from writing
		finish("success"),
	)
	b := newBench(t, policy)
	out := b.must(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if out.Change != nil {
		t.Errorf("a change was proposed: %v", out.Change)
	}
	denied := 0
	for _, s := range b.seat.turn.Steps {
		if s.GetTool().GetResult().GetStatus() == loomv1.ToolStatus_TOOL_STATUS_DENIED {
			denied++
		}
	}
	if denied != 2 {
		t.Errorf("%d calls were denied, want 2: %v", denied, b.seat.turn.Steps)
	}
	if got := read(t, b.top, "a.txt"); got != "one\n" {
		t.Errorf("the user's file holds %q", got)
	}
	if left, err := os.ReadDir(b.worker.Scratch); err != nil || len(left) != 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestACT04_StopLeavesTheTurnAsRecorded(t *testing.T) {
	b := newBench(t, script(says(call("shell", map[string]any{"command": "while :; do :; done"}))))
	ctx, cancel := context.WithCancel(t.Context())
	begun := make(chan struct{})
	b.worker.Live = func(_, _, _, text string) {
		if text != "" {
			close(begun)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := b.worker.Work(ctx, brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED), b.seat)
		done <- err
	}()
	<-begun
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped turn returns %v", err)
	}
	for _, s := range b.seat.turn.GetSteps() {
		if s.GetTool().GetResult() != nil {
			t.Errorf("a call that was cut off has an outcome: %v", s)
		}
	}
}

// TestWF04_NoAnswerIsAnError leaves it to the attempt to be tried again.
func TestWF04_NoAnswerIsAnError(t *testing.T) {
	b := newBench(t, script())
	if _, err := b.work(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)); err == nil {
		t.Error("a turn whose model has no answer ended well")
	}
	br := brief("nobody", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	_, err := b.work(br)
	wantCode(t, err, "role/unknown")
}
