package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model/recording"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// taped has a bench work with a tape, and returns the recording.
func taped(t *testing.T, b *bench, br *loomv1.Brief) (file string, rec *recording.Recording) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "run.jsonl")
	w, err := recording.Create(file, recording.Header{Model: "scripted:test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.worker.Tape = w
	if _, err := b.work(br); err != nil { // and again, where a test cuts it
		br.Turn = proto.CloneOf(b.seat.turn)
		b.must(br)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if rec, err = recording.Open(file, nil); err != nil {
		t.Fatal(err)
	}
	return file, rec
}

// A recorded turn is gone through again without a model or a tool, also where it
// was compacted, where somebody said something, and where it was cut off.
func TestAGENT02_ReplayGoesThroughARecordedTurn(t *testing.T) {
	longtest.Skip(t)
	plain := func(t *testing.T) (*bench, *loomv1.Brief) {
		return newTurn(t).bench, brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	}
	for name, make := range map[string]func(t *testing.T) (*bench, *loomv1.Brief){
		"plain": plain,
		"cut off": func(t *testing.T) (*bench, *loomv1.Brief) {
			b, br := plain(t)
			b.seat.cutAt, b.seat.durable = 6, true
			return b, br
		},
		"compacted": func(t *testing.T) (*bench, *loomv1.Brief) {
			return crowded(t), brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		},
		"told": func(t *testing.T) (*bench, *loomv1.Brief) {
			b, br := plain(t)
			b.seat.say = map[int][]*loomv1.Said{4: {{Id: "m1", Text: "hurry"}}}
			return b, br
		},
	} {
		t.Run("AGENT02 "+name, func(t *testing.T) {
			b, br := make(t)
			_, rec := taped(t, b, br)
			var all []agent.Replayed
			err := agent.Replay(t.Context(), rec, b.worker.Roles, func(r agent.Replayed) { all = append(all, r) })
			if err != nil || len(all) != 1 || all[0].Outcome != "success" || all[0].Requests != int(b.seat.turn.Iterations) {
				t.Errorf("%v, %v; want one turn of %d requests that succeeded", all, err, b.seat.turn.Iterations)
			}
		})
	}
}

// A recording whose roles are not all here is refused before its first turn, and says
// which it wants.
func TestAGENT02_ReplaySaysWhichRolesItWants(t *testing.T) {
	rec := &recording.Recording{Turns: []*recording.Turn{{Attempt: "shop-1-x1-a2", Role: "marketer"}, {Attempt: "shop-1-x1-a1", Role: "lead"}, {Attempt: "shop-1-x1-a3", Role: "lead"}}}
	err := agent.Replay(t.Context(), rec, roles.Builtin(), func(agent.Replayed) { t.Error("a turn was gone through") })
	if fault.Code(err) != "role/unknown" || !strings.Contains(err.Error(), "of roles lead, marketer, of which there is no marketer here") {
		t.Errorf("%v, want both roles named", err)
	}
}

// A changed result is found in the very request that it leads to.
func TestAGENT02_ReplayNamesTheRequestThatDeparts(t *testing.T) {
	b := newTurn(t).bench
	file, _ := taped(t, b, brief("backend-engineer", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), `"output":"[exit code 0]`, `"output":"[exit code 1]`, 1)
	if changed == string(data) {
		t.Fatalf("the recording has no such output:\n%s", data)
	}
	rec, err := recording.Read(strings.NewReader(changed), nil)
	if err != nil {
		t.Fatal(err)
	}
	err = agent.Replay(t.Context(), rec, b.worker.Roles, func(agent.Replayed) {})
	if fault.Code(err) != "replay/departed" || !strings.Contains(err.Error(), "messages[2]: request 2 of") || !strings.Contains(err.Error(), "+ [exit code 1]") {
		t.Errorf("%v; want the second request, and what differs", err)
	}
}
