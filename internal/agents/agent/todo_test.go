package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/base/redact"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// listing is a bench whose model writes a list and then reads more than fits into
// its window.
func listing(t *testing.T) *bench {
	items := []map[string]any{{"text": "read", "status": "in_progress"}, {"text": "say " + hidden, "status": "pending"}}
	policy := func(r *model.Request) (*model.Response, error) {
		last := r.Messages[len(r.Messages)-1].Text
		switch n := 0; {
		case strings.Contains(last, "of 2 done"):
			return says(call("file_read", map[string]any{"path": "f1.txt"})), nil
		case strings.HasPrefix(strings.TrimSpace(last), "1\tfile"):
			_, _ = fmt.Sscanf(strings.TrimSpace(last), "1 file %d", &n)
			if n == 9 {
				return finish("success"), nil
			}
			return says(call("file_read", map[string]any{"path": fmt.Sprintf("f%d.txt", n+1)})), nil
		}
		return says(call("todo", map[string]any{"items": items})), nil
	}
	var files []git.File
	for i := range 10 {
		files = append(files, git.File{Path: fmt.Sprintf("f%d.txt", i), Data: fmt.Appendf(nil, "file %d\n%s", i, strings.Repeat("all work and no play\n", 300))})
	}
	b := newBench(t, policy, files...)
	b.worker.Secrets = redact.Of([]string{"THE_KEY=" + hidden})
	b.as("researcher", func(r *roles.Role) { r.Context.Window = 12_000 })
	return b
}

// TestAGENT01_TheListOfStepsOutlivesTheHost kills the host at every record of a turn
// that is compacted: the list is recorded once, without secrets, and is told again
// after the compaction, in the same bytes.
func TestAGENT01_TheListOfStepsOutlivesTheHost(t *testing.T) {
	longtest.Skip(t)
	task := func() *loomv1.Brief { return brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED) }
	lists := func(b *bench) (list []string) {
		for _, s := range b.seat.turn.Steps {
			if l := s.GetTool().GetResult().GetTodo(); l != nil {
				list = append(list, turn.TodoText(l))
			}
		}
		return list
	}
	whole := listing(t)
	whole.must(task())
	want := "[>] read\n[ ] say [redacted THE_KEY]\n"
	if got := lists(whole); len(got) != 1 || got[0] != want {
		t.Fatalf("the lists are %q, want %q", got, want)
	}
	var told string
	for _, m := range whole.asks.last.Messages {
		told += m.Text
	}
	if !strings.Contains(told, "## So far") || !strings.Contains(told, "Your list of steps, as it stands:\n<data>\n"+want) {
		t.Errorf("after the compaction the model is told:\n%s", told)
	}
	for at := 2; at <= whole.seat.calls; at++ {
		b := listing(t)
		b.seat.cutAt, b.seat.durable = at, true
		br := task()
		if _, err := b.work(br); !errors.Is(err, errCut) {
			t.Fatalf("cut at %d: %v", at, err)
		}
		br.Turn = proto.CloneOf(b.seat.turn)
		b.must(br)
		if got := lists(b); len(got) != 1 || got[0] != want {
			t.Errorf("cut at %d: the lists are %q", at, got)
		}
		if b.asks.last.Digest() != whole.asks.last.Digest() {
			t.Errorf("cut at %d: the last request is another one", at)
		}
	}
}

// The next cycle begins with the list as the last one left it.
func TestAGENT01_TheNextCycleIsToldTheListOfSteps(t *testing.T) {
	b := brief("implementer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	list := func(text string) *loomv1.TodoList { return &loomv1.TodoList{Items: []*loomv1.TodoItem{{Text: text}}} }
	b.Execution.Nodes["work"].History = []*loomv1.Attempt{
		{Node: "work", Visit: 1, Number: 1, Todo: list("an older list")}, {Node: "work", Visit: 1, Number: 2, Todo: list("test it")},
	}
	b.Attempt.Number = 3
	if text := promptOf(b); !strings.Contains(text, "the list of steps as it was left:\n<data>\n[ ] test it\n</data>\n") || strings.Contains(text, "older") {
		t.Errorf("the prompt:\n%s", text)
	}
}
