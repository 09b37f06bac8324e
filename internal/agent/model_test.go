package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/model"
	"github.com/loomrun/loom/internal/model/scripted"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// refuses is a model that gives no answer.
type refuses struct {
	model.Provider
	err error
}

func (r refuses) Name() string   { return "test:refuses" }
func (r refuses) Scripted() bool { return false }
func (r refuses) Ask(context.Context, *model.Request, func(model.Chunk)) (*model.Response, error) {
	return nil, r.err
}

// What the operator mends parks the work, and says how.
func TestAGENT02_ARefusedKeyParks(t *testing.T) {
	for _, code := range []string{"model/key-refused", "model/no-credit", "model/unknown", "model/no-key"} {
		b, br := newBench(t, script(finish("success"))), brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		b.worker.Model = refuses{b.worker.Model, fault.New(code, "no")}
		_, err := b.work(br)
		if !errors.Is(err, actors.ErrParked) || len(b.seat.blocks) != 1 || b.seat.blocks[0].Code != code || b.seat.blocks[0].Remedy == "" || len(b.seat.until) != 0 {
			t.Errorf("%s: %v, parked for %v", code, err, b.seat.blocks)
		}
	}
}

// F14: over its rate limit, the work is parked until then, and goes on with
// what is recorded.
func TestAGENT02_ARateLimitParksTheTurn(t *testing.T) {
	b := newBench(t, script(finish("success")))
	answers, until := b.worker.Model, time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	b.worker.Model = refuses{answers, model.RateLimited("test", until, "")}
	br := brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
	if _, err := b.work(br); !errors.Is(err, actors.ErrParked) || len(b.seat.until) != 1 || !b.seat.until[0].Equal(until) {
		t.Fatalf("%v, parked until %v; want to be parked until %s", err, b.seat.until, until)
	}
	br.Turn = proto.CloneOf(b.seat.turn)
	b.worker.Model = answers
	if out := b.must(br); out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
		t.Errorf("outcome %v after the wait", out)
	}
}

// Each role has its model, and the journal says which one answered.
func TestROLE01_AModelForARole(t *testing.T) {
	down := refuses{nil, fault.New("model/unavailable", "x")}
	own := scripted.New("own", script(finish("success")))
	for _, tt := range []struct {
		name, role string
		models     map[string]model.Provider
		want       string
	}{
		{"the default", "researcher", nil, "scripted:test"},
		{"its own", "researcher", map[string]model.Provider{"researcher": own}, "scripted:own"},
		{"that of another", "researcher", map[string]model.Provider{"lead": own}, "scripted:test"},
		{"the next in the chain", "researcher", map[string]model.Provider{"researcher": model.Chain(down, own)}, "scripted:own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, script(finish("success")))
			b.worker.Models = tt.models
			b.must(brief(tt.role, loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
			for _, s := range b.seat.turn.Steps {
				if a := s.GetAnswer(); a != nil && (a.Model != tt.want || !a.Scripted) {
					t.Errorf("answered by %q, a script: %t; want %q", a.Model, a.Scripted, tt.want)
				}
			}
		})
	}
}
