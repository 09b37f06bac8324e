package project_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestWF07_AnEscalationProposesWhatItsCausesAskFor wants steps that are about what
// failed, and an answer that is not offered to be refused in plain words.
func TestWF07_AnEscalationProposesWhatItsCausesAskFor(t *testing.T) {
	t.Run("WF07 crashes", func(t *testing.T) {
		d := newDesk(t)
		d.report()
		for range 9 {
			d.crash("qa-engineer", "h1", "it broke down")
			d.now = d.now.Add(time.Minute)
			d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		}
		a := d.inbox()
		if steps := strings.Join(a.NextSteps, "\n"); !strings.Contains(steps, "loom bead list --type bug") {
			t.Errorf("after crashes it proposes\n%s", steps)
		}
		err := d.present(ceo, d.sign(a, loomv1.ApprovalDecision_APPROVAL_DECISION_ALWAYS, nil))
		if f := fault.From(err); f.Code != "approval/option" || !strings.Contains(f.Message, "answered with always") || f.Hint != "one of: approve, retry, skip, reject" {
			t.Errorf("an answer that is not offered: %v", err)
		}
	})
	t.Run("WF07 a failed check", func(t *testing.T) {
		d := newDesk(t)
		d.toApproval("p1")
		for i, digest := range []string{"p1", "p2", "p3", "p4"} { // three reworks, and no more
			d.approve()
			d.work("engineering-manager", candidate(digest, uint64(i+1)))
			out := verified("c-"+digest, false)
			out.Checks[0].ExitCode, out.Notes = 2, "--- FAIL: TestTotal: got 49.00"
			d.work("qa-engineer", out)
			if i < 3 {
				d.work("backend-engineer", proposed("p"+string(rune('2'+i))))
			}
			d.now = d.now.Add(time.Minute)
			d.ok(&loomv1.Command{Body: &loomv1.Command_Tick{Tick: &loomv1.Tick{}}})
		}
		steps := strings.Join(d.inbox().NextSteps, "\n")
		if !strings.Contains(steps, `"go test ./..." exited with 2 on commit c-p4: --- FAIL: TestTotal: got 49.00`) {
			t.Errorf("after a failed check it proposes\n%s", steps)
		}
	})
}
