package model

import (
	"context"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// chain asks one model after the other.
type chain []Provider

// Chain returns a provider that asks the first, and the next whenever one has
// no answer to give: its server cannot be reached, fails or is over a rate
// limit, it knows no such model, or it refuses the key. An answer ends it, also
// one that is of no use, and so does a refusal of the request itself. If none
// answers and one is over its rate limit, that is the error, until the earliest
// moment at which one of them may be asked again. [Response].By says which one
// answered; the usage is that of all. There must be at least one.
func Chain(first Provider, next ...Provider) Provider {
	if len(next) == 0 {
		return first
	}
	return append(chain{first}, next...)
}

// Name returns the names of all, with commas between them.
func (c chain) Name() string {
	names := make([]string, len(c))
	for i, p := range c {
		names[i] = p.Name()
	}
	return strings.Join(names, ",")
}

// Scripted says that none of them is a language model. Which one answered is
// for [Response].By.
func (c chain) Scripted() bool {
	return !slices.ContainsFunc(c, func(p Provider) bool { return !p.Scripted() })
}

// Ask is documented at [Provider].
func (c chain) Ask(ctx context.Context, r *Request, onChunk func(Chunk)) (*Response, error) {
	used := &loomv1.Usage{CostKnown: true}
	var failed []error
	for _, p := range c {
		resp, err := p.Ask(ctx, r.For(p.Name()), onChunk)
		if err == nil {
			resp.By, resp.Scripted, resp.Usage = p.Name(), p.Scripted(), sum(used, resp.Usage)
			return resp, nil
		}
		used = sum(used, UsageOf(err))
		if failed = append(failed, err); ctx.Err() != nil || !unavailable(err) {
			return nil, Spent(err, used)
		}
		if onChunk != nil {
			onChunk(Chunk{Discard: true})
		}
	}
	return nil, Spent(worst(failed), used)
}

// unavailable reports whether err is about the model, and not about what it was
// asked or what it said.
func unavailable(err error) bool {
	switch fault.Code(err) {
	case "model/unavailable", "model/timeout", "model/rate-limited":
		return true
	}
	return Remedy(err) != ""
}

// worst returns the limit that ends first, or else the last error.
func worst(failed []error) error {
	err := failed[len(failed)-1]
	for _, f := range failed {
		at, limited := RetryAt(f)
		if old, ok := RetryAt(err); limited && (!ok || at.Before(old)) {
			err = f
		}
	}
	return err
}

// sum adds what two requests used.
func sum(a, b *loomv1.Usage) *loomv1.Usage {
	return &loomv1.Usage{
		InputTokens:  a.GetInputTokens() + b.GetInputTokens(),
		OutputTokens: a.GetOutputTokens() + b.GetOutputTokens(),
		CostMicroUsd: a.GetCostMicroUsd() + b.GetCostMicroUsd(),
		CostKnown:    a.GetCostKnown() && b.GetCostKnown(),

		CacheReadTokens: a.GetCacheReadTokens() + b.GetCacheReadTokens(), CacheWriteTokens: a.GetCacheWriteTokens() + b.GetCacheWriteTokens(),
	}
}

// For returns the request as the provider of that name may see it: without what
// others want back of their answers.
func (r *Request) For(name string) *Request {
	if !slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Opaque != nil && m.By != name }) {
		return r
	}
	out := *r
	out.Messages = slices.Clone(r.Messages)
	for i := range out.Messages {
		if out.Messages[i].By != name {
			out.Messages[i].Opaque = nil
		}
	}
	return &out
}
