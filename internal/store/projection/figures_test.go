package projection_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
	stories "github.com/loomrun/loom/test/play"
)

// told is a story as a journal, and its events.
func told(story func(*stories.Shop)) (j journal, events []*loomv1.Event) {
	s := stories.Open("shop", 0, func(b *loomv1.Batch) {
		j, events = append(j, b), append(events, b.Events...)
	})
	story(s)
	s.Flush()
	return j, events
}

const memoFile = `name: memo
version: "1.0"
phase_mode: strict
phases:
  - {id: memo, description: Write it., verification_tier: 2, acceptance_criteria: It is short., deliverables: [memo.md], is_critical_path: true}
`

// broken is a rule that a phase did not keep.
func broken(rule string, tier uint32, severity loomv1.Severity, places uint32) *loomv1.BrokenRule {
	return &loomv1.BrokenRule{Phase: "memo", Rule: rule, Tier: tier, Severity: severity, Count: places}
}

// memos is two executions of a process: the first delivers what breaks rules
// before it is sound, the second is sound but for a warning.
func memos(t testing.TB) func(*stories.Shop) {
	def, err := processes.Parse("memo.yaml", []byte(memoFile), roles.Builtin())
	if err != nil {
		t.Fatal(err)
	}
	const warning, wrong = loomv1.Severity_SEVERITY_WARNING, loomv1.Severity_SEVERITY_ERROR
	work := func(s *stories.Shop, role string, out *loomv1.Outcome, list ...*loomv1.BrokenRule) {
		out.Broken = list
		if out.Status == failure {
			out.Code = "verify/rule"
		}
		s.Work(role, out)
	}
	verdict := func(ok bool) map[string]any {
		return map[string]any{"acceptance": ok, "acceptance_evidence": "read"}
	}
	return func(s *stories.Shop) {
		s.Store(def)
		s.File(&loomv1.Submission{Goal: "a memo", Process: "memo"})
		work(s, processes.Analyst, stories.Outcome(failure, nil), broken("no-placeholders", 1, wrong, 3), broken("short", 1, warning, 1))
		s.Pass(time.Minute)
		work(s, processes.Analyst, stories.Outcome(success, nil), broken("short", 1, warning, 2))
		work(s, "qa-engineer", stories.Outcome(failure, verdict(false)), broken("acceptance", 2, wrong, 1))
		work(s, processes.Analyst, stories.Outcome(success, nil))
		work(s, "qa-engineer", stories.Outcome(success, verdict(true)))
		s.File(&loomv1.Submission{Goal: "another", Process: "memo"})
		work(s, processes.Analyst, stories.Outcome(success, nil), broken("short", 1, warning, 1))
	}
}

// What phases used, how often they failed, and which rules they broke, is what
// the events say, also of work that a plan has changed under way.
func TestPROC09_FiguresOfPhases(t *testing.T) {
	for name, story := range map[string]func(*stories.Shop){"memos": memos(t), "planned": stories.Planned} {
		j, events := told(story)
		if diff := cmp.Diff(newBooks(events).measure(&loomv1.MetricsRequest{}), measure(t, filled(t, []journal{j}), &loomv1.MetricsRequest{}), near); diff != "" {
			t.Errorf("%s (-events +tables):\n%s", name, diff)
			for _, e := range events {
				t.Log(e.Number, notice.Summary(e))
			}
		}
	}
}

func TestPROC09_FiguresInNumbers(t *testing.T) {
	j, _ := told(memos(t))
	w := measure(t, filled(t, []journal{j}), &loomv1.MetricsRequest{Process: "memo"})[0]
	rate := 0.25
	for _, n := range w.Nodes {
		if n.Node != "memo" {
			continue
		}
		got := &loomv1.NodeMetrics{
			Ended: n.Ended, Failed: n.Failed, FailureRate: n.FailureRate, Retries: n.Retries, ModelCalls: n.ModelCalls, InputTokens: n.InputTokens, CostMicroUsd: n.CostMicroUsd,
		}
		want := &loomv1.NodeMetrics{Ended: 4, Failed: 1, FailureRate: &rate, Retries: 1, ModelCalls: 4, InputTokens: 4000, CostMicroUsd: 400}
		if diff := cmp.Diff(want, got, near); diff != "" {
			t.Errorf("memo (-want +got):\n%s", diff)
		}
	}
	want := []*loomv1.RuleMetrics{
		{Phase: "memo", Rule: "no-placeholders", Tier: 1, Severity: loomv1.Severity_SEVERITY_ERROR, Attempts: 1, Executions: 1, Findings: 3},
		{Phase: "memo", Rule: "short", Tier: 1, Severity: loomv1.Severity_SEVERITY_WARNING, Attempts: 3, Executions: 2, Findings: 4},
		{Phase: "memo", Rule: "acceptance", Tier: 2, Severity: loomv1.Severity_SEVERITY_ERROR, Attempts: 1, Executions: 1, Findings: 1},
	}
	if diff := cmp.Diff(want, w.Rules, near); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
