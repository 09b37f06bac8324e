package project_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What an agent has set out to do is shown where its attempt is, also after another
// host took it over, and stays with the attempt when that has ended.
func TestAGENT01_TheListOfStepsIsShownWithItsAttempt(t *testing.T) {
	d := newDesk(t)
	x := d.report().Execution
	b, who := d.claim("qa-engineer")
	call := &loomv1.ToolCall{Id: "c1-1", Tool: "todo", Arguments: "{}"}
	list := &loomv1.TodoList{Items: []*loomv1.TodoItem{{Text: "see it fail", Status: loomv1.TodoStatus_TODO_STATUS_IN_PROGRESS}}}
	d.calls(b, who, call)
	d.ok(recordOf(b, who, intent(call)))
	d.ok(recordOf(b, who, turn.FinishedFact(call.Id, &loomv1.ToolResult{Status: loomv1.ToolStatus_TOOL_STATUS_OK, Todo: list})))
	shown := func() *loomv1.NodeState {
		t.Helper()
		v, err := d.s.Look(project.Executions, &loomv1.Query{Id: x})
		if err != nil {
			t.Fatal(err)
		}
		return v.Executions[0].Nodes[b.Attempt.Node]
	}
	if got := shown().Attempt.Todo; !proto.Equal(got, list) {
		t.Errorf("at work the list is %v", got)
	}
	d.ok(&loomv1.Command{Body: &loomv1.Command_ReleaseAttempt{ReleaseAttempt: &loomv1.ReleaseAttempt{Attempt: b.Attempt.Id, Claimant: who, Reason: "the host stops"}}})
	if got := shown().Attempt.Todo; !proto.Equal(got, list) {
		t.Errorf("queued anew, the list is %v", got)
	}
	next := d.work("qa-engineer", &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE, Summary: "not yet"})
	if next.Turn == nil || !proto.Equal(shown().History[0].Todo, list) {
		t.Errorf("ended, the attempt has the list %v", shown().History[0].Todo)
	}
}
