package projection_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/loomrun/loom/internal/base/longtest"
	core "github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func measure(t testing.TB, path string, q *loomv1.MetricsRequest) []*loomv1.WorkflowMetrics {
	t.Helper()
	got, err := open(t, path).Metrics(t.Context(), q)
	if err != nil {
		t.Fatalf("Metrics: %v", err)
	}
	return got
}

// near forgives what adding in another order does to a sum.
var near = cmp.Options{protocmp.Transform(), cmpopts.EquateApprox(1e-9, 1e-6)}

// What SQL says of any life is what reading its events one by one gives.
func TestWF14_MetricsAreWhatTheEventsSay(t *testing.T) {
	longtest.Skip(t)
	var sawGood, sawBad, sawNone bool
	safe, unsafe := map[string]int{}, map[string]int{}
	for seed := range uint64(12) {
		p := play(t, 300+seed, 350)
		path, b := filled(t, []journal{p.journal(0)}), newBooks(p.events)
		mid := stamp(noon.Add(p.now.Sub(noon) / 2))
		for _, q := range []*loomv1.MetricsRequest{
			{}, {Process: core.AutoBug}, {Process: "random-0"}, {Project: "shop"}, {From: mid}, {To: mid}, {From: mid, To: mid},
		} {
			got := measure(t, path, q)
			if diff := cmp.Diff(b.measure(q), got, near); diff != "" {
				t.Fatalf("seed %d: Metrics(%v) (-events +tables):\n%s", 300+seed, q, diff)
			}
			for _, w := range got {
				for _, target := range w.GetTargets() {
					sawNone = sawNone || target.Measured == nil
					sawGood = sawGood || target.GetMet()
					sawBad = sawBad || target.Met != nil && !target.GetMet()
					if target.Met != nil && target.GetRelation() == "=" {
						kind := map[bool]map[string]int{true: safe, false: unsafe}[target.GetMet()]
						kind[target.GetName()]++
					}
				}
			}
		}
		if other := measure(t, path, &loomv1.MetricsRequest{Project: "other"}); len(other) != 0 {
			t.Errorf("metrics of a project without executions: %v", other)
		}
	}
	if len(safe) == 0 || len(unsafe) == 0 {
		t.Errorf("targets of commits were met %v, and missed %v; want both", safe, unsafe)
	}
	if !sawGood || !sawBad || !sawNone {
		t.Errorf("targets were met: %t, missed: %t, not measured: %t; want all of them", sawGood, sawBad, sawNone)
	}
}

func TestWF14_AWorkflowThatFaresWell(t *testing.T) {
	p := newPlayer(t, source(t, 1), "shop")
	p.work(20, 4)
	all := measure(t, filled(t, []journal{p.journal(0)}), &loomv1.MetricsRequest{})
	if len(all) != 1 || all[0].GetProcess() != core.AutoBug {
		t.Fatalf("Metrics: %v, want one process", all)
	}
	w := all[0]
	if w.GetStarted() != 20 || w.GetCompleted() != 20 || w.GetSuccessRate() != 1 || w.EscalationRate == nil || w.GetEscalationRate() != 0 {
		t.Errorf("started %d, completed %d, success %v, escalation %v", w.GetStarted(), w.GetCompleted(), w.SuccessRate, w.EscalationRate)
	}
	if r := w.GetResolution(); r.GetCount() != 20 || r.GetP50Ms() <= 0 || r.GetP50Ms() > r.GetP90Ms() || r.GetP99Ms() > r.GetMaxMs() || w.GetWorking().GetP50Ms() >= r.GetP50Ms() {
		t.Errorf("resolution %v, working %v", r, w.GetWorking())
	}
	var lines []string
	for _, n := range w.GetNodes() {
		lines = append(lines, fmt.Sprintf("%s %d %d %v %.0f", n.GetNode(), n.GetVisits(), n.GetSucceeded(), n.GetAttempts()[:3], n.GetMeanAttempts()))
	}
	want := []string{
		"approve 20 20 [0 0 0] 0", "commit 20 20 [20 0 0] 1", "investigate 20 20 [0 20 0] 2",
		"land 20 20 [20 0 0] 1", "triage 20 20 [20 0 0] 1", "verify 20 20 [20 0 0] 1",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	lines = nil
	for _, g := range w.GetTargets()[2:] {
		lines = append(lines, fmt.Sprintf("%s %s %g %s: %g %t", g.GetName(), g.GetRelation(), g.GetGoal(), g.GetUnit(), g.GetMeasured(), g.GetMet()))
	}
	want = []string{
		"investigations that succeed > 0.8 ratio: 1 true", "fixes that pass verification > 0.9 ratio: 1 true",
		"executions that escalate < 0.1 ratio: 0 true", "investigation cycles per completed execution < 1.5 cycles: 2 false",
		"commits made by two agents at once = 0 commits: 0 true", "commits with the right author = 1 ratio: 1 true",
		"commits that passed every hook = 1 ratio: 1 true",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// Nothing measured is nothing said: not 0, which would look like a result.
func TestWF14_NothingMeasuredIsUnset(t *testing.T) {
	if all := measure(t, filepath.Join(t.TempDir(), "loom.db"), &loomv1.MetricsRequest{}); len(all) != 0 {
		t.Errorf("metrics of nothing: %v", all)
	}
	p := newPlayer(t, source(t, 2), "shop")
	p.report()
	w := measure(t, filled(t, []journal{p.journal(0)}), &loomv1.MetricsRequest{})[0]
	if w.SuccessRate != nil || w.GetResolution().GetCount() != 0 || w.GetRunning() != 1 {
		t.Errorf("of one execution that runs: success %v, resolution %v, running %d", w.SuccessRate, w.GetResolution(), w.GetRunning())
	}
	for _, g := range w.GetTargets() {
		if measured := g.Measured != nil; measured != (g.GetName() == "executions that escalate") || measured != (g.Met != nil) {
			t.Errorf("target %q: measured %v, met %v", g.GetName(), g.Measured, g.Met)
		}
	}
}

// BenchmarkMetrics measures the question over all executions of a deployment.
func BenchmarkMetrics(b *testing.B) {
	p := newPlayer(b, source(b, 1), "shop")
	p.work(10_000, 100)
	db := open(b, filled(b, []journal{p.journal(0)}))
	from := time.Now()
	for b.Loop() {
		if _, err := db.Metrics(b.Context(), &loomv1.MetricsRequest{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(time.Since(from).Milliseconds())/float64(b.N), "ms/question")
}
