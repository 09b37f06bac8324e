package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestREAL07_TwoEqualBugsAreOneCommit reports one fault twice. The CEO is asked
// about both changes and answers the first alone: it lands, the other question is
// withdrawn, and the second bead is closed as done by the commit of the first, after
// the required check has passed on the target.
func TestREAL07_TwoEqualBugsAreOneCommit(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	team := &mender{}
	c := config(t, scripted.New("mender", team.answer))
	h := start(t, c)
	o := newOwner(t, c, h)
	for _, goal := range []string{"a.txt is broken for customers", "a.txt is broken for suppliers"} {
		if _, err := connect(t, h, "operator").Submit(ctx, &loomv1.Submission{Project: "shop", Goal: goal, Type: loomv1.BeadType_BEAD_TYPE_BUG}); err != nil {
			t.Fatal(err)
		}
	}
	var asked, lapsed []string
	var first *loomv1.Approval
	commits, skipped := 0, map[string]string{}
	ended := map[string]*loomv1.ExecutionEnded{}
	followUntil(ctx, t, o.inbox, "both ends", func(e *loomv1.Event) bool {
		switch f := e.Fact.(type) {
		case *loomv1.Event_ApprovalRequested:
			a := f.ApprovalRequested.Approval
			if asked = append(asked, a.Bead); first == nil {
				first = a
			}
			if len(asked) == 2 {
				if err := o.decide(ctx, first, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, ""); err != nil {
					t.Error(err)
				}
			}
		case *loomv1.Event_ApprovalLapsed:
			lapsed = append(lapsed, f.ApprovalLapsed.Reason)
		case *loomv1.Event_Landed:
			commits++
		case *loomv1.Event_NodeSkipped:
			skipped[e.Bead+" "+e.Node] = f.NodeSkipped.Reason
		case *loomv1.Event_ExecutionEnded:
			ended[e.Bead] = f.ExecutionEnded
		}
		return len(ended) == 2
	})
	if len(asked) != 2 || commits != 1 || len(lapsed) != 1 || !strings.HasPrefix(lapsed[0], "the same change landed with bead "+first.Bead+", as commit ") {
		t.Errorf("%d questions, %d landings, and lapsed: %q", len(asked), commits, lapsed)
	}
	for bead, e := range ended {
		if e.Status != loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED {
			t.Errorf("%s ended as %s: %s", bead, e.Status, e.Reason)
		}
		if bead != first.Bead && (!strings.Contains(e.Reason, " of bead "+first.Bead+" has the change, and ") || skipped[bead+" approve"] == "" || skipped[bead+" land"] == "") {
			t.Errorf("%s ended with %q, skipped %q", bead, e.Reason, skipped)
		}
	}
	if log := gitIn(t, c.Projects[0].Repository, "log", "--reverse", "--format=%s", "main"); strings.Count(log, "\n") != 1 {
		t.Errorf("main has\n%s", log)
	}
}
