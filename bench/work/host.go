package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/ops/demo"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// projectID is the project that the load is for.
const projectID = "w"

func startHost(ctx context.Context, o options, clock *clock) (*host.Host, error) {
	repository := filepath.Join(o.data, "repository")
	if _, err := os.Stat(repository); err != nil {
		if err := demo.MakeRepository(ctx, repository); err != nil {
			return nil, err
		}
	}
	ledger, err := openLedger(o.ledger)
	if err != nil {
		return nil, err
	}
	stop := func() {}
	if o.resume {
		if stop, err = profile(o.profile); err != nil {
			return nil, err
		}
	}
	h, err := host.Start(ctx, host.Config{
		Data: data(o), CEOKey: key(o), Listen: "127.0.0.1:0", Model: scripted.New("instant", nil), Worker: &instant{ledger, clock},
		Projects: []host.Project{{ID: projectID, Repository: repository}}, Agents: agents(o.agents),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	stop()
	if err == nil {
		fmt.Fprintf(os.Stderr, "work: host up in %s\n", h.Startup().Round(time.Millisecond))
	}
	return h, err
}

func data(o options) string { return filepath.Join(o.data, "loom") }

func key(o options) string { return filepath.Join(o.data, "ceo.nk") }

func stopHost(h *host.Host) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	h.Stop(ctx)
}

// agents has so many of each role that work W needs, and none of the others.
func agents(n int) map[string]int {
	return map[string]int{
		"qa-engineer": n, "backend-engineer": n, "engineering-manager": n,
		"lead": 0, "researcher": 0, "architect": 0, "implementer": 0, "web-designer": 0, "project-manager": 0,
	}
}

// instant is an agent that answers at once.
type instant struct {
	ledger *ledger
	clock  *clock
}

// Work implements actors.Worker: an investigation asks for a second cycle,
// everything else is done at the first.
func (w *instant) Work(_ context.Context, b *loomv1.Brief, _ actors.Seat) (*loomv1.Outcome, error) {
	w.clock.mark(b.Bead.Id)
	w.ledger.add(b.Bead.Goal, b.Attempt.Node, b.Attempt.Number)
	out := &loomv1.Outcome{
		Status:  loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS,
		Summary: "done",
		Notes:   payload(b.Bead.Id, b.Attempt.Node, b.Attempt.Number),
	}
	if b.Node.MultiDispatch && b.Attempt.Number == 1 {
		out.Status = loomv1.OutcomeStatus_OUTCOME_STATUS_CONTINUE
	}
	return out, nil
}

// payload is what an instant step returns: about 200 bytes.
func payload(id, step string, cycle uint32) string {
	s := fmt.Sprintf(`{"execution":%q,"step":%q,"cycle":%d,"outcome":"success","summary":"`, id, step, cycle)
	const words = "the agent looked at the report, read the trace, and wrote down what it found and what it would do next; "
	return (s + strings.Repeat(words, 2))[:196] + `"}`
}
