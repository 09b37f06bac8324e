package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/ops/vault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// seen is what people see of a bead and its execution.
func seen(t *testing.T, c *client.Client, bead string) string {
	t.Helper()
	view, err := c.Bead(t.Context(), &loomv1.Query{Project: "shop", Id: bead})
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.Execution(t.Context(), &loomv1.Query{Project: "shop", Id: bead + "-x1"})
	if err != nil {
		t.Fatal(err)
	}
	moves, err := c.History(t.Context(), &loomv1.HistoryRequest{Execution: bead + "-x1"})
	if err != nil {
		t.Fatal(err)
	}
	text := func(m proto.Message) string {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	return text(&loomv1.View{Beads: view.Beads, Executions: x.Executions}) + text(&loomv1.HistoryReply{Transitions: moves.Transitions})
}

// ended waits until the execution of a bead has ended.
func ended(ctx context.Context, t *testing.T, c *client.Client, bead string) {
	t.Helper()
	err := c.Follow(ctx, &loomv1.NoticesRequest{Bead: bead}, true, func(n *loomv1.Notice) error {
		if n.Event.GetExecutionEnded() != nil {
			return context.Canceled
		}
		return nil
	})
	if ctx.Err() != nil {
		t.Fatalf("%s never ended: %v", bead, err)
	}
}

// retained cuts what can be cut, and returns the journal of project "shop".
func retained(t *testing.T, c *client.Client) (*loomv1.CutJournal, error) {
	t.Helper()
	reply, err := c.Retention(t.Context(), &loomv1.RetentionRequest{Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	var most *loomv1.CutJournal
	for _, j := range reply.Journals {
		if j.Error != nil {
			return nil, fault.FromProto(j.Error)
		}
		if j.Cut.GetEvents() > most.GetCut().GetEvents() {
			most = j
		}
	}
	return most, nil
}

// TestOPS03_P3_AHostGoesOnFromWhatItCut cuts the journals of a host that has
// worked, with a stop before the purge, and takes snapshots, tables and marks
// away: it shows what it showed, and goes on.
func TestOPS03_P3_AHostGoesOnFromWhatItCut(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*within)
	defer cancel()
	c := config(t, scripted.New("quick", nothing))
	h := start(t, c)
	people := connect(t, h, "operator")
	filed, err := people.Report(ctx, report())
	if err != nil {
		t.Fatal(err)
	}
	ended(ctx, t, people, filed.Bead)
	before := seen(t, people, filed.Bead)
	host.StopCutAt(h, "purge")
	if cut, err := retained(t, people); err == nil {
		t.Fatalf("cut %v, and was to be stopped", cut)
	}
	h.Stop(ctx)
	for _, gone := range []string{"projection.db", "heads", "jetstream/CORE/streams/OBJ_LOOM_SNAP"} {
		if err := os.RemoveAll(filepath.Join(c.Data, gone)); err != nil {
			t.Fatal(err)
		}
	}
	c.Projects = nil
	h = start(t, c)
	people = connect(t, h, "operator")
	if again := seen(t, people, filed.Bead); again != before {
		t.Errorf("it is shown otherwise after the cut")
	}
	first := uint64(0)
	err = people.Follow(ctx, &loomv1.NoticesRequest{Project: "shop"}, false, func(n *loomv1.Notice) error {
		if first == 0 {
			first = n.Position.Sequence
		}
		return nil
	})
	if err != nil || first <= 1 {
		t.Errorf("the journal begins with batch %d: %v", first, err)
	}
	more := report()
	more.Message, more.IdempotencyKey = "another", "twice"
	other, err := people.Report(ctx, more)
	if err != nil || other.Bead == filed.Bead {
		t.Fatalf("after the cut: %v, %v", other, err)
	}
	ended(ctx, t, people, other.Bead)
	if cut, err := retained(t, people); err != nil || cut.GetCut().GetFirst() < first {
		t.Errorf("second cut: %v, %v", cut, err)
	}
	h.Stop(ctx)
	verified(t, c.Data)
}

func verified(t *testing.T, data string) {
	t.Helper()
	s, err := vault.Open(data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	r, err := s.Verify(t.Context())
	if err != nil || r.Err() != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "was cut at") {
		t.Errorf("verify: %v, %v, %v", err, r.Err(), r.Notes)
	}
}
