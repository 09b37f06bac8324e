//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

var goal = regexp.MustCompile(`Write (new/[0-9-]+\.txt)( and more\.bin)?`)

// answer is what agents say: who looks searches for a symbol and reads the binary, who
// makes writes a file, and everybody is content then.
func answer(r *model.Request) (*model.Response, error) {
	var said strings.Builder
	answered := 0
	for _, m := range r.Messages {
		if m.Role == model.RoleAssistant {
			answered++
		}
		said.WriteString(m.Text)
	}
	var steps []*loomv1.ToolCall
	words := goal.FindStringSubmatch(said.String())
	switch {
	case strings.Contains(said.String(), "\nnode: look\n"):
		steps = []*loomv1.ToolCall{call("content_search", map[string]any{"pattern": symbol}), call("file_read", map[string]any{"path": binary})}
	case strings.Contains(said.String(), "\nnode: make\n") && words != nil:
		steps = []*loomv1.ToolCall{call("file_write", map[string]any{"path": words[1], "content": words[1] + "\n"})}
		if words[2] != "" {
			steps = append(steps, call("shell", map[string]any{"command": fmt.Sprintf("head -c %d /dev/urandom >%s", size, more)}))
		} else {
			steps = append(steps, call("file_write", map[string]any{"path": strings.ReplaceAll(words[1], "/", "-"), "content": "beside the binary\n"}))
		}
	}
	next := call(turn.FinishName, map[string]any{"status": "success", "summary": "done", "notes": ""})
	if answered < len(steps) {
		next = steps[answered]
	}
	return &model.Response{Calls: []*loomv1.ToolCall{next}, Stop: model.StopTools}, nil
}

func call(tool string, args map[string]any) *loomv1.ToolCall {
	text, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings alone
	}
	return &loomv1.ToolCall{Tool: tool, Arguments: string(text)}
}
