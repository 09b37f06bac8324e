package turn_test

import (
	"testing"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestAGENT05_ATurnStopsAtWhatItsRoleMayUse asks for no other answer once those
// that were given have used it up.
func TestAGENT05_ATurnStopsAtWhatItsRoleMayUse(t *testing.T) {
	answer := &loomv1.ModelAnswer{
		Model: "scripted:test", Request: "r1", Calls: []*loomv1.ToolCall{{Id: "c1", Tool: "file_read", Arguments: "{}"}},
		Usage: &loomv1.Usage{InputTokens: 90, OutputTokens: 10, CostMicroUsd: 50, CostKnown: true},
	}
	result := &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_OK}
	begun := &loomv1.Turn{Attempt: "a", Model: "scripted:test", Iterations: 1, Steps: []*loomv1.TurnStep{
		{Step: &loomv1.TurnStep_Answer{Answer: answer}},
		{Step: &loomv1.TurnStep_Tool{Tool: &loomv1.ToolStep{Call: answer.Calls[0], Class: loomv1.ToolClass_TOOL_CLASS_READ, Result: result}}},
	}}
	for _, tt := range []struct {
		limits turn.Limits
		stops  bool
	}{
		{turn.Limits{}, false},
		{turn.Limits{Tokens: 101, MicroUSD: 51}, false},
		{turn.Limits{Tokens: 100}, true},
		{turn.Limits{MicroUSD: 50}, true},
		{turn.Limits{Tokens: 1, MicroUSD: 1}, true},
	} {
		stop, stopped := turn.Next(begun, &loomv1.NodeDefinition{}, tt.limits).(turn.Stop)
		if stopped != tt.stops || stopped && stop.Code != "turn/budget" {
			t.Errorf("with %+v: %T %+v, want it to stop: %t", tt.limits, stop, stop, tt.stops)
		}
	}
}
