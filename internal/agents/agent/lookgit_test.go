package agent_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Who only looks has git's tools, too: of the target, and of a candidate beside
// the commit that it was made on.
func TestREAL01_WhoLooksHasGit(t *testing.T) {
	longtest.Skip(t)
	ask := func(told *[]string) scripted.Policy {
		return func(r *model.Request) (*model.Response, error) {
			if r.Messages[len(r.Messages)-1].Call == "" {
				return says(
					call("git_log", map[string]any{}), call("git_status", map[string]any{}), call("git_diff", map[string]any{}),
					call("git_show", map[string]any{"commit": "HEAD"}), call("git_blame", map[string]any{"path": "a.txt"}),
				), nil
			}
			for _, m := range r.Messages[len(r.Messages)-5:] {
				*told = append(*told, m.Text)
			}
			return finish("success"), nil
		}
	}
	check := func(t *testing.T, told, want []string) {
		t.Helper()
		if len(told) != len(want) {
			t.Fatalf("%d results: %q", len(told), told)
		}
		for i, w := range want {
			if !strings.Contains(told[i], w) {
				t.Errorf("result %d has not %q:\n%s", i+1, w, told[i])
			}
		}
	}
	t.Run("triage", func(t *testing.T) {
		var told []string
		b := newBench(t, ask(&told))
		b.must(brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
		check(t, told, []string{": first", "nothing has changed", "nothing differs", "+one", ") one"})
	})
	t.Run("verify", func(t *testing.T) {
		var told []string
		b, br := proposed(t, "", writes())
		candidate := b.must(br).Candidate
		b.worker.Model = b.asks.count(scripted.New("test", ask(&told)))
		b.seat = &seat{}
		verify := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_VERIFY)
		verify.Execution.Candidate = candidate
		b.must(verify)
		check(t, told, []string{": first", "A new.txt", "+++ b/new.txt", "+++ b/new.txt", ") one"})
	})
}
