package tool

import (
	"context"
	"fmt"
	"strings"

	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// todo keeps nothing: the list is in the results of its calls, and so is in the
// journal, goes on with the turn and is replayed with it.
var todo = &tool{
	Spec: Spec{
		Name:        "todo",
		Class:       reads,
		Description: "Keep the list of your steps in longer work; people see it. Each call replaces the whole list.",
		Schema: schema(`"items"`, fmt.Sprintf(`
			"items": {"type": "array", "maxItems": %d, "items": {
				"type": "object", "additionalProperties": false, "required": ["text", "status"], "properties": {
					"text": {"type": "string", "minLength": 1},
					"status": {"enum": ["pending", "in_progress", "done"]}}}}`, turn.MaxTodo)),
	},
	run: with(keepTodo),
}

type todoArguments struct {
	Items []struct {
		Text   string `json:"text"`
		Status string `json:"status"`
	} `json:"items"`
}

func keepTodo(_ context.Context, _ job, a todoArguments) (Result, error) {
	list, finished, now := &loomv1.TodoList{}, 0, ""
	for i, item := range a.Items {
		text := strings.Join(strings.Fields(plain(item.Text)), " ")
		if text == "" || len(text) > turn.MaxItem {
			return Result{}, unfit(fmt.Sprintf("/items/%d/text", i), "it has %d bytes", len(text)).Want("1 to %d, on one line", turn.MaxItem)
		}
		status := loomv1.TodoStatus(loomv1.TodoStatus_value["TODO_STATUS_"+strings.ToUpper(item.Status)])
		switch status {
		case loomv1.TodoStatus_TODO_STATUS_DONE:
			finished++
		case loomv1.TodoStatus_TODO_STATUS_IN_PROGRESS:
			now = ", now " + text
		}
		list.Items = append(list.Items, &loomv1.TodoItem{Text: text, Status: status})
	}
	r := done(fmt.Sprintf("%d of %d done\n", finished, len(a.Items)), "%d of %d done%s", finished, len(a.Items), now)
	r.Todo = list
	return r, nil
}
