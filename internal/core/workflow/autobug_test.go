package workflow_test

import (
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF13_AutoBugFromReportToMain(t *testing.T) {
	w := newWorld(t, autoBug(), nil)
	w.answer(t, "triage", triaged("high"))
	w.answer(t, "investigate", more())
	w.answer(t, "investigate", changed("p1"))
	w.decide(t, "approve", approve, "")
	w.answer(t, "commit", committed("c1", "p1"))
	w.answer(t, "verify", verified("c1", allChecks...))
	w.answer(t, "land", landed("c1"))
	w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED)
	check(t, w.story(), `
		start-triage taken: success
		triage dispatched to qa-engineer: 1.1
		triage answered success
		triage-investigate taken: success
		triage-end dead
		investigate dispatched to web-designer: 1.1
		investigate answered continue
		investigate dispatched to web-designer: 1.2 continue
		investigate answered success
		proposed p1
		investigate-approve taken: success
		approve asks:
		approve decided: approve
		approve-commit taken: approved
		commit dispatched to engineering-manager: 1.1
		commit answered success
		candidate c1
		commit-verify taken: success
		verify dispatched to qa-engineer: 1.1
		verify answered success
		verify-land taken: success
		land dispatched to engineering-manager: 1.1
		land answered success
		landed c1
		land-end taken: success
		completed`)
	if w.x.Transitions != 8 {
		t.Errorf("transitions = %d, want 8: seven edges and a continue", w.x.Transitions)
	}
}

func TestWF13_NothingToMend(t *testing.T) {
	w := newWorld(t, autoBug(), nil)
	w.answer(t, "triage", triaged("none"))
	w.wantEnd(t, loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED)
	w.want(t, "investigate skipped", "land skipped", "end succeeded")
}
