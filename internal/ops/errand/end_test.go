package errand

import (
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Of a file that two phases deliver, the one that is judged last decides whether it is
// verified.
func TestPROC05_TheLastJudgedPhaseDecides(t *testing.T) {
	const (
		good   = loomv1.NodeStatus_NODE_STATUS_SUCCEEDED
		silent = loomv1.NodeStatus_NODE_STATUS_FAILED
	)
	def := &loomv1.Definition{}
	for _, id := range []string{"draft", "revise"} {
		def.Nodes = append(def.Nodes,
			&loomv1.NodeDefinition{Id: id, Phase: &loomv1.Phase{Deliverables: []string{"report.md"}}},
			&loomv1.NodeDefinition{Id: id + "-check", Phase: &loomv1.Phase{Of: id, Part: loomv1.PhasePart_PHASE_PART_CHECK}})
	}
	for _, tt := range []struct {
		draft, revise, revised loomv1.NodeStatus
		marked                 bool
	}{
		{good, good, good, false},
		{silent, good, good, false},
		{good, good, silent, true},
		{silent, silent, good, true}, // the second was not delivered
	} {
		x := &loomv1.Execution{Nodes: map[string]*loomv1.NodeState{
			"draft": {Status: good}, "draft-check": {Status: tt.draft}, "revise": {Status: tt.revise}, "revise-check": {Status: tt.revised},
		}}
		if got := unverified(def, x)["report.md"]; got != tt.marked {
			t.Errorf("%v: unverified is %t", tt, got)
		}
	}
}
