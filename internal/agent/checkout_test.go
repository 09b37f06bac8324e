package agent_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/loomrun/loom/internal/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// TestREAL04_ALookCostsWhatDiffers has somebody look twice at a repository: the
// checkout of the first serves the second, but only where nothing that was started
// in it can live on.
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
		})
	}
}
