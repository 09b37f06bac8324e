package agent_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/model/scripted"
	"github.com/loomrun/loom/internal/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// TestREAL04_ALookCostsWhatDiffers has somebody look twice at a repository and an
// author work on it: the checkout of the first serves the second and is the author's
// worktree, and comes back from that, but only where nothing that was started in it
// can live on.
func TestREAL04_ALookCostsWhatDiffers(t *testing.T) {
	contain := func(context.Context, string, []string, []string, []string) (*exec.Cmd, error) {
		return nil, exec.ErrNotFound
	}
	for name, tt := range map[string]struct {
		policy tool.Policy
		kept   int
	}{
		"in a sandbox":                   {tool.Policy{Contain: contain}, 1},
		"on the machine as it is":        {tool.Policy{Allow: true}, 0},
		"where nothing may start at all": {tool.Policy{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, script(finish("success")))
			b.worker.Exec = func(string, roles.Role, string) tool.Policy { return tt.policy }
			for range 2 {
				b.seat = &seat{}
				b.must(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
			}
			kept, err := filepath.Glob(filepath.Join(b.worker.Scratch, "pool", "*", "*"))
			if err != nil || len(kept) != tt.kept {
				t.Errorf("%d checkouts are kept (%v), want %d", len(kept), err, tt.kept)
			}
			b.seat, b.worker.Model = &seat{}, b.asks.count(scripted.New("test", writes()))
			b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
			if kept, _ = filepath.Glob(filepath.Join(b.worker.Scratch, "pool", "*", "*")); len(kept) != 0 {
				t.Errorf("%d checkouts are kept while an author has one", len(kept))
			}
			if gone, err := b.worker.Retire(t.Context(), b.repo, "shop-1-x1"); !gone || err != nil {
				t.Fatalf("gone %t, %v", gone, err)
			}
			if kept, _ = filepath.Glob(filepath.Join(b.worker.Scratch, "pool", "*", "*")); len(kept) != tt.kept {
				t.Errorf("%d checkouts are kept after the author's work, want %d", len(kept), tt.kept)
			}
		})
	}
}
