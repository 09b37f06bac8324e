package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// ownSummary returns what the model says to summarise what a compaction is to stand
// for: what it is asked for now, or else what it wrote before. It is nothing where
// there is neither: the summary is then taken from the record. An answer that was paid
// for is returned also where it is of no use.
func (r *run) ownSummary(ctx context.Context, c turn.Compact) (turn.Own, *loomv1.ModelAnswer, error) {
	text, answer, err := r.askSummary(ctx, c)
	if text != "" || err != nil {
		return turn.Own{Answers: c.Answers, Text: text}, answer, err
	}
	ref, of := turn.OwnSummary(r.t)
	if ref == nil {
		return turn.Own{}, answer, nil
	}
	if text, err = r.text(ctx, ref); len(text) > c.OwnBytes() {
		return turn.Own{}, answer, err
	}
	return turn.Own{Answers: of, Text: strings.TrimSpace(text)}, answer, err
}

// askSummary has the model that answers for the turn summarise for itself what a
// compaction is to stand for. It returns no text where the model is not asked or what
// it says is of no use.
func (r *run) askSummary(ctx context.Context, c turn.Compact) (string, *loomv1.ModelAnswer, error) {
	if !turn.SummaryDue(r.t, c) {
		return "", nil, nil
	}
	m := r.asked()
	req, err := r.summaryRequest(ctx, c)
	if err != nil || req == nil || !model.Summarizes(m, req) {
		return "", nil, err
	}
	if ok, err := r.affords(ctx, m, req, "a summary"); !ok || err != nil {
		return "", nil, err
	}
	began := time.Now()
	resp, err := m.Ask(ctx, req, nil)
	took := uint64(max(time.Since(began).Milliseconds(), 1))
	if ctx.Err() != nil {
		if err != nil {
			err = r.settle(ctx, m, req, err)
		}
		return "", nil, cmp.Or(err, ctx.Err())
	}
	r.tapeAsk(m, req, resp, err)
	answer := &loomv1.ModelAnswer{Milliseconds: took, Model: m.Name(), Scripted: m.Scripted(), Request: req.Digest(), Counted: uint64(turn.Tokens(req.Size())), Part: turn.Part(r.t)}
	switch {
	case fault.Code(err) == "model/invalid-output":
		answer.Problem, answer.Usage = fault.From(err).Message, model.UsageOf(err)
	case err != nil:
		r.Logger.Warn("a summary is taken from the record: the model was asked for one", "attempt", r.brief.Attempt.Id, "error", err)
		return "", nil, r.settle(ctx, m, req, err)
	default:
		problem := unusable(resp, c.OwnBytes())
		resp.Calls, resp.Opaque, resp.Stop = nil, nil, model.StopEnd
		if err := r.fill(ctx, answer, resp); err != nil {
			return "", nil, err
		}
		answer.Problem = problem
	}
	if answer.Problem != "" {
		r.Logger.Warn("a summary is taken from the record: the model's is of no use", "attempt", r.brief.Attempt.Id, "problem", answer.Problem)
		return "", answer, nil
	}
	return strings.TrimSpace(resp.Text), answer, nil
}

// unusable says why a summary is of no use, if it is not.
func unusable(resp *model.Response, most int) string {
	switch n := len(strings.TrimSpace(resp.Text)); {
	case resp.Scripted:
		return "a script answered"
	case resp.Stop == model.StopLength:
		return "the summary was cut off"
	case len(resp.Calls) > 0:
		return "a tool was called in the place of a summary"
	case n == 0:
		return "the summary is empty"
	case n > most:
		return fmt.Sprintf("the summary has %d bytes, and %d have room", n, most)
	}
	return ""
}

// affords reserves what a call can use that is for something the work goes on without. It
// reports false where the turn or another budget has no room for that and for the answer
// that follows, which can use as much again: such a call must not end the work.
func (r *run) affords(ctx context.Context, m model.Provider, req *model.Request, what string) (bool, error) {
	if m.Scripted() {
		return true, nil
	}
	input, output := turn.Most(r.t, req.Size(), req.MaxTokens)
	tokens, cost := int64(input+output), int64(model.MostCost(m, input, output))
	stop, over := turn.Over(r.t, r.spending(), 2*tokens, 2*cost)
	why := stop.Reason
	if !over {
		verdict, err := r.seat.Reserve(ctx, &loomv1.CallReservation{Request: req.Digest(), Tokens: tokens, MicroUsd: cost, Optional: true})
		if err != nil || verdict == loomv1.Verdict_VERDICT_GO {
			return err == nil, err
		}
		why = "a budget has no room for it"
	}
	r.Logger.Info("no model is asked for "+what, "attempt", r.brief.Attempt.Id, "because", why)
	return false, nil
}

// summaryRequest asks for a summary: the system text and the prompt of the turn, then
// what is to be summarised as one text, results shortened until it fits. It returns
// nil where nothing is to be asked.
//
// It is no continuation of the conversation. That does not fit, or it would not be
// compacted; servers refuse calls of tools in a request that offers none; and what
// they keep of a request begins with its tools, so that without these nothing of it
// would be found.
func (r *run) summaryRequest(ctx context.Context, c turn.Compact) (*model.Request, error) {
	list := turn.Unsummarised(r.t, r.brief.Node, r.limits(), c)
	room, bounded := r.window().Room(r.t)
	if r.role.Context.Summary == roles.SummaryOfRecord || c.OwnBytes() == 0 || len(list) == 0 || !bounded {
		return nil, nil
	}
	prompt, err := r.text(ctx, r.t.Prompt)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, m := range list {
		if texts[i], err = r.said(ctx, m); err != nil {
			return nil, err
		}
	}
	prompt += fmt.Sprintf(summaryAsked, c.OwnBytes()/8)
	for _, clip := range []uint64{0, 8000, 4000, 2000, 1000, 500, 250} {
		told := turn.AsData(told(list, texts, clip))
		if len(prompt)+len(told) > room {
			continue
		}
		text := r.Secrets.Text(prompt + told)
		return &model.Request{
			System: r.system(), MaxTokens: r.output(), Thinking: r.thinking(),
			Messages: []model.Message{{Role: model.RoleUser, Text: text}},
		}, nil
	}
	return nil, nil
}

const summaryAsked = `
## Summarise your work so far
The conversation no longer fits. What follows as data is its beginning: your answers, and what came of them. Your summary will stand in its place, for you alone. Do not go on with the work now; no tool can be called. Write plain text of at most %d words that says, and says nothing that is not there:
- what was asked
- what was found, with paths and lines
- what was decided, and why
- what was tried and failed
- what is next
`

// told writes messages as one text, with at most clip bytes of each; 0 keeps all.
func told(list []turn.Message, texts []string, clip uint64) string {
	var b strings.Builder
	for i, m := range list {
		who := "The runtime"
		switch {
		case m.Role == turn.Assistant:
			who = "You"
		case m.Role == turn.Result && m.Failed:
			who = "Result of " + m.Call + ", which failed"
		case m.Role == turn.Result:
			who = "Result of " + m.Call
		}
		fmt.Fprintf(&b, "%s:\n%s\n", who, turn.Clip(texts[i], clip))
		for _, call := range m.Calls {
			fmt.Fprintf(&b, "You called %s, %s: %s\n", call.GetId(), call.GetTool(), turn.Clip(call.GetArguments(), clip))
		}
	}
	return b.String()
}
