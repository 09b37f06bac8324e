package agent_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestREAL04_RequiredChecksRunBeforeASuccessIsTaken has an engineer claim success
// while the required check fails on its worktree: it is told, mends it, and only
// then its success is taken.
func TestREAL04_RequiredChecksRunBeforeASuccessIsTaken(t *testing.T) {
	var told string
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		switch answers(r) {
		case 1:
			told = r.Messages[len(r.Messages)-1].Text
			return says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), nil
		default:
			return finish("success"), nil
		}
	})
	br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Checks = []string{"true", "cat b.txt"}
	out := b.must(br)
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || out.Change == nil {
		t.Fatalf("the outcome is %v", out)
	}
	for _, want := range []string{"failed (exit 1): cat b.txt", "your worktree"} {
		if !strings.Contains(told, want) {
			t.Errorf("the model is told\n%s\nwithout %q", told, want)
		}
	}
	var gates []string
	for _, s := range b.seat.turn.Steps {
		if c := s.GetTool(); c.GetRuntime() {
			gates = append(gates, c.Call.Id)
		}
	}
	if got, want := strings.Join(gates, " "), "gate-1-1 gate-1-2 gate-3-1 gate-3-2"; got != want {
		t.Errorf("the gates were %s, want %s", got, want)
	}
	if !strings.Contains(b.text(b.seat.turn.Prompt), "cat b.txt") {
		t.Error("the prompt does not name the required checks")
	}
}

// TestREAL04_AGateOutlivesAKill cuts the host off at every record of such a turn.
func TestREAL04_AGateOutlivesAKill(t *testing.T) {
	for at := 1; ; at++ {
		b := newBench(t, script(finish("success"), says(call("file_write", map[string]any{"path": "b.txt", "content": "two\n"})), finish("success")))
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Execution.Checks = []string{"cat b.txt"}
		b.seat.cutAt = at
		_, err := b.work(br)
		if err == nil {
			if at < 8 {
				t.Fatalf("the turn has only %d records", at)
			}
			return
		}
		br.Turn, b.seat.cutAt = b.seat.turn, 0
		if out := b.must(br); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			t.Fatalf("cut off at record %d: %v", at, out)
		}
		for digest, n := range b.asks.by {
			if n > 2 {
				t.Errorf("cut off at record %d: request %.12s was made %d times", at, digest, n)
			}
		}
	}
}

// text returns the text of a blob.
func (b *bench) text(ref *loomv1.BlobRef) string {
	b.t.Helper()
	data, err := b.worker.Blobs.Get(b.t.Context(), ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}
