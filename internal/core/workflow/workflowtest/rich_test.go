package workflowtest_test

import (
	"math/rand/v2"
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"

	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/core/workflow/workflowtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestWF03_DrawnDefinitionsAreValid compiles what is drawn, and wants all that
// it promises to draw to come now and then.
func TestWF03_DrawnDefinitionsAreValid(t *testing.T) {
	longtest.Skip(t)
	saw := map[string]int{}
	for seed := range uint64(500) {
		for _, d := range []*loomv1.Definition{
			workflowtest.Random(rand.New(rand.NewPCG(seed, 1))),
			workflowtest.Rich(rand.New(rand.NewPCG(seed, 2)), "child"),
		} {
			if _, err := workflow.Compile(d); err != nil {
				t.Fatalf("seed %d: %v\n%v", seed, err, d)
			}
			for _, n := range d.Nodes {
				saw[n.Type.String()]++
				saw[n.Kind.String()]++
				saw[n.Criticality.String()]++
				if n.Gate != nil {
					saw[n.Gate.OnFailure.String()]++
				}
				if n.Process != "" {
					saw["process"]++
				}
				if n.Detached {
					saw["detached"]++
				}
			}
		}
	}
	for _, want := range []string{
		"NODE_TYPE_APPROVAL", "NODE_TYPE_DECISION", "NODE_TYPE_MERGE", "NODE_KIND_COMMIT", "NODE_KIND_VERIFY", "NODE_KIND_LAND",
		"CRITICALITY_CRITICAL", "CRITICALITY_OPTIONAL", "GATE_ACTION_BLOCK", "GATE_ACTION_SKIP", "GATE_ACTION_REPLAN",
		"GATE_ACTION_FAIL", "process", "detached",
	} {
		if saw[want] < 20 {
			t.Errorf("in 1000 definitions there were %d of %s", saw[want], want)
		}
	}
}
