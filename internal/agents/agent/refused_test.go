package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// refusedAnswers are answers that nobody can act on, with text and five calls each.
func refusedAnswers() map[string]*model.Response {
	five := func(last string) (list []*loomv1.ToolCall) {
		for i := range 4 {
			list = append(list, call("file_read", map[string]any{"path": fmt.Sprintf("%d.txt", i)}))
		}
		return append(list, &loomv1.ToolCall{Tool: "file_write", Arguments: last})
	}
	half := `{"path":"b.txt","content":"` + strings.Repeat("x", 9000) + `the end`
	return map[string]*model.Response{
		"a malformed call":  {Text: "I look at four files.", Calls: five(half), Stop: model.StopTools},
		"an answer cut off": {Text: "I look at four files.", Calls: five(half), Stop: model.StopLength},
	}
}

// TestREAL06_ARefusedAnswerIsNotLost tells the model what it had said and called, with
// the same words after a restart at any step and when the turn is played again.
func TestREAL06_ARefusedAnswerIsNotLost(t *testing.T) {
	longtest.Skip(t)
	for name, bad := range refusedAnswers() {
		t.Run("REAL06 "+name, func(t *testing.T) {
			policy := script(append([]*model.Response{bad}, goesOn()...)...)
			b := newBench(t, policy)
			_, rec := taped(t, b, brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
			list := b.asks.last.Messages
			if said := list[1]; said.Role != model.RoleAssistant || said.Text != bad.Text || len(said.Calls) > 0 {
				t.Errorf("the answer is told as %+v", said)
			}
			for _, want := range []string{"1. file_read {\"path\":\"0.txt\"}\n", "4. file_read {\"path\":\"3.txt\"}\n", "5. file_write {\"path\":\"b.txt\",\"content\":\"xxx", "the end\n"} {
				if !strings.Contains(list[2].Text, want) || len(list[2].Text) > 3000 {
					t.Errorf("the model is told, without %q or in too many words:\n%s", want, list[2].Text)
				}
			}
			var all []agent.Replayed
			err := agent.Replay(t.Context(), rec, b.worker.Roles, func(r agent.Replayed) { all = append(all, r) })
			if err != nil || len(all) != 1 || all[0].Outcome != "success" {
				t.Errorf("played again it comes to %v, %v", all, err)
			}
			for at := 1; at <= b.seat.records; at++ {
				again := newBench(t, policy)
				br := brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
				again.seat.cutAt, again.seat.durable = at, true
				if _, err := again.work(br); err == nil {
					t.Fatalf("cut at %d, it went on", at)
				}
				br.Turn = proto.CloneOf(again.seat.turn)
				again.must(br)
				if len(again.asks.by) != len(b.asks.by) || again.asks.by[b.asks.last.Digest()] == 0 {
					t.Errorf("cut at %d, the model is asked otherwise: %v, want %v", at, again.asks.by, b.asks.by)
				}
			}
		})
	}
}
