package chaos

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// fact makes an event of a fact, about one attempt.
func fact(e *loomv1.Event) *loomv1.Event {
	e.Attempt = "a1"
	return e
}

// sound are the events of a small job in which nothing is wrong.
func soundEvents() []*loomv1.Event {
	edge := func(from, to, outcome string) *loomv1.Event {
		return &loomv1.Event{Fact: &loomv1.Event_EdgeSettled{EdgeSettled: &loomv1.EdgeSettled{From: from, To: to, Outcome: outcome, Taken: true}}}
	}
	list := []*loomv1.Event{
		edge("start", "triage", "success"),
		fact(&loomv1.Event{Fact: &loomv1.Event_TurnStarted{TurnStarted: &loomv1.TurnStarted{}}}),
		fact(&loomv1.Event{Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{Answer: &loomv1.ModelAnswer{Request: "r1"}}}}),
		fact(&loomv1.Event{Fact: &loomv1.Event_ToolIntended{ToolIntended: &loomv1.ToolIntended{Tool: &loomv1.ToolStep{Call: &loomv1.ToolCall{Id: "c1"}}}}}),
		fact(&loomv1.Event{Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Call: "c1"}}}),
		fact(&loomv1.Event{Fact: &loomv1.Event_AttemptEnded{AttemptEnded: &loomv1.AttemptEnded{Outcome: &loomv1.Outcome{
			Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Checks: []*loomv1.CheckRun{{Commit: "c", Passed: true}},
		}}}}),
		edge("triage", "investigate", "success"), edge("investigate", "investigate", "continue"), edge("investigate", "approve", "success"),
		edge("approve", "commit", "approved"),
		{Fact: &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{Token: 7}}},
		edge("commit", "verify", "success"), edge("verify", "land", "success"),
		{Fact: &loomv1.Event_Landed{Landed: &loomv1.Landed{Landing: &loomv1.Landing{Commit: "c"}}}},
		edge("land", "end", "success"),
	}
	for i, e := range list {
		e.Number = uint64(i + 1)
	}
	return list
}

// The oracle can fail: each of these would be found.
func TestAuditSeesWhatIsWrong(t *testing.T) {
	if problems := audit(soundEvents()); len(problems) > 0 {
		t.Fatalf("sound events: %q", problems)
	}
	repeat := func(ok func(*loomv1.Event) bool) func([]*loomv1.Event) []*loomv1.Event {
		return func(list []*loomv1.Event) []*loomv1.Event {
			i := slices.IndexFunc(list, ok)
			return slices.Insert(list, i, proto.CloneOf(list[i]))
		}
	}
	for _, tt := range []struct {
		name string
		harm func([]*loomv1.Event) []*loomv1.Event
		want string
	}{
		{"a transition lost", func(l []*loomv1.Event) []*loomv1.Event { return l[:len(l)-1] }, "land end success"},
		{"a transition twice", repeat(func(e *loomv1.Event) bool { return e.GetEdgeSettled() != nil }), "start triage success"},
		{"a model asked twice", repeat(func(e *loomv1.Event) bool { return e.GetModelAnswered() != nil }), "model asked twice for a1 r1"},
		{"a tool finished twice", repeat(func(e *loomv1.Event) bool { return e.GetToolFinished() != nil }), "tool call finished twice: a1 c1"},
		{"an attempt ended twice", repeat(func(e *loomv1.Event) bool { return e.GetAttemptEnded() != nil }), "attempt ended twice: a1"},
		{"a token granted twice", repeat(func(e *loomv1.Event) bool { return e.GetLockGranted() != nil }), "token 7 was granted after 7"},
		{"landed twice", repeat(func(e *loomv1.Event) bool { return e.GetLanded() != nil }), "landed twice"},
		{"landed unverified", func(l []*loomv1.Event) []*loomv1.Event { l[13].GetLanded().Landing.Commit = "d"; return l }, "d landed, and the checks were"},
		{"a gap", func(l []*loomv1.Event) []*loomv1.Event { l[14].Number++; return l }, "event 15 has number 16"},
	} {
		if problems := audit(tt.harm(soundEvents())); !strings.Contains(strings.Join(problems, "\n"), tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, problems, tt.want)
		}
	}
}
