package agent

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// reserve holds back what a call can use in every budget that it counts against,
// or says why it may not be made: it is more than the role may, others are to
// settle theirs first ([actors.ErrParked]), or the CEO is asked. What no model
// answers costs nothing.
func (r *run) reserve(ctx context.Context, m model.Provider, req *model.Request) (*turn.Stop, error) {
	if m.Scripted() {
		return nil, nil
	}
	input, output := turn.Most(r.t, req.Size(), req.MaxTokens)
	tokens, cost := int64(input+output), int64(model.MostCost(m, input, output))
	if stop, over := turn.Over(r.t, r.spending(), tokens, cost); over {
		return &stop, nil
	}
	verdict, err := r.seat.Reserve(ctx, &loomv1.CallReservation{Request: req.Digest(), Tokens: tokens, MicroUsd: cost})
	switch {
	case err != nil:
		return nil, err
	case verdict == loomv1.Verdict_VERDICT_WAIT:
		r.Logger.Info("work waits for room in a budget", "attempt", r.brief.Attempt.Id)
		return nil, actors.ErrParked
	case verdict == loomv1.Verdict_VERDICT_HELD:
		return nil, fault.New("attempt/paused", "attempt %q cannot go on: a budget is used up", r.brief.Attempt.Id)
	}
	return nil, nil
}

// settle counts what a call has used that came to nothing, because of failed.
func (r *run) settle(ctx context.Context, m model.Provider, req *model.Request, failed error) error {
	switch {
	case m.Scripted():
		return nil
	case ctx.Err() != nil:
		r.settleCut(ctx, m, req, failed)
		return nil //nolint:nilerr // the turn goes on, or ends by itself
	}
	return r.seat.Settle(ctx, req.Digest(), model.UsageOf(failed))
}

// BrokenCall is a model call that was broken off, and what is counted as spent for it
// where a budget bounds the work.
type BrokenCall struct {
	Attempt, Model string
	Tokens         uint64
	MicroUSD       uint64
	// Known says that the call has used no more than that. Else it is all that was held
	// back for it.
	Known bool
}

// lastWord is how long it is tried to say what a call has used that was broken off,
// because the host stops.
const lastWord = time.Second

// settleCut counts what a call has used at most that was broken off, where that is
// known. Else all that it reserved is counted, when the agent gives the attempt back or
// the attempt ends; and so it is where the attempt has ended already.
func (r *run) settleCut(ctx context.Context, m model.Provider, req *model.Request, failed error) {
	input, output := turn.Most(r.t, req.Size(), req.MaxTokens)
	broken := BrokenCall{Attempt: r.brief.Attempt.Id, Model: m.Name(), Tokens: input + output, MicroUSD: model.MostCost(m, input, output)}
	if cut := model.CutOf(failed); cut.Known || !cut.Sent {
		used := proto.CloneOf(model.UsageOf(failed)) // by tries before
		if cut.Sent {
			in, out := cmp.Or(cut.Input, input), min(cut.Output, output)
			used.InputTokens, used.OutputTokens = used.InputTokens+in, used.OutputTokens+out
			cost := model.MostCost(m, in, out)
			used.CostMicroUsd, used.CostKnown = used.CostMicroUsd+cost, used.CostKnown && cost > 0
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
		defer cancel()
		if err := r.seat.Settle(last, req.Digest(), used); err == nil {
			broken.Tokens, broken.MicroUSD, broken.Known = used.InputTokens+used.OutputTokens, used.CostMicroUsd, true
		}
	}
	if r.Broken != nil && (broken.Tokens > 0 || !broken.Known) {
		r.Broken(broken)
	}
}

// timed returns a context that ends when the turn has taken what its role may.
// The time of what it waited for, parked or held, is not counted.
func (r *run) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	most := r.role.Limits.Time
	if most == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, most-r.took(), errTime)
}

// took is how long the turn had been worked on when the attempt was claimed: its
// deadline moves by all that it waits, and its time begins with its first claim.
func (r *run) took() time.Duration {
	b := r.brief
	if b.Turn.GetStartedAt() == nil {
		return 0
	}
	all := cmp.Or(b.Node.GetTimeout().AsDuration(), workflow.DefaultTimeout)
	return max(all-b.TimeLeft.AsDuration(), 0)
}
