package turn_test

import (
	"fmt"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// A turn, step by step. Another host that reads the same log says the same.
func ExampleNext() {
	node := &loomv1.NodeDefinition{Id: "work"}
	test := &loomv1.ToolCall{Id: "c1", Tool: "shell", Arguments: `{"command":"go test ./..."}`}
	end := &loomv1.ToolCall{Id: "c2", Tool: turn.FinishName, Arguments: `{"status":"success","summary":"all tests pass"}`}
	t := &loomv1.Turn{Attempt: "b-1-x1-a1"}
	for _, r := range []*loomv1.Event{
		start(),
		answer("request 1", test),
		intent(test, loomv1.ToolClass_TOOL_CLASS_EXEC), // a host that dies now leaves this behind
		finish("c1", result(loomv1.ToolStatus_TOOL_STATUS_OK, "ok")),
		answer("request 2", end),
	} {
		events, err := turn.Decide(t, []*loomv1.Event{r})
		if err != nil {
			fmt.Println(err)
		}
		for _, e := range events {
			if err := turn.Apply(t, e); err != nil {
				fmt.Println(err)
			}
		}
		switch s := turn.Next(t, node, turn.Limits{}).(type) {
		case turn.AskModel:
			fmt.Println("ask the model")
		case turn.RunTools:
			fmt.Println("run", s.Calls[0].Tool, "- reported as unknown:", s.Calls[0].Do == turn.Report)
		case turn.Finish:
			fmt.Println("finish:", s.Outcome.Summary)
		}
	}
	// Output:
	// ask the model
	// run shell - reported as unknown: false
	// run shell - reported as unknown: true
	// ask the model
	// finish: all tests pass
}
