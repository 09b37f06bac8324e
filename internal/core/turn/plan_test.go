package turn_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const plan = `{"summary":"two files","changes":[{"path":"a.go","action":"edit","what":"rename f to g"}],"checks":["go test ./..."]}`

func planned(t testing.TB) *loomv1.Turn {
	s := &loomv1.Turn{}
	first := start()
	first.GetTurnStarted().Architect = "strong"
	record(t, s, first)
	return s
}

// The architect reads and plans; then the editor begins with the plan alone.
func TestAGENT06_ThePlanStandsForTheArchitectsWork(t *testing.T) {
	s := planned(t)
	if turn.Part(s) != turn.Architect {
		t.Errorf("the first answer is that of %q", turn.Part(s))
	}
	for _, r := range round("r1", okay, [3]string{"file_read", "{}", "what it read"}) {
		record(t, s, r)
	}
	record(t, s, answer("r2", call("p", turn.PlanName, plan)))
	if turn.Part(s) != turn.Editor || turn.Planning(s) {
		t.Errorf("after the plan the answer is that of %q", turn.Part(s))
	}
	if step := show(turn.Next(s, node, turn.Limits{})); step != "ask" {
		t.Errorf("after the plan: %s", step)
	}
	list := turn.Transcript(s, node, turn.Limits{})
	if len(list) != 2 || !strings.Contains(list[1].Text, "1. edit a.go: rename f to g\ncheck: go test ./...") {
		t.Errorf("the editor reads %v", list)
	}
	for _, r := range round("r3", okay, [3]string{turn.PlanName, "{}", "no such tool"}) {
		record(t, s, r) // by now a name like any other
	}
	if list = turn.Transcript(s, node, turn.Limits{}); len(list) != 4 {
		t.Errorf("the editor reads %v", list)
	}
	record(t, s, answer("r4", call("f", turn.FinishName, success)))
	if step := show(turn.Next(s, node, turn.Limits{})); !strings.HasPrefix(step, "finish") {
		t.Errorf("after finish: %s", step)
	}
	if turn.Part(begun(t)) != "" {
		t.Error("a turn without an architect has parts")
	}
}

func TestAGENT07_APlanOfNoUseIsMendedTwice(t *testing.T) {
	s := planned(t)
	for i, id := range []string{"r1", "r2", "r3"} {
		record(t, s, answer(id, call(id, turn.PlanName, `{"summary":"","changes":[]}`)))
		step := show(turn.Next(s, node, turn.Limits{}))
		if want := map[bool]string{true: "repair", false: "model/invalid-output"}[i < 2]; !strings.HasPrefix(step, want) {
			t.Errorf("after %d: %s, want %s", i+1, step, want)
		}
	}
}

// An architect may find that it cannot be done, and needs no editor for that.
func TestAGENT06_AnArchitectMayGiveUp(t *testing.T) {
	s := planned(t)
	record(t, s, answer("r1", call("f", turn.FinishName, `{"status":"failure","summary":"it cannot be done"}`)))
	if step := show(turn.Next(s, node, turn.Limits{})); !strings.HasPrefix(step, "finish") {
		t.Errorf("after giving up: %s", step)
	}
	both := planned(t)
	record(t, both, answer("r1", call("f", turn.FinishName, success), call("p", turn.PlanName, plan)))
	if step := show(turn.Next(both, node, turn.Limits{})); !strings.HasPrefix(step, "repair") {
		t.Errorf("a plan and an end at once: %s", step)
	}
	beside := planned(t)
	for _, r := range round("r1", failed, [3]string{"file_read", "{}", "no such file"}) {
		if a := r.GetModelAnswered().GetAnswer(); a != nil {
			a.Calls = append(a.Calls, call("p", turn.PlanName, plan))
		}
		record(t, beside, r)
	}
	if step := show(turn.Next(beside, node, turn.Limits{})); step != "ask" || !turn.Planning(proto.CloneOf(beside)) {
		t.Errorf("a plan beside a call that failed: %s", step)
	}
}

func TestAGENT06_ParsePlan(t *testing.T) {
	for _, tt := range []struct{ args, wrong string }{
		{plan, ""},
		{`{"summary":"s","changes":[{"path":"a","action":"edit","what":"w"}]}`, ""},
		{`[]`, "no plan"},
		{`{"summary":"s","changes":[{"path":"a","action":"edit","what":"w"}]} {}`, "follows"},
		{`{"summary":"s","changes":[{"path":"a","action":"edit","what":"w"}],"more":1}`, "more"},
		{`{"summary":"s","changes":[]}`, "1 to 50"},
		{`{"summary":"s","changes":[{"path":"../a","action":"edit","what":"w"}]}`, "out of the workspace"},
		{`{"summary":"s","changes":[{"path":"/a","action":"edit","what":"w"}]}`, "out of the workspace"},
		{`{"summary":"s","changes":[{"path":"a","action":"edt","what":"w"}]}`, `"edit"`},
		{`{"summary":"s","changes":[{"path":"a","action":"edit","what":" "}]}`, "what"},
		{`{"summary":"s","changes":[{"path":"a","action":"edit","what":"w"}],"checks":[""]}`, "checks[0]"},
		{`{"summary":"` + strings.Repeat("a", 4097) + `","changes":[{"path":"a","action":"edit","what":"w"}]}`, "4097 bytes"},
	} {
		_, err := turn.ParsePlan(tt.args)
		if (err == nil) != (tt.wrong == "") || err != nil && (!strings.Contains(err.Error(), tt.wrong) || fault.Code(err) != "outcome/invalid") {
			t.Errorf("ParsePlan(%.90s): %v, want %q", tt.args, err, tt.wrong)
		}
	}
}
