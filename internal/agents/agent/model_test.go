package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/model/scripted"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/longtest"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
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
	longtest.Skip(t)
	for _, code := range []string{"model/key-refused", "model/no-credit", "model/unknown", "model/no-key", "model/no-thinking"} {
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

// What a role's file says of reasoning is asked for, with room for it beside the
// answer's, and a cut answer is told that it counts.
func TestAGENT02_ARoleReasonsAsItsFileSays(t *testing.T) {
	if !slices.Equal(model.Efforts, roles.Efforts()) {
		t.Errorf("a role knows the efforts %v, and models %v", roles.Efforts(), model.Efforts)
	}
	reasons, err := roles.Parse("poet.yaml", []byte("name: poet\nsummary: Writes odes.\npersona: You write odes.\nthinking: {effort: high, tokens: 3000}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var asked []model.Request
	b := newBench(t, func(r *model.Request) (*model.Response, error) {
		if asked = append(asked, *r); len(asked) == 1 {
			return &model.Response{Stop: model.StopLength, Usage: &loomv1.Usage{}}, nil
		}
		return says(call("finish", map[string]any{"status": "failure", "summary": "it cannot be done"})), nil
	})
	if b.worker.Roles, err = b.worker.Roles.With(reasons); err != nil {
		t.Fatal(err)
	}
	b.must(brief("poet", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if len(asked) != 2 {
		t.Fatalf("%d requests, want 2", len(asked))
	}
	for _, r := range asked {
		if want := (model.Thinking{Effort: "high", Tokens: 3000}); r.Thinking != want || r.MaxTokens != 4096+3000 {
			t.Errorf("asked to reason %+v in %d tokens, want %+v in 7096", r.Thinking, r.MaxTokens, want)
		}
	}
	if last := asked[1].Messages; !strings.Contains(last[len(last)-1].Text, "longer than the 7096 tokens that one answer may have, its reasoning included") {
		t.Errorf("a cut answer is told %q", last[len(last)-1].Text)
	}
}

// Each role has its model, and the journal says which one answered.
func TestROLE01_AModelForARole(t *testing.T) {
	longtest.Skip(t)
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

// Who is asked a question reads and answers: the weakest tier's model does that,
// where there is one, whatever the role has.
func TestAGENT02_AQuestionGoesToTheWeakestTier(t *testing.T) {
	for _, question := range []bool{true, false} {
		b := newBench(t, script(finish("success")))
		good := b.worker.Model
		b.worker.Model = refuses{good, errors.New("not this one")}
		b.worker.Models = map[string]model.Provider{"researcher": b.worker.Model}
		b.worker.Tiers = map[int]model.Provider{3: b.worker.Model, 1: good}
		br := brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
		br.Bead.Delegation = &loomv1.Delegation{Role: "researcher", Depth: 1, Question: question}
		out, err := b.work(br)
		if answered := err == nil && out.Status == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS; answered != question {
			t.Errorf("a question: %t, answered by the weakest tier: %t (%v)", question, answered, err)
		}
	}
}
