package bead

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A request that was sent again because a host kept silent files what is new; only who
// names a key may have filed it before.
func TestSUB02_ARequestThatIsSentAgainIsNew(t *testing.T) {
	for key, want := range map[string]bool{"": false, "nightly": true} {
		if got := fresh(&loomv1.Submission{IdempotencyKey: key}, &loomv1.SubmitReply{Bead: "shop-1", Duplicate: true}).Duplicate; got != want {
			t.Errorf("with key %q it was filed before: %t, want %t", key, got, want)
		}
	}
}

// A bound of nothing is refused also where a bead is changed.
func TestSUB02_NoBeadGetsABoundOfNothing(t *testing.T) {
	for _, flag := range []string{"--budget-usd=0", "--budget-tokens=0", "--budget-time=0s"} {
		e, cmd := &beadEdit{}, &cobra.Command{}
		e.budget.add(cmd)
		if err := cmd.ParseFlags([]string{flag}); err != nil {
			t.Fatal(err)
		}
		_, err := e.spend(cmd, &loomv1.UpdateBead{Bead: &loomv1.Bead{Id: "shop-1"}})
		if fault.Code(err) != "submit/negative-budget" {
			t.Errorf("%s: %v, want submit/negative-budget", flag, err)
		}
	}
}

// The draft of a session's bead is gone on with in the session: to reopen it is refused.
func TestPAT04_TheDraftOfASessionIsGoneOnWithThere(t *testing.T) {
	for session, want := range map[string]string{"": "loom bead reopen shop-1 --resume", "s3": "loom pattern resume s3"} {
		if got := goOnWith(&loomv1.Bead{Id: "shop-1", Session: session}); got != want {
			t.Errorf("of session %q: %q, want %q", session, got, want)
		}
	}
}
