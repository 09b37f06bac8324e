package agent

import "testing"

// A commit whose first line is the goal does not say it again at its end.
func TestREAL02_ACommitSaysItsGoalOnce(t *testing.T) {
	for _, tt := range []struct{ subject, want string }{
		{"Mend the sum", "It was off by one.\n\nBead shop-1 asked for this: Add it up"},
		{"Add it up", "It was off by one.\n\nBead shop-1 asked for this"},
	} {
		if got := bodyOf(tt.subject, "It was off by one.", nil, "shop-1", "Add it up"); got != tt.want {
			t.Errorf("below %q:\n%s\nwant\n%s", tt.subject, got, tt.want)
		}
	}
}
