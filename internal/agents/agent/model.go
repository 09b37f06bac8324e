package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loomrun/loom/actors"
	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/turn"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// weakest is the tier of the models that the least is asked of.
const weakest = 1

// model is what answers for the job's role.
func (j *job) model() model.Provider {
	tier := j.brief.Node.GetPhase().GetModelTier()
	if l := j.brief.Step.GetRun().GetLimits(); l != nil { // as the tempo is now
		tier = l.ModelTier
	}
	if t := j.brief.Execution.GetConversation().GetModelTier(); t != 0 {
		tier = t
	}
	if t := tier; t != 0 {
		if m, ok := j.Tiers[int(t)]; ok {
			return m
		}
	}
	if j.brief.Bead.GetDelegation().GetQuestion() { // which asks for reading alone
		if m, ok := j.Tiers[weakest]; ok {
			return m
		}
	}
	if m, ok := j.Models[j.role.Name]; ok {
		return m
	}
	return j.Model
}

// plans reports whether another model plans what the role's own carries out.
func (j *job) plans() bool {
	return j.role.Architect > 0 && j.brief.Node.GetPhase() == nil && j.changes()
}

// architect is the model that plans.
func (j *job) architect() model.Provider {
	if m, ok := j.Tiers[j.role.Architect]; ok {
		return m
	}
	return j.Model
}

// asked is the model that gives the next answer.
func (r *run) asked() model.Provider {
	if turn.Planning(r.t) {
		return r.architect()
	}
	return r.model()
}

// asks reports whether the model of that name is one that answers for the role.
func (r *run) asks(name string) bool {
	return slices.Contains(strings.Split(r.asked().Name(), ","), name)
}

// ask asks the model for the next answer and records it, also one that is of no
// use, so that it is paid for once. What it can use is reserved before. It
// returns a stop where that is more than the role may.
func (r *run) ask(ctx context.Context) (*turn.Stop, error) {
	req, err := r.request(ctx)
	if err != nil {
		return nil, err
	}
	m := r.asked()
	if stop, err := r.reserve(ctx, m, req); stop != nil || err != nil {
		return stop, err
	}
	began := time.Now()
	live, ended := r.telling()
	resp, err := m.Ask(ctx, req, live)
	ended()
	if err == nil {
		resp.Calls = unwrapped(resp.Calls, req.Tools)
		err = r.together(ctx, resp)
	}
	took := uint64(max(time.Since(began).Milliseconds(), 1))
	if fault.Code(err) == "model/invalid-output" {
		resp = refusedAnswer(resp, err)
	}
	r.tapeAsk(m, req, resp, err)
	answer := &loomv1.ModelAnswer{Milliseconds: took, Model: m.Name(), Scripted: m.Scripted(), Request: req.Digest(), Counted: uint64(turn.Tokens(req.Size())), Part: turn.Part(r.t)}
	switch {
	case fault.Code(err) == "model/invalid-output":
		if err := r.fillRefused(ctx, answer, resp, err); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, r.unanswered(ctx, m, req, err)
	default:
		if err := r.fill(ctx, answer, resp); err != nil {
			return nil, err
		}
	}
	return nil, r.record(ctx, turn.AnsweredFact(answer))
}

// unwrapped are calls of the tools that they are about.
func unwrapped(calls []*loomv1.ToolCall, offered []model.ToolSpec) []*loomv1.ToolCall {
	var list []*loomv1.ToolCall
	for _, c := range calls {
		if !onlyNames(c, offered) {
			c = model.Unwrap(c)
		}
		list = append(list, c)
	}
	return list
}

// onlyNames reports whether a call names a tool from outside, and nothing else, of which
// the model is not told that it takes nothing: that asks what it takes, and does nothing.
func onlyNames(c *loomv1.ToolCall, offered []model.ToolSpec) bool {
	name := model.NameAlone(c)
	return tool.FromOutside(name) && slices.ContainsFunc(offered, func(t model.ToolSpec) bool {
		return behind([]model.ToolSpec{t}, name) && !strings.Contains(t.Description, "\n"+name+"()")
	})
}

// unanswered settles a call that came to nothing. Where a rate limit is why, the
// attempt is parked until it ends; where a key, an account or a model's name is,
// until the operator has mended that.
func (r *run) unanswered(ctx context.Context, m model.Provider, req *model.Request, err error) error {
	if e := r.settle(ctx, m, req, err); e != nil {
		return e
	}
	if at, limited := model.RetryAt(err); limited {
		return r.parkUntil(ctx, at)
	}
	if remedy := model.Remedy(err); remedy != "" {
		return r.parkForOperator(ctx, &loomv1.ModelBlock{Model: m.Name(), Code: fault.Code(err), Message: fault.From(err).Message, Remedy: remedy})
	}
	return err
}

func (r *run) fill(ctx context.Context, a *loomv1.ModelAnswer, resp *model.Response) error {
	var err error
	if resp.By != "" {
		a.Model, a.Scripted = resp.By, resp.Scripted
	}
	r.clean(resp)
	a.Usage, a.Summary = resp.Usage, cut(resp.Text, 60)
	if a.Text, err = r.Blobs.Put(ctx, []byte(resp.Text), "text/markdown; charset=utf-8"); err != nil {
		return err
	}
	if len(resp.Opaque) > 0 {
		if a.Opaque, err = r.Blobs.Put(ctx, resp.Opaque, "application/octet-stream"); err != nil {
			return err
		}
	}
	if resp.Stop == model.StopLength {
		a.Problem = fmt.Sprintf("your answer was cut off: it was longer than the %d tokens that one answer may have%s. No tool was called. Do the same in smaller steps: one file or one part of a file a call, and less text before it", r.output(), reasoned(r.thinking())) + turn.Uncalled(resp.Cut)
		return nil
	}
	a.Calls = r.unique(resp.Calls)
	return nil
}

// keptText is how many bytes are kept of the text of an answer that is refused.
const keptText = 16 << 10

// refusedAnswer is the answer that err refuses, as far as it is known, with what it cost.
func refusedAnswer(resp *model.Response, err error) *model.Response {
	if resp == nil {
		resp = model.Rejected(err)
	}
	if resp == nil {
		resp = &model.Response{}
	}
	resp.Usage = model.UsageOf(err)
	return resp
}

// fillRefused keeps of an answer that nobody can act on its text, and tells the model
// why and what it had called. All of that is recorded, so that whoever goes on asks
// with the same words.
func (r *run) fillRefused(ctx context.Context, a *loomv1.ModelAnswer, resp *model.Response, why error) (err error) {
	if resp.By != "" {
		a.Model, a.Scripted = resp.By, resp.Scripted
	}
	r.clean(resp)
	a.Usage, a.Problem = resp.Usage, useless(why)+turn.Uncalled(resp.Calls)
	if said := strings.TrimSpace(resp.Text); said != "" {
		a.Summary = cut(said, 60)
		a.Text, err = r.Blobs.Put(ctx, []byte(turn.Clip(said, keptText)), "text/markdown; charset=utf-8")
	}
	return err
}

// useless is what a model is told of an answer that nobody can act on.
func useless(err error) string {
	e := fault.From(err)
	return strings.TrimSuffix(fmt.Sprintf("%s. No tool was called; %s", e.Message, e.Hint), "; ")
}

// reasoned says that what an answer may have counts the reasoning before it.
func reasoned(t model.Thinking) string {
	if t == (model.Thinking{}) {
		return ""
	}
	return ", its reasoning included"
}

// clean takes the secrets out of an answer. What its provider wants back cannot
// be changed: with a secret in it, it is dropped.
func (r *run) clean(resp *model.Response) {
	resp.Text = r.Secrets.Text(resp.Text)
	for _, c := range slices.Concat(resp.Calls, resp.Cut) {
		c.Id, c.Tool, c.Arguments = r.Secrets.Text(c.Id), r.Secrets.Text(c.Tool), r.Secrets.Text(c.Arguments)
	}
	if len(r.Secrets.In(string(resp.Opaque))) > 0 {
		resp.Opaque = nil
	}
}

// parkUntil gives the agent up until a rate limit ends; that costs no attempt.
func (r *run) parkUntil(ctx context.Context, at time.Time) error {
	r.Logger.Info("work waits for the model's rate limit", "attempt", r.brief.Attempt.Id, "until", at)
	if err := r.seat.ParkUntil(ctx, at); err != nil {
		return err
	}
	return actors.ErrParked
}

// parkForOperator gives the agent up until the model can be asked; that costs no
// attempt either.
func (r *run) parkForOperator(ctx context.Context, block *loomv1.ModelBlock) error {
	r.Logger.Error("work waits for the operator", "attempt", r.brief.Attempt.Id, "model", block.Model, "because", block.Message, "remedy", block.Remedy)
	if err := r.seat.ParkForOperator(ctx, block); err != nil {
		return err
	}
	return actors.ErrParked
}
