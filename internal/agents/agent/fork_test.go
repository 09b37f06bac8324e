package agent_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Who goes on in a fork finds the change that it was forked with, and what is
// proposed next rests on it; without a fork a change of the state is nobody's.
func TestWF16_AForkGoesOnWithItsChange(t *testing.T) {
	b := newBench(t, writes())
	first := b.must(brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)).Change
	for _, tt := range []struct {
		execution string
		from      *loomv1.ForkPoint
		want      string
	}{
		{"shop-2-x1", &loomv1.ForkPoint{Execution: "shop-1-x1", Node: "work"}, first.PatchDigest},
		{"shop-3-x1", nil, ""},
	} {
		b.worker.Model = b.asks.count(scripted.New("test", script(finish("success"))))
		br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Attempt.Id, br.Execution.Id, br.Bead.Id = tt.execution+"-a1", tt.execution, tt.execution[:6]
		br.Execution.ForkedFrom, br.Execution.Change = tt.from, proto.CloneOf(first)
		b.seat = &seat{}
		if got := b.must(br).GetChange().GetPatchDigest(); got != tt.want {
			t.Errorf("%s proposes %q, want %q", tt.execution, got, tt.want)
		}
	}
}
