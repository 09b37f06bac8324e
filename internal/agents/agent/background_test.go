package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestAGENT01_ABackgroundProcessIsNeverStartedTwice kills the host at every record
// of a turn with a background process: who takes the turn over does not start it
// again, and tells the model that it is gone.
func TestAGENT01_ABackgroundProcessIsNeverStartedTwice(t *testing.T) {
	longtest.Skip(t)
	for at, want := range map[int]string{
		2: "ready\n",                                   // the answer that asks for it
		3: "tool/not-found: id: no process of this id", // the intent: its outcome is not known
		4: "[process c1-1 ended with the host that ran it",
		5: "[process c1-1 ended with the host that ran it",
		6: "[process c1-1 ended with the host that ran it",
		7: "[process c1-1 ended with the host that ran it",
		8: "[process c1-1 ended with the host that ran it", // the intent of reading it
		9: "ready\n",
	} {
		t.Run(fmt.Sprintf("at record %d", at), func(t *testing.T) {
			log, told := filepath.Join(t.TempDir(), "starts"), ""
			b := newBench(t, func(r *model.Request) (*model.Response, error) {
				switch answers(r) {
				case 0:
					return says(
						call("shell", map[string]any{"command": "echo ready; echo started >> " + log, "background": true}),
						call("shell", map[string]any{"command": "for i in $(seq 300); do test -e " + log + " && break; sleep 0.01; done"})), nil
				case 1:
					// What it wrote is read for certain at its end only: its pipe is read beside.
					return says(call("process", map[string]any{"id": "c1-1", "wait_seconds": 60})), nil
				}
				told = r.Messages[len(r.Messages)-1].Text
				return finish("success"), nil
			})
			br := brief("qa-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
			b.seat.cutAt, b.seat.durable = at, true
			if _, err := b.work(br); !errors.Is(err, errCut) {
				t.Fatal(err)
			}
			br.Turn = proto.CloneOf(b.seat.turn)
			b.must(br)
			starts, _ := os.ReadFile(log)
			if strings.Count(string(starts), "started") > 1 {
				t.Error("it is started again")
			}
			if !strings.HasPrefix(told, want) {
				t.Errorf("the model is told %q, want %q", told, want)
			}
		})
	}
}

// The checks that a success depends on run after all background processes ended.
func TestAGENT01_BackgroundProcessesEndBeforeTheChecks(t *testing.T) {
	longtest.Skip(t)
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		if answers(r) == 0 {
			return says(
				call("shell", map[string]any{"command": "while :; do touch alive; sleep 0.01; done", "background": true}),
				call("shell", map[string]any{"command": "while ! test -e alive; do sleep 0.01; done; echo two > a.txt"})), nil
		}
		return finish("success"), nil
	})
	br := brief("implementer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	br.Execution.Checks = []string{"rm -f alive; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01; done; test ! -e alive"}
	if out := b.must(br); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		t.Errorf("the check saw the process at work: %v", out)
	}
}
