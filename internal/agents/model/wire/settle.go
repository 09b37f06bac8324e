package wire

import (
	"github.com/loomrun/loom/internal/agents/model"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// finish checks the answer of the try that succeeded and settles what all
// tries used.
func (a *asking) finish(c *Call) (*model.Response, error) {
	answer := c.response()
	answer.Usage = a.usage(c, answer)
	a.paid = answer.Usage
	return model.Clean(a.request, answer)
}

// usage is what the server reported, raised to what the text must at least
// have used: a server may err or lie, a budget must not. What tries that
// broke had used is counted in the same way. The price is known only if
// nothing had to be raised or counted.
func (a *asking) usage(c *Call, r *model.Response) *loomv1.Usage {
	prompt, wrote := model.Floor(a.request.Size()), model.Floor(r.Size())
	u := &loomv1.Usage{
		InputTokens:  max(c.tokens.Prompt(), prompt),
		OutputTokens: max(c.tokens.Output, wrote),

		CacheReadTokens: c.tokens.CacheRead, CacheWriteTokens: c.tokens.CacheWrite,
	}
	honest := c.counted && c.tokens.Prompt() >= prompt && c.tokens.Output >= wrote
	if rate := a.server.Price; rate != nil {
		raised := c.tokens
		raised.Input += u.InputTokens - c.tokens.Prompt()
		raised.Output = u.OutputTokens
		u.CostMicroUsd, u.CostKnown = rate.Cost(raised), honest
	}
	return add(u, a.spent())
}

// spent is what the tries that came to nothing have used, as far as it can be
// counted, and what that costs at least. Its price is known only if there were none.
func (a *asking) spent() *loomv1.Usage {
	u := &loomv1.Usage{CostKnown: len(a.lost) == 0}
	for _, lost := range a.lost {
		input := max(lost.tokens.Prompt(), model.Floor(a.request.Size()))
		output := max(lost.tokens.Output, model.Floor(lost.response().Size()))
		u.InputTokens += input
		u.OutputTokens += output
		if rate := a.server.Price; rate != nil {
			raised := lost.tokens
			raised.Input += input - lost.tokens.Prompt()
			raised.Output = output
			u.CostMicroUsd += rate.Cost(raised)
		}
	}
	return u
}

// underWay is how many tokens a model may have written that had not come in when its
// call was broken off: those of some seconds.
const underWay = 1000

// cut is what is known of the try that was under way when the asking was broken off. A
// token has at least one byte.
func (a *asking) cut() model.Cut {
	c := a.flight
	if c == nil {
		return model.Cut{}
	}
	return model.Cut{
		Sent: c.sent, Known: c.begun && c.plain && len(c.text.String())+len(c.calls) > 0,
		Input: c.tokens.Prompt(), Output: c.tokens.Output + uint64(c.response().Size()) + underWay,
	}
}

// used is what the request has used in all, whatever came of it.
func (a *asking) used() *loomv1.Usage {
	if a.paid != nil {
		return a.paid
	}
	return a.spent()
}

func add(u, more *loomv1.Usage) *loomv1.Usage {
	return &loomv1.Usage{
		InputTokens:  u.InputTokens + more.InputTokens,
		OutputTokens: u.OutputTokens + more.OutputTokens,
		CostMicroUsd: u.CostMicroUsd + more.CostMicroUsd,
		CostKnown:    u.CostKnown && more.CostKnown,

		CacheReadTokens: u.CacheReadTokens + more.CacheReadTokens, CacheWriteTokens: u.CacheWriteTokens + more.CacheWriteTokens,
	}
}

// MostCost is documented at [model.Priced].
func (s Server) MostCost(input, output uint64) (microUSD uint64, known bool) {
	if s.Price == nil {
		return 0, false
	}
	return s.Price.Most(input, output), true
}
