package agent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestREAL04_AWorktreeGoesWhenNobodyWorksInIt removes the worktree of an execution
// that has ended, but not under an agent that is still at it; who goes on with the
// execution finds what was there.
func TestREAL04_AWorktreeGoesWhenNobodyWorksInIt(t *testing.T) {
	longtest.Skip(t)
	policy := writes()
	var b *bench
	var during bool
	b = newBench(t, func(r *model.Request) (*model.Response, error) {
		if gone, err := b.worker.Retire(t.Context(), b.repo, "shop-1-x1", nil); gone || err != nil {
			t.Errorf("under the agent: gone %t, %v", gone, err)
		}
		during = true
		return policy(r)
	})
	out := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	tree := filepath.Join(b.data, "worktrees", "shop-1-x1")
	if _, err := os.Stat(tree); err != nil || !during {
		t.Fatalf("no worktree after the work: %v, asked %t", err, during)
	}
	for range 2 { // again is harmless
		if gone, err := b.worker.Retire(t.Context(), b.repo, "shop-1-x1", nil); !gone || err != nil {
			t.Fatalf("gone %t, %v", gone, err)
		}
	}
	if _, err := os.Stat(tree); !os.IsNotExist(err) {
		t.Errorf("the worktree is still there: %v", err)
	}
	b.worker.Model = b.asks.count(scripted.New("test", script(finish("success"))))
	b.seat = &seat{}
	again := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	again.Attempt.Id = "shop-1-x1-a2"
	if got := b.must(again).GetChange().GetPatchDigest(); got == "" || got != out.GetChange().GetPatchDigest() {
		t.Errorf("who goes on proposes %q, want %q", got, out.GetChange().GetPatchDigest())
	}
}
