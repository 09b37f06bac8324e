package turn_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

const (
	okay    = loomv1.ToolStatus_TOOL_STATUS_OK
	failed  = loomv1.ToolStatus_TOOL_STATUS_ERROR
	reading = loomv1.ToolClass_TOOL_CLASS_READ
	writing = loomv1.ToolClass_TOOL_CLASS_WRITE
	running = loomv1.ToolClass_TOOL_CLASS_EXEC
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// node is the one at which the tests' turns are taken.
var node = &loomv1.NodeDefinition{
	Id: "triage", MultiDispatch: true,
	Outcome: map[string]string{"severity": "string", "count": "int", "ratio": "double", "sure": "bool"},
}

const success = `{"status":"success","summary":"done","fields":{"severity":"high","count":2,"ratio":0.5,"sure":true}}`

func call(id, tool, arguments string) *loomv1.ToolCall {
	return &loomv1.ToolCall{Id: id, Tool: tool, Arguments: arguments}
}

func blob(text string) *loomv1.BlobRef {
	return &loomv1.BlobRef{Sha256: fmt.Sprintf("%064x", text), Size: uint64(len(text)), MediaType: "text/plain"}
}

func result(status loomv1.ToolStatus, output string) *loomv1.ToolResult {
	return &loomv1.ToolResult{Status: status, Summary: output, Output: blob(output)}
}

func start() *loomv1.Event {
	return turn.StartedFact(&loomv1.TurnStarted{Model: "scripted:test", Prompt: blob("prompt")})
}

func answer(request string, calls ...*loomv1.ToolCall) *loomv1.Event {
	return turn.AnsweredFact(&loomv1.ModelAnswer{
		Model: "scripted:test", Scripted: true, Request: request, Text: blob("text of " + request), Calls: calls,
	})
}

func problem(request, why string) *loomv1.Event {
	return turn.AnsweredFact(&loomv1.ModelAnswer{Request: request, Problem: why})
}

func intent(c *loomv1.ToolCall, class loomv1.ToolClass) *loomv1.Event {
	return turn.IntendedFact(&loomv1.ToolStep{Call: c, Class: class})
}

func own(c *loomv1.ToolCall, class loomv1.ToolClass) *loomv1.Event {
	return turn.IntendedFact(&loomv1.ToolStep{Call: c, Class: class, Runtime: true})
}

func finish(id string, r *loomv1.ToolResult) *loomv1.Event {
	return turn.FinishedFact(id, r)
}

// record decides and applies, and returns how many facts there were.
func record(t testing.TB, s *loomv1.Turn, recs ...*loomv1.Event) int {
	t.Helper()
	events, err := turn.Decide(s, recs)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		e.Time = timestamppb.New(noon.Add(time.Duration(i) * time.Second))
		if err := turn.Apply(s, e); err != nil {
			t.Fatalf("Apply of what Decide gave: %v", err)
		}
	}
	return len(events)
}

func begun(t testing.TB, recs ...*loomv1.Event) *loomv1.Turn {
	t.Helper()
	s := &loomv1.Turn{Attempt: "b-1-x1-a1"}
	record(t, s, start())
	for _, r := range recs {
		record(t, s, r)
	}
	return s
}

// round is an answer of calls that all end with the given outputs, one a call.
func round(request string, status loomv1.ToolStatus, calls ...[3]string) []*loomv1.Event {
	var made []*loomv1.ToolCall
	var after []*loomv1.Event
	for i, c := range calls {
		tc := call(fmt.Sprintf("%s-%d", request, i), c[0], c[1])
		made = append(made, tc)
		if c[0] != turn.FinishName {
			after = append(after, intent(tc, reading), finish(tc.Id, result(status, c[2])))
		}
	}
	return append([]*loomv1.Event{answer(request, made...)}, after...)
}

// show is a step in one line.
func show(s turn.Step) string {
	switch s := s.(type) {
	case turn.Begin:
		return "begin"
	case turn.AskModel:
		if s.Nudge != "" {
			return "ask with a nudge"
		}
		return "ask"
	case turn.RunTools:
		text := "run"
		for _, c := range s.Calls {
			text += fmt.Sprintf(" %s:%s", c.Id, [...]string{"run", "reconcile", "report"}[c.Do])
			if c.Intended {
				text += "!"
			}
		}
		return text
	case turn.Repair:
		return fmt.Sprintf("repair %d: %s", s.Count, s.Problem)
	case turn.Finish:
		return fmt.Sprintf("finish %s: %s", s.Outcome.Status, s.Outcome.Summary)
	case turn.Stop:
		return s.Code + ": " + s.Reason
	}
	return fmt.Sprintf("%T", s)
}
