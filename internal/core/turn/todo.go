package turn

import (
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TodoText is a list in lines, each with a mark of how far the item is.
func TodoText(l *loomv1.TodoList) string {
	var b strings.Builder
	for _, item := range l.GetItems() {
		mark := "[ ] "
		switch item.Status {
		case loomv1.TodoStatus_TODO_STATUS_DONE:
			mark = "[x] "
		case loomv1.TodoStatus_TODO_STATUS_IN_PROGRESS:
			mark = "[>] "
		}
		b.WriteString(mark + item.Text + "\n")
	}
	return b.String()
}

// todoOf returns the list as the first so many rounds left it, nil where they set
// none, and where a later round sets another.
func todoOf(all []*round, last int) *loomv1.TodoList {
	for i, r := range slices.Backward(all) {
		for _, s := range slices.Backward(r.steps) {
			if list := s.GetResult().GetTodo(); list != nil {
				if i > last {
					return nil
				}
				return list
			}
		}
	}
	return nil
}
