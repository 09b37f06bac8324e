package bead

import (
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestBYD05_WaitSaysThatABudgetStopsIt(t *testing.T) {
	for _, tt := range []struct {
		asked *loomv1.Approval
		want  string
	}{
		{nil, ""},
		{&loomv1.Approval{Id: "shop-2", Reason: "deadline/passed: it was to be done by noon"}, ""},
		{
			&loomv1.Approval{Id: "shop-2", Reason: "budget/exhausted: 10 tokens are used, of 1000, and the next call can use 4000"},
			"the budget of shop-1 is used up: 10 tokens are used, of 1000, and the next call can use 4000\n" +
				"go on with \"loom approve shop-2\", end it with \"loom reject shop-2\"\n",
		},
	} {
		if got := stopped("shop-1", tt.asked); got != tt.want {
			t.Errorf("stopped(%v) = %q, want %q", tt.asked, got, tt.want)
		}
	}
}

func TestCLI01_WaitSaysHowToAnswer(t *testing.T) {
	const want = "shop-1 waits for you: \"loom inbox -i\" shows it and asks, or \"loom inbox shop-2\" and \"loom approve shop-2\"\n"
	if got := waits("shop-1", &loomv1.Approval{Id: "shop-2"}); got != want {
		t.Errorf("waits = %q, want %q", got, want)
	}
	if got := waits("shop-1", nil); got != "" {
		t.Errorf("where nothing was asked: %q", got)
	}
}
