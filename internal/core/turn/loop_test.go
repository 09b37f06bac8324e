package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A trace is a letter a round: the same letter is the same call with the same
// result. A capital's result changes each time; ! is a useless answer, f a
// call of finish that is not taken, _ blanks and order in the arguments.
func trace(t *testing.T, letters string) *loomv1.Turn {
	t.Helper()
	s := begun(t)
	for i, c := range letters {
		r := fmt.Sprint("r", i)
		switch {
		case c == '!':
			record(t, s, problem(r, "useless"))
		case c == 'f':
			record(t, s, round(r, okay, [3]string{turn.FinishName, `{}`, ""})...)
		case c == '_':
			record(t, s, round(r, okay, [3]string{"tool_a", ` { "n" : 1, "m" : [ 2 ] } `, "same"})...)
		case c >= 'A' && c <= 'Z':
			record(t, s, round(r, okay, [3]string{"tool_" + string(c), `{"m":[2],"n":1}`, r})...)
		default:
			record(t, s, round(r, okay, [3]string{"tool_" + string(c), `{"m":[2],"n":1}`, "same"})...)
		}
	}
	return s
}

func TestP15_Loops(t *testing.T) {
	generous := turn.Limits{Iterations: 100, Repairs: 100}
	for _, tt := range []struct{ trace, want string }{
		{"a", "ask"},
		{"aa", "ask"},
		{"aaa", "ask with a nudge"},
		{"aaaa", "ask with a nudge"},
		{"aaaaa", "turn/loop: the same calls had the same results 5 times in a row"},
		{"bcaaaaa", "turn/loop"},
		{"a_a_a", "turn/loop"},
		{"aaaaaa", "turn/loop"},
		{"a!a!a!a!a", "turn/loop"},
		{"aa!a", "ask with a nudge"},
		{"ababab", "turn/loop: the same two rounds of calls took turns 3 times with the same results"},
		{"cbababab", "turn/loop"},
		{"abababa", "turn/loop"},
		{"ab!ab!ab", "turn/loop"},
		{"abab", "ask with a nudge"},
		{"ababa", "ask with a nudge"},

		{"aaaab", "ask"},
		{"aabaabaab", "ask"},
		{"abcabcabc", "ask"},
		{"aaaabaaaab", "ask"},
		{"AAAAAAAAAA", "ask"},
		{"aAaAaAaAaA", "ask"},
		{"ABABABAB", "ask"},
		{"aBaBaBaB", "ask"},
		{"abaabb", "ask"},
		{"abcdefgh", "ask"},
		{"aab", "ask"},
		{"abba", "ask"},
		{"aabb", "ask"},
		{"aaaa!", "repair 1"},
		{"ababa!", "repair 1"},
		{"fff", "repair 3"},
		{"ffffff", "repair 6"},
		{"!!!!!!", "repair 6"},
		{"aaaabaaaa", "ask with a nudge"},
	} {
		if got := show(turn.Next(trace(t, tt.trace), node, generous)); got != tt.want && !(len(tt.want) > 4 && strings.HasPrefix(got, tt.want+":")) {
			t.Errorf("%s: %s, want %s", tt.trace, got, tt.want)
		}
	}
}

// A call of finish that is not taken, because one beside it failed, is a round
// of the other call alone.
func TestP15_FinishNeverCounts(t *testing.T) {
	s := begun(t)
	for i := range 5 {
		if got := show(turn.Next(s, node, turn.Limits{})); strings.HasPrefix(got, "turn/loop") {
			t.Fatalf("after %d rounds: %s", i, got)
		}
		record(t, s, round(fmt.Sprint("r", i), failed, [3]string{"shell", `{}`, "same"}, [3]string{"finish", fmt.Sprintf(`{"summary":"%d"}`, i), ""})...)
	}
	if got := show(turn.Next(s, node, turn.Limits{})); !strings.HasPrefix(got, "turn/loop") {
		t.Errorf("after five failing rounds: %s", got)
	}
}

func TestP15_AnOutcomeThatDiffersIsNoLoop(t *testing.T) {
	for name, vary := range map[string]func(i int, r *loomv1.ToolResult){
		"exit code": func(i int, r *loomv1.ToolResult) { r.ExitCode = int32(i) },
		"output":    func(i int, r *loomv1.ToolResult) { r.Output = blob(fmt.Sprint(i)) },
		"status":    func(i int, r *loomv1.ToolResult) { r.Status = loomv1.ToolStatus(1 + i%3) },
		"summary":   func(i int, r *loomv1.ToolResult) { r.Output, r.Summary = nil, fmt.Sprint(i) },
	} {
		s := begun(t)
		for i := range 6 {
			c, r := call(fmt.Sprint("c", i), "shell", `{}`), result(okay, "same")
			vary(i, r)
			record(t, s, answer(fmt.Sprint("r", i), c), intent(c, running), finish(c.Id, r))
		}
		if got := show(turn.Next(s, node, turn.Limits{})); got != "ask" {
			t.Errorf("%s differs: %s", name, got)
		}
	}
}
