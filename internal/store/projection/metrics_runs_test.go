package projection_test

import (
	"cmp"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// measureRuns counts for each execution that ended how many have used no more.
func (b *books) measureRuns(w *loomv1.WorkflowMetrics, runs []*run) {
	var ended []*run
	for _, r := range runs {
		if r.status > loomv1.ExecutionStatus_EXECUTION_STATUS_RUNNING {
			ended = append(ended, r)
		}
	}
	half := func(of func(*run) uint64) (least uint64) {
		found := false
		for _, r := range ended {
			n := 0
			for _, other := range ended {
				if of(other) <= of(r) {
					n++
				}
			}
			if 2*n >= len(ended) && (!found || of(r) < least) {
				least, found = of(r), true
			}
		}
		return least
	}
	w.MedianTokens = half(func(r *run) uint64 { return r.in + r.out })
	w.MedianCostMicroUsd = half(func(r *run) uint64 { return r.cost })
	slices.SortFunc(ended, func(x, y *run) int { return cmp.Or(y.start.Compare(x.start), strings.Compare(y.id, x.id)) })
	for _, r := range ended[:min(len(ended), 10)] {
		word := strings.ToLower(strings.TrimPrefix(r.status.String(), "EXECUTION_STATUS_"))
		w.Runs = append(w.Runs, &loomv1.RunCost{Execution: r.id, Status: word, Tokens: r.in + r.out, CostMicroUsd: r.cost})
	}
}
