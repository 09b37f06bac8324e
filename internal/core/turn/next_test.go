package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestAGENT01_Next(t *testing.T) {
	read, edit, sh := call("c1", "file_read", `{"path":"a"}`), call("c2", "file_edit", `{"path":"a"}`), call("c3", "shell", `{"command":"x"}`)
	end := func(id string) *loomv1.ToolCall { return call(id, "finish", success) }
	for _, tt := range []struct {
		name string
		recs []*loomv1.Event
		want string
	}{
		{"started", nil, "ask"},
		{"answered", recs(answer("r1", read, edit, sh)), "run c1:run c2:run c3:run"},
		{"cut off in all three", recs(answer("r1", read, edit, sh), intent(read, reading), intent(edit, writing), intent(sh, running)), "run c1:run! c2:reconcile! c3:report!"},
		{"cut off in one", recs(answer("r1", read, edit), intent(read, reading), finish("c1", result(okay, "x")), intent(edit, writing)), "run c2:reconcile!"},
		{"a class that nobody set", recs(answer("r1", read), intent(read, 0)), "run c1:report!"},
		{"all ended", recs(answer("r1", read), intent(read, reading), finish("c1", result(okay, "x"))), "ask"},
		{"a failed call", recs(answer("r1", read), intent(read, reading), finish("c1", result(failed, "x"))), "ask"},
		{"finished", recs(answer("r1", end("f"))), "finish OUTCOME_STATUS_SUCCESS: done"},
		{"finish beside a call", recs(answer("r1", read, end("f"))), "run c1:run"},
		{"finish beside a call that succeeded", recs(answer("r1", end("f"), read), intent(read, reading), finish("c1", result(okay, "x"))), "finish OUTCOME_STATUS_SUCCESS: done"},
		{"finish beside a call that failed", recs(answer("r1", read, end("f")), intent(read, reading), finish("c1", result(failed, "x"))), "ask"},
		{"finished twice", recs(answer("r1", end("f"), end("g"))), "repair 1: you called finish more than once; no call of that answer was run"},
		{"no call", recs(answer("r1")), "repair 1: your answer calls no tool; go on with a tool, or end your turn by calling finish"},
		{"a problem", recs(problem("r1", "the answer is empty")), "repair 1: the answer is empty"},
		{"two problems", recs(problem("r1", "a"), answer("r2")), "repair 2: your answer calls no tool; go on with a tool, or end your turn by calling finish"},
		{"three problems", recs(problem("r1", "a"), problem("r2", "b"), problem("r3", "c")), "model/invalid-output: the model gave 3 useless answers in a row, the last because: c"},
		{"mended between", recs(problem("r1", "a"), problem("r2", "b"), answer("r3", read), intent(read, reading), finish("c1", result(okay, "x")), problem("r4", "d")), "repair 1: d"},
		{"half an answer is not run", recs(answer("r1", read, call("c9", "shell", `{"command":`))), `repair 1: the arguments of your call of "shell" are not one JSON object; no call of that answer was run`},
		{"arguments that are null", recs(answer("r1", call("c9", "shell", `null`))), `repair 1: the arguments of your call of "shell" are not one JSON object; no call of that answer was run`},
		{
			"a bad outcome", recs(answer("r1", call("f", "finish", `{"status":"success","summary":"x"}`))),
			"repair 1: your call of finish was not taken; mend this and call it again:\n- fields.count: a success gives it; a value that is of type int\n" +
				"- fields.ratio: a success gives it; a value that is of type double\n- fields.severity: a success gives it; a value that is of type string\n- fields.sure: a success gives it; a value that is of type bool",
		},
		{
			"a bad outcome three times", recs(answer("r1", call("f", "finish", `{}`)), answer("r2", call("g", "finish", `{}`)), answer("r3", call("h", "finish", `{}`))),
			"model/invalid-output: the model gave 3 useless answers in a row, the last because: your call of finish was not taken; mend this and call it again: status: it is missing; one of success, failure, continue",
		},
		{"the runtime's own call", recs(own(call("own", "check", "{}"), running)), "run own:report!"},
		{"REAL04 a gate that passed", recs(answer("r1", end("f")), own(call("gate", "shell", "{}"), running), finish("gate", result(okay, "x"))), "finish OUTCOME_STATUS_SUCCESS: done"},
		{"REAL04 a gate that failed", recs(answer("r1", end("f")), own(call("gate", "shell", "{}"), running), finish("gate", result(failed, "x"))), "ask"},
		{"REAL04 a gate that exited with 1", recs(answer("r1", end("f")), own(call("gate", "shell", "{}"), running), finish("gate", exited(1))), "ask"},
		{"REAL04 a gate that was cut off", recs(answer("r1", end("f")), own(call("gate", "shell", "{}"), running)), "finish OUTCOME_STATUS_SUCCESS: done"},
		{"REAL04 refused and mended", recs(append(refusals(1), answer("r2", end("g")))...), "finish OUTCOME_STATUS_SUCCESS: done"},
		{"REAL04 refused as often as it may be", refusals(turn.Refusals), "ask"},
		{"REAL04 refused once more", refusals(turn.Refusals + 1), "verify/failed: the outcome was refused 6 times, the last because: exit code 1"},
		{"REAL04 refused by a gate that says why", append(refusals(turn.Refusals), answer("r9", call("f9", "finish", success)), own(call("g9", "examine_change", "{}"), running), finish("g9", refusedBy("patch/secret"))), "patch/secret: the outcome was refused 6 times, the last because: exit code 1"},
		{"the runtime's own, ended", recs(own(call("own", "check", "{}"), running), finish("own", result(okay, "x"))), "ask"},
	} {
		if got := show(turn.Next(begun(t, tt.recs...), node, turn.Limits{})); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	if got := show(turn.Next(nil, node, turn.Limits{})); got != "begin" {
		t.Errorf("no turn: %s", got)
	}
}

// refusals is n outcomes, each of which a gate refused.
func refusals(n int) (list []*loomv1.Event) {
	for i := range n {
		f, gate := fmt.Sprint("f", i), fmt.Sprint("gate", i)
		list = append(list, answer(fmt.Sprint("a", i), call(f, "finish", success)), own(call(gate, "shell", "{}"), running), finish(gate, exited(1)))
	}
	return list
}

func refusedBy(code string) *loomv1.ToolResult {
	r := exited(1)
	r.Code = code
	return r
}

func exited(code int32) *loomv1.ToolResult {
	r := result(okay, "exit code 1")
	r.ExitCode = code
	return r
}

func recs(list ...*loomv1.Event) []*loomv1.Event { return list }

func TestAGENT01_Iterations(t *testing.T) {
	for _, tt := range []struct {
		limits turn.Limits
		rounds int
		want   string
	}{
		{turn.Limits{}, 24, "ask"},
		{turn.Limits{}, 25, "turn/iterations: the model gave 25 answers without finishing, as many as it may"},
		{turn.Limits{Iterations: 1}, 1, "turn/iterations: the model gave 1 answer without finishing, as many as it may"},
		{turn.Limits{Iterations: 2}, 1, "ask"},
	} {
		s := begun(t)
		for i := range tt.rounds {
			record(t, s, round(fmt.Sprint("r", i), okay, [3]string{"file_read", fmt.Sprintf(`{"offset":%d}`, i), "x"})...)
		}
		if got := show(turn.Next(s, node, tt.limits)); got != tt.want {
			t.Errorf("%v after %d rounds: %s, want %s", tt.limits, tt.rounds, got, tt.want)
		}
	}
	// The last answer may still end the turn, and a useless one is the last.
	s := begun(t, answer("r1", call("f", "finish", success)))
	if got := show(turn.Next(s, node, turn.Limits{Iterations: 1})); !strings.HasPrefix(got, "finish") {
		t.Errorf("a last answer that finishes: %s", got)
	}
	if got := show(turn.Next(begun(t, problem("r1", "x")), node, turn.Limits{Iterations: 1})); !strings.HasPrefix(got, "turn/iterations") {
		t.Errorf("a last answer that is useless: %s", got)
	}
	if got := show(turn.Next(begun(t, problem("r1", "x")), node, turn.Limits{Repairs: -1})); !strings.HasPrefix(got, "model/invalid-output") {
		t.Errorf("a useless answer where none is repaired: %s", got)
	}
}

func TestF17_StopIsAFailure(t *testing.T) {
	s := begun(t, problem("r1", "a"), problem("r2", "b"), problem("r3", "c"))
	stop, ok := turn.Next(s, node, turn.Limits{}).(turn.Stop)
	if !ok {
		t.Fatal("the turn goes on")
	}
	out := stop.Outcome()
	if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE || out.Code != "model/invalid-output" || out.Summary == "" {
		t.Errorf("the outcome is %v", out)
	}
}

func TestAGENT01_Batches(t *testing.T) {
	class := func(name string) loomv1.ToolClass {
		return map[string]loomv1.ToolClass{"r": reading, "w": writing, "x": running}[name]
	}
	for tools, want := range map[string]string{"": "", "r": "r", "rr": "rr", "rrwrrxxr?r": "rr|w|rr|x|x|r|?|r", "w": "w"} {
		var calls []turn.Call
		for _, c := range tools {
			calls = append(calls, turn.Call{ToolCall: call("", string(c), "")})
		}
		var got []string
		for _, b := range turn.Batches(calls, class) {
			group := ""
			for _, c := range b {
				group += c.Tool
			}
			got = append(got, group)
		}
		if g := strings.Join(got, "|"); g != want {
			t.Errorf("Batches(%s): %s, want %s", tools, g, want)
		}
	}
}

func TestACT04_Unknown(t *testing.T) {
	sh := call("c1", "shell", `{"command":"make"}`)
	s := begun(t, answer("r1", sh), intent(sh, running), finish("c1", turn.Unknown()))
	if got := show(turn.Next(s, node, turn.Limits{})); got != "ask" {
		t.Errorf("after an unknown outcome: %s, want ask", got)
	}
	list := turn.Transcript(s, node, turn.Limits{})
	last := list[len(list)-1]
	if !last.Failed || !strings.Contains(last.Text, "not known whether this ran") {
		t.Errorf("the model is told %+v", last)
	}
}
