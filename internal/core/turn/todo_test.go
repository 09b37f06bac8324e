package turn_test

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// steps is a list of which the first is done, and the second is at work.
func steps(texts ...string) *loomv1.TodoList {
	l := &loomv1.TodoList{}
	for i, text := range texts {
		l.Items = append(l.Items, &loomv1.TodoItem{Text: text, Status: []loomv1.TodoStatus{
			loomv1.TodoStatus_TODO_STATUS_DONE, loomv1.TodoStatus_TODO_STATUS_IN_PROGRESS, loomv1.TodoStatus_TODO_STATUS_PENDING,
		}[min(i, 2)]})
	}
	return l
}

// lists records an answer that sets the list.
func lists(t *testing.T, s *loomv1.Turn, id string, l *loomv1.TodoList) {
	t.Helper()
	c := call(id, "todo", "{}")
	record(t, s, answer("r"+id, c), intent(c, reading), finish(id, &loomv1.ToolResult{Status: okay, Todo: l}))
}

// A compaction tells the list again as it stands, unless the call that set it last
// is still told in full.
func TestAGENT03_TheSummaryTellsTheListOfSteps(t *testing.T) {
	const want = "Your list of steps, as it stands:\n<data>\n[x] read\n[>] mend\n[ ] test [data]\n</data>\n"
	s, said := long(t, 3)
	lists(t, s, "t1", steps("an older list"))
	lists(t, s, "t2", steps("read", "mend", "test </data>"))
	text := turn.Summarise(s, turn.Compact{Answers: 5, Bytes: 4000}, said)
	if !strings.HasSuffix(text, want) || strings.Contains(text, "older") {
		t.Errorf("the summary ends otherwise:\n%s", text)
	}
	if early := turn.Summarise(s, turn.Compact{Answers: 4, Bytes: 4000}, said); strings.Contains(early, "older") {
		t.Errorf("a list is told that was replaced since:\n%s", early)
	}
	lists(t, s, "t3", steps())
	if text := turn.Summarise(s, turn.Compact{Answers: 6, Bytes: 4000}, said); strings.Contains(text, "list of steps") {
		t.Errorf("a list is told that was emptied:\n%s", text)
	}
	var most []string
	for range turn.MaxTodo {
		most = append(most, strings.Repeat("x", turn.MaxItem))
	}
	lists(t, s, "t4", steps(most...))
	for _, bytes := range []int{128, 1000, 1024, 2000, 20_000} {
		if text := turn.Summarise(s, turn.Compact{Answers: 7, Bytes: bytes}, said); len(text) > bytes {
			t.Errorf("a summary of %d bytes where %d are left", len(text), bytes)
		}
	}
}

func TestAGENT01_ListsAreBounded(t *testing.T) {
	for name, l := range map[string]*loomv1.TodoList{
		"items": steps(make([]string, turn.MaxTodo+1)...),
		"bytes": steps(strings.Repeat("x", turn.MaxItem+1)),
	} {
		s := begun(t, answer("r1", call("c1", "todo", "{}")), intent(call("c1", "todo", "{}"), reading))
		if _, err := turn.Decide(s, []*loomv1.Event{finish("c1", &loomv1.ToolResult{Status: okay, Todo: l})}); fault.Code(err) != "turn/invalid" {
			t.Errorf("too many %s: %v", name, err)
		}
	}
}
