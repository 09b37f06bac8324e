package host_test

import (
	"context"
	"testing"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestP25_WordsOfIdsDoNoHarm has a host whose environment holds, as if they were
// secrets, words of which ids are made: of a project's beads, of attempts, of
// roles. Its work lands, with a signature.
func TestP25_WordsOfIdsDoNoHarm(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	c := config(t, scripted.New("team", (&mender{}).answer))
	c.Secrets = []string{"SHOP_PASSWORD=shop-1-x1", "TEAM_TOKEN=backend-engineer", "BOSS_TOKEN=engineering-manager"}
	h := start(t, c)
	o := newOwner(t, c, h)
	filed, err := connect(t, h, "anonymous").Report(ctx, report())
	if err != nil {
		t.Fatal(err)
	}
	followUntil(ctx, t, o.inbox, "the end", func(e *loomv1.Event) bool {
		if a := e.GetApprovalRequested().GetApproval(); a != nil {
			if err := o.decide(ctx, a, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE, "go on"); err != nil {
				t.Error(err)
			}
		}
		return e.Bead == filed.Bead && e.GetExecutionEnded() != nil
	})
	if got := gitIn(t, c.Projects[0].Repository, "show", "main:a.txt"); got != "mended" {
		t.Errorf("main has %q", got)
	}
}
