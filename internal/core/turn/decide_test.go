package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestACT04_WhatMayBeRecorded(t *testing.T) {
	c1, c2, end := call("c1", "file_read", `{}`), call("c2", "shell", `{}`), call("f", "finish", `{}`)
	other := call("c1", "file_read", `{"path":"b"}`)
	asked := recs(answer("r1", c1, c2, end))
	meant := recs(answer("r1", c1, c2, end), intent(c1, reading))
	ended := recs(answer("r1", c1, c2, end), intent(c1, reading), finish("c1", result(okay, "x")))
	for _, tt := range []struct {
		name   string
		before []*loomv1.Event
		rec    *loomv1.Event
		want   string // "new", "known" or a refusal
	}{
		{"a start again", nil, start(), "known"},
		{"a start of another model", nil, turn.StartedFact(&loomv1.TurnStarted{Model: "other"}), "known"},
		{"a start of no model", nil, turn.StartedFact(&loomv1.TurnStarted{}), "start.model: a turn is started with a model's name"},
		{"nothing", nil, &loomv1.Event{}, "facts: it is no fact of a turn"},
		{"a fact of another core", nil, &loomv1.Event{Fact: &loomv1.Event_LockGranted{LockGranted: &loomv1.LockGranted{Token: 7}}}, "facts: it is no fact of a turn"},
		{"no record", nil, nil, "facts: it is no fact of a turn"},

		{"an answer", nil, answer("r1", c1), "new"},
		{"an answer again", asked, answer("r1", c1, c2, end), "known"},
		{"another answer to the same request", asked, answer("r1", c2), "answer.request: request r1 has been answered already, otherwise"},
		{"an answer to nothing", nil, answer(""), "answer.request: an answer names the request it answers"},
		{"an answer while calls go on", meant, answer("r2"), `answer: call "c1" of the answer before has not ended`},
		{"an answer while one is left", ended, answer("r2"), `answer: call "c2" of the answer before has not ended`},
		{"an answer after a useless one", recs(answer("r1", call("c1", "x", `half`))), answer("r2"), "new"},
		{"an answer after a finish", recs(answer("r1", end)), answer("r2"), "new"},
		{"two calls with one id", nil, answer("r1", c1, other), `answer.calls: a call's id is unique in the turn (got "c1")`},
		{"a call without an id", nil, answer("r1", call("", "x", `{}`)), `answer.calls: a call's id is unique in the turn (got "")`},
		{"an id of an earlier answer", recs(answer("r1", end)), answer("r2", end), `answer.calls: a call's id is unique in the turn (got "f")`},
		{"an id of the runtime's", recs(own(c1, running), finish("c1", result(okay, "x"))), answer("r1", c1), `answer.calls: a call's id is unique in the turn (got "c1")`},
		{"too many calls", nil, answer("r1", many(33)...), "answer.calls: 33 calls; at most 32 are taken"},
		{"as many calls as may be", nil, answer("r1", many(32)...), "new"},
		{"too large an answer", nil, answer("r1", call("c1", "x", strings.Repeat("x", 512<<10))), "answer: the answer has 524406 bytes; at most 524288 are recorded"},

		{"an intent", asked, intent(c1, reading), "new"},
		{"an intent out of order", asked, intent(c2, running), "new"},
		{"an intent again", meant, intent(c1, reading), "known"},
		{"an intent again after its end", ended, intent(c1, reading), "known"},
		{"an intent of another class", meant, intent(c1, writing), `intent.call: call "c1" has been intended already, otherwise`},
		{"an intent of other arguments", asked, intent(other, reading), `intent.call: call "c1" is not one that the last answer waits for`},
		{"other arguments, intended", meant, intent(other, reading), `intent.call: call "c1" has been intended already, otherwise`},
		{"an intent of nobody's", asked, intent(call("c9", "x", `{}`), reading), `intent.call: call "c9" is not one that the last answer waits for`},
		{"an intent of finish", asked, intent(end, reading), `intent.call: call "f" is not one that the last answer waits for`},
		{"an intent before an answer", nil, intent(c1, reading), `intent.call: call "c1" is not one that the last answer waits for`},
		{"an intent of a useless answer", recs(answer("r1", c1, call("c3", "x", `half`))), intent(c1, reading), `intent.call: call "c1" is not one that the last answer waits for`},
		{"an intent without an id", asked, intent(call("", "x", `{}`), reading), "intent: an intent has a call with an id and a tool, and no result yet"},
		{"an intent with a result", asked, turn.IntendedFact(&loomv1.ToolStep{Call: c1, Result: result(okay, "x")}), "intent: an intent has a call with an id and a tool, and no result yet"},
		{"the runtime's own", asked, own(call("own", "check", `{}`), running), "new"},
		{"the runtime's own under a model's id", asked, own(c1, running), `intent.call: call "c1" is the model's, not the runtime's`},

		{"a result", meant, finish("c1", result(okay, "x")), "new"},
		{"a result again", ended, finish("c1", result(okay, "x")), "known"},
		{"another result", ended, finish("c1", result(failed, "x")), `finish.result: call "c1" has ended already, otherwise`},
		{"a result without an intent", asked, finish("c1", result(okay, "x")), `finish.call: call "c1" was never intended`},
		{"a result without a status", meant, finish("c1", &loomv1.ToolResult{}), "finish.result: a result has a status"},
		{"no result", meant, finish("c1", nil), "finish.result: a result has a status"},
		{"a long summary", meant, finish("c1", &loomv1.ToolResult{Status: okay, Summary: strings.Repeat("x", 301)}), "finish.result.summary: 301 bytes; at most 300 are recorded"},
		{"many paths", meant, finish("c1", &loomv1.ToolResult{Status: okay, Changed: make([]string, 101)}), "finish.result.changed: 101 paths; at most 100 are recorded"},
	} {
		s := begun(t, tt.before...)
		was := proto.CloneOf(s)
		events, err := turn.Decide(s, recs(tt.rec))
		got := "new"
		switch {
		case err != nil:
			got = err.Error()
		case len(events) == 0:
			got = "known"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if err != nil && fault.Code(err) != "turn/invalid" {
			t.Errorf("%s: code %q", tt.name, fault.Code(err))
		}
		if checked := turn.Check(s, tt.rec); (checked == nil) != (err == nil) {
			t.Errorf("%s: Check says %v, Decide %v", tt.name, checked, err)
		}
		if !proto.Equal(was, s) {
			t.Errorf("%s: Decide changed the turn", tt.name)
		}
	}
	if _, err := turn.Decide(nil, recs(answer("r1"))); err == nil || err.Error() != "facts: the turn has not been started" {
		t.Errorf("an answer before the start: %v", err)
	}
	if _, err := turn.Decide(nil, make([]*loomv1.Event, 65)); err == nil || err.Error() != "facts: 65 facts at once; at most 64 are taken" {
		t.Errorf("65 records: %v", err)
	}
}

func many(n int) []*loomv1.ToolCall {
	var list []*loomv1.ToolCall
	for i := range n {
		list = append(list, call(fmt.Sprint("m", i), "x", `{}`))
	}
	return list
}

// A batch is recorded whole or not at all, and its records see each other.
func TestACT04_Batch(t *testing.T) {
	c := call("c1", "file_read", `{}`)
	batch := recs(start(), answer("r1", c), intent(c, reading), finish("c1", result(okay, "x")), answer("r2"))
	events, err := turn.Decide(&loomv1.Turn{Attempt: "a1"}, batch)
	if err != nil || len(events) != 5 {
		t.Fatalf("%d facts, %v", len(events), err)
	}
	for _, e := range events {
		if e.Attempt != "a1" {
			t.Errorf("%T is of attempt %q", e.Fact, e.Attempt)
		}
	}
	if got := events[3].GetToolFinished(); got.Tool != "file_read" {
		t.Errorf("the end of the call says %v", got)
	}
	if events, err := turn.Decide(nil, append(batch, finish("c9", result(okay, "x")))); err == nil || events != nil {
		t.Errorf("a batch with a bad end: %d facts, %v", len(events), err)
	}
}

func TestACT04_ApplyRefuses(t *testing.T) {
	s := begun(t, answer("r1", call("c1", "file_read", `{}`)), intent(call("c1", "file_read", `{}`), reading))
	was := proto.CloneOf(s)
	for name, e := range map[string]*loomv1.Event{
		"nothing":              nil,
		"no fact":              {},
		"another's fact":       {Fact: &loomv1.Event_Landed{}},
		"another attempt's":    {Attempt: "x", Fact: &loomv1.Event_TurnStarted{}},
		"no answer":            {Fact: &loomv1.Event_ModelAnswered{}},
		"a second answer":      {Fact: &loomv1.Event_ModelAnswered{ModelAnswered: &loomv1.ModelAnswered{Answer: &loomv1.ModelAnswer{Request: "r1"}}}},
		"no intent":            {Fact: &loomv1.Event_ToolIntended{}},
		"a contradiction":      {Fact: &loomv1.Event_ToolIntended{ToolIntended: &loomv1.ToolIntended{Tool: &loomv1.ToolStep{Call: call("c1", "shell", `{}`)}}}},
		"an end of nothing":    {Fact: &loomv1.Event_ToolFinished{}},
		"an end of nobody's":   {Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Call: "c9", Result: result(okay, "x")}}},
		"an end with no value": {Fact: &loomv1.Event_ToolFinished{ToolFinished: &loomv1.ToolFinished{Call: "c1"}}},
	} {
		if err := turn.Apply(s, e); err == nil {
			t.Errorf("%s was applied", name)
		}
		if !proto.Equal(was, s) {
			t.Fatalf("%s changed the turn", name)
		}
	}
}

// Apply changes no event, and no step that a copy of the steps shares.
func TestACT04_ApplySharesSafely(t *testing.T) {
	c := call("c1", "file_read", `{}`)
	s := begun(t, answer("r1", c))
	events, err := turn.Decide(s, recs(intent(c, reading), finish("c1", result(okay, "x"))))
	if err != nil {
		t.Fatal(err)
	}
	was := proto.CloneOf(events[0])
	if err := turn.Apply(s, events[0]); err != nil {
		t.Fatal(err)
	}
	step := s.Steps[1]
	if err := turn.Apply(s, events[1]); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(was, events[0]) || step.GetTool().Result != nil {
		t.Error("the end of a call changed its intent")
	}
	if s.Steps[1].GetTool().Result == nil {
		t.Error("the end of the call is not there")
	}
}
