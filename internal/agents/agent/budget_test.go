package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/base/longtest"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/agent"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// paid is a model whose answers cost something.
type paid struct{ model.Provider }

func (p paid) Name() string                           { return "test:paid" }
func (p paid) Scripted() bool                         { return false }
func (p paid) MostCost(in, out uint64) (uint64, bool) { return in + 2*out, true }
func (p paid) Ask(ctx context.Context, r *model.Request, f func(model.Chunk)) (*model.Response, error) {
	resp, err := p.Provider.Ask(ctx, r, f)
	if resp != nil {
		resp.Usage = &loomv1.Usage{InputTokens: 10, OutputTokens: 5, CostMicroUsd: 20, CostKnown: true}
	}
	return resp, err
}

// Every call is reserved for before it is made, by what it can use at most; what
// no model answers is not.
func TestBYD05_ACallIsReservedBeforeItIsMade(t *testing.T) {
	b := newBench(t, script(finish("success")))
	scripted := b.worker.Model
	b.worker.Model = paid{scripted}
	b.must(brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if len(b.seat.reserved) != 1 || len(b.seat.settled) != 0 {
		t.Fatalf("reserved %v, settled %v", b.seat.reserved, b.seat.settled)
	}
	r, answer := b.seat.reserved[0], b.seat.turn.Steps[len(b.seat.turn.Steps)-1].GetAnswer()
	if r.Request != answer.GetRequest() || r.Tokens < 4096 || r.MicroUsd < r.Tokens+4096 {
		t.Errorf("reserved %v for %v, want at least the longest answer", r, answer.GetRequest())
	}
	b = newBench(t, script(finish("success")))
	b.must(brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED))
	if len(b.seat.reserved) != 0 {
		t.Errorf("reserved %v for a script", b.seat.reserved)
	}
}

func TestBYD05_NoCallWithoutRoom(t *testing.T) {
	for _, tt := range []struct {
		verdict loomv1.Verdict
		want    func(error) bool
	}{
		{loomv1.Verdict_VERDICT_WAIT, func(err error) bool { return errors.Is(err, actors.ErrParked) }},
		{loomv1.Verdict_VERDICT_HELD, func(err error) bool { return fault.Code(err) == "attempt/paused" }},
	} {
		b := newBench(t, script(finish("success")))
		b.worker.Model, b.seat.verdict = paid{b.worker.Model}, tt.verdict
		if _, err := b.work(brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)); !tt.want(err) || len(b.asks.by) != 0 {
			t.Errorf("%s: %v, and asked %d times", tt.verdict, err, len(b.asks.by))
		}
	}
}

// A call that came to nothing is settled for what it used; one that was cut off
// is not.
func TestBYD05_ACallWithoutAnAnswerIsSettled(t *testing.T) {
	used := &loomv1.Usage{InputTokens: 7}
	b := newBench(t, script(finish("success")))
	b.worker.Model = refuses{b.worker.Model, model.Spent(fault.New("model/unavailable", "away"), used)}
	if _, err := b.work(brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)); fault.Code(err) != "model/unavailable" {
		t.Fatal(err)
	}
	if len(b.seat.settled) != 1 || !proto.Equal(b.seat.settled[0], used) {
		t.Errorf("settled %v, want %v", b.seat.settled, used)
	}
}

// A call that is broken off is settled for what it has used at most where that is known,
// also by an agent that has to stop. Else it stays reserved, and whoever watches is told.
func TestBYD05_ACallThatIsBrokenOffIsSettledForWhatIsKnown(t *testing.T) {
	longtest.Skip(t)
	for _, tt := range []struct {
		name string
		cut  model.Cut
		want *loomv1.Usage // nil: nothing is settled
	}{
		{"known", model.Cut{Sent: true, Known: true, Input: 700, Output: 1021}, &loomv1.Usage{InputTokens: 700, OutputTokens: 1021, CostMicroUsd: 700 + 2*1021, CostKnown: true}},
		{"not more than was reserved", model.Cut{Sent: true, Known: true, Input: 700, Output: 1 << 40}, &loomv1.Usage{InputTokens: 700, OutputTokens: 4096, CostMicroUsd: 700 + 2*4096, CostKnown: true}},
		{"never sent", model.Cut{}, &loomv1.Usage{CostKnown: true}},
		{"unknown", model.Cut{Sent: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, script(finish("success")))
			ctx, stop := context.WithCancel(t.Context())
			b.worker.Model = paid{hanging{b.worker.Model, func(ctx context.Context) error {
				stop()
				return model.CutOff(ctx.Err(), tt.cut)
			}}}
			var told []agent.BrokenCall
			b.worker.Broken = func(c agent.BrokenCall) { told = append(told, c) }
			if _, err := b.worker.Work(ctx, brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED), b.seat); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			r := b.seat.reserved[0]
			switch {
			case tt.want == nil:
				if len(b.seat.settled) > 0 || len(told) != 1 || told[0].Known || int64(told[0].Tokens) != r.Tokens || int64(told[0].MicroUSD) != r.MicroUsd {
					t.Errorf("settled %v, told %+v, want all of %v", b.seat.settled, told, r)
				}
			case len(b.seat.settled) != 1 || !proto.Equal(b.seat.settled[0], tt.want):
				t.Errorf("settled %v, want %v", b.seat.settled, tt.want)
			case tt.cut.Sent && (len(told) != 1 || !told[0].Known || told[0].Tokens != tt.want.InputTokens+tt.want.OutputTokens) || !tt.cut.Sent && len(told) > 0:
				t.Errorf("told %+v", told)
			}
		})
	}
}

// limits.time ends the turn, also one that another host began.
func TestAGENT05_ATurnEndsWhenItsTimeIsUp(t *testing.T) {
	longtest.Skip(t)
	hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		name string
		took time.Duration // before this agent took it up
		most time.Duration
		code string
	}{
		{"at once", 0, time.Second, "turn/time"},
		{"what others took counts", 59 * time.Minute, 59 * time.Minute, "turn/time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, script(finish("success")))
			b.as("researcher", func(r *roles.Role) { r.Limits.Time = tt.most })
			b.worker.Model = hanging{b.worker.Model, hang}
			br := brief("researcher", loomv1.NodeKind_NODE_KIND_UNSPECIFIED)
			prompt, err := b.worker.Blobs.Put(t.Context(), []byte("do it"), "text/markdown")
			if err != nil {
				t.Fatal(err)
			}
			begun := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
			br.Node.Timeout = durationpb.New(time.Hour)
			br.Attempt.DispatchedAt = timestamppb.New(begun)
			br.TimeLeft = durationpb.New(time.Hour - tt.took)
			br.Turn = &loomv1.Turn{Attempt: br.Attempt.Id, Model: "test:hangs", StartedAt: timestamppb.New(begun), Prompt: prompt}
			b.seat.turn = proto.CloneOf(br.Turn)
			if out := b.must(br); out.Code != tt.code || out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE {
				t.Errorf("outcome %v, want %s", out, tt.code)
			}
		})
	}
}

// hanging is a model that answers when it is told to.
type hanging struct {
	model.Provider
	wait func(context.Context) error
}

func (h hanging) Ask(ctx context.Context, r *model.Request, f func(model.Chunk)) (*model.Response, error) {
	if err := h.wait(ctx); err != nil {
		return nil, err
	}
	return h.Provider.Ask(ctx, r, f)
}
