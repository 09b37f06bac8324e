package workflow

import (
	"fmt"
	"slices"
	"time"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// AskLimit asks the CEO whether the execution may go on beyond a limit, and says up to
// what if that is not ""; until there is an answer it is held. The approval has the
// reason, and of a budget what there would have to be room for, whose budget it is and
// what is granted. While something of the kind is asked already, it does nothing.
func (r Run) AskLimit(a *loomv1.Approval, upTo string) error {
	if !running(r.X) {
		return r.over()
	}
	if r.X.LimitApproval != "" {
		return nil
	}
	a.Id, a.Bead, a.Execution, a.Kind = r.NextBead(), r.X.Bead, r.X.Id, escalation
	a.Question = cut(fmt.Sprintf("a limit is reached: how is %q to continue?", r.Bead.GetGoal()), SummaryBytes)
	a.History, a.Options = shown(r.ended()), []loomv1.ApprovalDecision{approve, reject}
	if upTo != "" {
		upTo = ", up to " + upTo
	}
	a.NextSteps = []string{"approve: go on beyond the limit" + upTo, "reject: close the workflow and the bead"}
	if a.DayEnds != nil {
		a.NextSteps = append(a.NextSteps, "no answer: it goes on at "+a.DayEnds.AsTime().Format(time.RFC3339)+", when the day is over")
	}
	r.present(a)
	a.Digest = Digest(a)
	return r.Emit(&loomv1.Event{Fact: &loomv1.Event_ApprovalRequested{
		ApprovalRequested: &loomv1.ApprovalRequested{Approval: a},
	}})
}

// ended returns the newest ended attempts of all nodes, oldest first.
func (r Run) ended() []*loomv1.Attempt {
	var all []*loomv1.Attempt
	for _, n := range r.Def.order {
		h := r.state(n).GetHistory()
		all = append(all, h[max(0, len(h)-historyAttempts):]...)
	}
	slices.SortStableFunc(all, byEnd)
	return all
}

// decideLimit carries out the answer to an approval about a limit.
func (r Run) decideLimit(a *loomv1.Approval, d *loomv1.DecideApproval) error {
	switch {
	case !running(r.X) || r.X.LimitApproval != "":
		return fault.New("approval/lapsed", "execution %q does not wait for what approval %q decides", r.X.Id, a.Id)
	case d.GetDecision() == reject:
		return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_REJECTED, d.Comment)
	case d.GetDecision() != approve:
		return NotOffered(a, d.GetDecision())
	}
	return r.advance()
}
