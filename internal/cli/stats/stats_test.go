package stats

import (
	"slices"
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestWF14_TargetsOfBugsAreForBugs shows the targets of processes that mend bugs,
// that might, and that do not.
func TestWF14_TargetsOfBugsAreForBugs(t *testing.T) {
	one := 1.0
	simple, verified, escalated := "resolution of simple bugs", "fixes that pass verification", escalates
	safe := "commits that passed every hook"
	for _, tt := range []struct {
		process  string
		measured []string
		want     int
	}{
		{"auto-bug-workflow", nil, 4},
		{"investment-analysis", nil, 1},
		{"investment-analysis", []string{verified, escalated}, 1},
		{"mend-it", []string{simple}, 4},
		{"feature-delivery", []string{safe}, 2},
		{"feature-delivery", []string{verified, escalated, safe}, 2},
		{"auto-bug-workflow", []string{safe}, 4},
	} {
		m := &loomv1.WorkflowMetrics{Process: tt.process}
		for _, name := range []string{simple, verified, safe, escalated} {
			target := &loomv1.Target{Name: name}
			if slices.Contains(tt.measured, name) {
				target.Measured = &one
			}
			m.Targets = append(m.Targets, target)
		}
		if got := targetsOf(m); len(got) != tt.want || got[len(got)-1].Name != escalated {
			t.Errorf("%s, measured %q: %v, want %d", tt.process, tt.measured, got, tt.want)
		}
		if len(m.Targets) != 4 {
			t.Error("the answer itself was changed")
		}
	}
}

// TestPROC09_PhasesWorthAStrongerModel names phases that fail or are sent back often enough,
// and none of which too little is known, or that no model does.
func TestPROC09_PhasesWorthAStrongerModel(t *testing.T) {
	node := func(name string, visits, ended, failed, reworks, calls uint64) *loomv1.NodeMetrics {
		return &loomv1.NodeMetrics{Node: name, Visits: visits, Ended: ended, Failed: failed, Reworks: reworks, ModelCalls: calls, Duration: &loomv1.Quantiles{}}
	}
	m := &loomv1.WorkflowMetrics{Process: "p", MedianTokens: 100, MedianCostMicroUsd: 0, Nodes: []*loomv1.NodeMetrics{
		node("good", 8, 8, 1, 0, 9),
		node("fails", 4, 8, 2, 0, 9),
		node("back", 4, 4, 0, 0, 9), node("back-check", 4, 4, 0, 1, 9), node("back-vote", 4, 4, 0, 0, 9),
		node("seldom", 3, 6, 6, 0, 9), node("back-second", 8, 8, 8, 0, 9), node("back-rev-12", 8, 8, 8, 0, 9),
		node("commit", 8, 8, 8, 0, 0),
	}, Runs: []*loomv1.RunCost{{Execution: "p-2-x1", Status: "failed", Tokens: 250}, {Execution: "p-1-x1", Status: "completed", Tokens: 100}}}
	want := []string{"fails: 2 of 8 attempts failed", "back: 1 of 4 visits were sent back by who judged"}
	if got := stronger(m); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var b strings.Builder
	processText(&b, m)
	said := strings.Join(strings.Fields(b.String()), " ")
	for _, want := range []string{"p-2-x1 failed 250 2.5x 0.000000 -", "median of all that ended - 100 -", "fails: 2 of 8"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said: %s", want, said)
		}
	}
}

// TestAGENT05_CostsSayWhatIsAssumed: of calls that were broken off it is said how much of
// the sum they are.
func TestAGENT05_CostsSayWhatIsAssumed(t *testing.T) {
	total := &loomv1.Cost{Name: "total", Calls: 3, InputTokens: 50000, CostMicroUsd: 900000}
	for _, tt := range []struct {
		broken uint64
		want   bool
	}{{0, false}, {2, true}} {
		total.BrokenCalls, total.BrokenTokens, total.BrokenMicroUsd = tt.broken, tt.broken*20000, tt.broken*400000
		var b strings.Builder
		costText(&b, "role", &loomv1.CostReply{Costs: []*loomv1.Cost{total}, Total: total})
		said := strings.Join(strings.Fields(b.String()), " ")
		if got := strings.Contains(said, "40000 tokens and 0.800000 USD of that are all that was held back for calls that were broken off (2)"); got != tt.want || strings.Contains(said, "broken off") != tt.want {
			t.Errorf("with %d calls broken off: %s", tt.broken, said)
		}
	}
}
