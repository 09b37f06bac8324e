package execution

import (
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// The steps of who is at work are shown, and steer no terminal; those of attempts
// that have ended are not.
func TestCLI01_AnExecutionShowsItsListsOfSteps(t *testing.T) {
	todo := &loomv1.TodoList{Items: []*loomv1.TodoItem{
		{Text: "see it fail", Status: loomv1.TodoStatus_TODO_STATUS_DONE},
		{Text: "mend \x1b[31mit", Status: loomv1.TodoStatus_TODO_STATUS_IN_PROGRESS},
		{Text: "run all tests", Status: loomv1.TodoStatus_TODO_STATUS_PENDING},
	}}
	x := &loomv1.Execution{Id: "shop-1-x1", Nodes: map[string]*loomv1.NodeState{
		"reproduce": {History: []*loomv1.Attempt{{Role: "qa-engineer", Todo: &loomv1.TodoList{Items: []*loomv1.TodoItem{{Text: "long done"}}}}}},
		"fix":       {Attempt: &loomv1.Attempt{Role: "implementer", Todo: todo}},
	}}
	var b strings.Builder
	executionText(&b, x, &loomv1.Definition{Nodes: []*loomv1.NodeDefinition{{Id: "reproduce"}, {Id: "fix"}}})
	want := "\nimplementer at fix:\n  [x] see it fail\n  [>] mend [31mit\n  [ ] run all tests\n"
	if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "long done") {
		t.Errorf("shown:\n%s\nwant in it:\n%s", b.String(), want)
	}
}
