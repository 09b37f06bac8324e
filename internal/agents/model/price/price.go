// Package price knows what the best known models cost, and reads from a file
// what others do. It never guesses: a model that is in neither has no price,
// which is not a price of nothing.
package price

import "strings"

// Rate is a price list in micro-dollars for a million tokens.
type Rate struct {
	Input      uint64 // of the prompt, not cached
	CacheWrite uint64 // of the prompt, put into the cache
	CacheRead  uint64 // of the prompt, taken from the cache
	Output     uint64

	// Above and Long, when set, are the price list of answers to prompts of
	// more tokens than Above.
	Above uint64
	Long  *Rate
}

// Tokens counts what one answer used. The three counts of the prompt do not
// overlap.
type Tokens struct {
	Input, CacheWrite, CacheRead, Output uint64
}

// Prompt returns the tokens of the whole prompt.
func (t Tokens) Prompt() uint64 { return t.Input + t.CacheWrite + t.CacheRead }

// most is more tokens than any answer has; counts above it are taken for it,
// so that no sum overflows.
const most = 1 << 34

// Bounded returns t with every count at most 2^34.
func (t Tokens) Bounded() Tokens {
	return Tokens{min(t.Input, most), min(t.CacheWrite, most), min(t.CacheRead, most), min(t.Output, most)}
}

// million is the number of tokens that a [Rate] is for.
const million = 1_000_000

// Cost returns the price of t in micro-dollars, rounded up.
func (r Rate) Cost(t Tokens) uint64 {
	t = t.Bounded()
	if r.Long != nil && t.Prompt() > r.Above {
		return r.Long.Cost(t)
	}
	var whole, rest uint64 // of a million tokens and of what is over, so that no product overflows
	for _, p := range [][2]uint64{{t.Input, r.Input}, {t.CacheWrite, r.CacheWrite}, {t.CacheRead, r.CacheRead}, {t.Output, r.Output}} {
		whole += p[0] / million * p[1]
		rest += p[0] % million * p[1]
	}
	return whole + (rest+million-1)/million
}

// Of returns the rate of a model of a provider, "anthropic", "google" or "openai", at
// list price. A date at the end of the name does not matter.
func Of(provider, model string) (Rate, bool) {
	r, ok := table[provider][undated(model)]
	return r, ok
}

// undated cuts "-20251001" or "-2025-10-01" off a model's name.
func undated(model string) string {
	for _, layout := range []string{"-dddddddd", "-dddd-dd-dd"} {
		if name, ok := cutDate(model, layout); ok {
			return name
		}
	}
	return model
}

func cutDate(model, layout string) (string, bool) {
	at := len(model) - len(layout)
	if at <= 0 {
		return "", false
	}
	shape := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' {
			return 'd'
		}
		return c
	}, model[at:])
	return model[:at], shape == layout && strings.HasPrefix(model[at:], "-20")
}

// Most returns what so many tokens cost at most, however the cache fares, in
// micro-dollars, rounded up.
func (r Rate) Most(input, output uint64) uint64 {
	if r.Long != nil && input > r.Above {
		return r.Long.Most(input, output)
	}
	r.Input = max(r.Input, r.CacheWrite)
	return r.Cost(Tokens{Input: input, Output: output})
}
