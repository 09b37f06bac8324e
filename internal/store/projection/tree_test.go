package projection_test

import (
	"testing"

	"github.com/loomrun/loom/internal/base/longtest"
)

// TestAGENT05_ATreeOfExecutionsAddsUp compares the sums of every execution's tree with
// those of the events, read one by one.
func TestAGENT05_ATreeOfExecutionsAddsUp(t *testing.T) {
	longtest.Skip(t)
	deep := 0
	for seed := range uint64(3) {
		p := play(t, 300+seed, 350)
		db := open(t, filled(t, []journal{p.journal(0)}))
		parent, calls, money := map[string]string{}, map[string]uint64{}, map[string]uint64{}
		for _, e := range p.events {
			if s := e.GetExecutionStarted(); s != nil {
				parent[e.Execution] = s.GetParent()
			}
			if a := e.GetModelAnswered().GetAnswer(); a != nil {
				for x := e.Execution; x != ""; x = parent[x] {
					calls[x]++
					money[x] += a.Usage.GetCostMicroUsd()
				}
			}
		}
		for x := range parent {
			size := uint64(0)
			for y := range parent {
				for z := y; z != ""; z = parent[z] {
					if z == x {
						size++
					}
				}
			}
			if size > 1 {
				deep++
			}
			got, err := db.Tree(t.Context(), x)
			if err != nil || uint64(got.Executions) != size || got.ModelCalls != calls[x] || got.Usage.CostMicroUsd != money[x] {
				t.Errorf("seed %d, %s: %v, %v; want %d executions, %d calls, %d", seed, x, got, err, size, calls[x], money[x])
			}
		}
		if got, err := db.Tree(t.Context(), "no-1-x1"); err != nil || got.Executions != 0 {
			t.Errorf("an execution that is unknown: %v, %v", got, err)
		}
	}
	if deep == 0 {
		t.Error("no execution has one that works for it: nothing was tried")
	}
}
