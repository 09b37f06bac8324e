package price_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/model/price"
)

// A prompt of 2000 tokens, half of it from the cache, and an answer of 500.
func ExampleRate_Cost() {
	rate, ok := price.Of("anthropic", "claude-haiku-4-5-20251001")
	fmt.Println(rate.Cost(price.Tokens{Input: 1000, CacheRead: 1000, Output: 500}), ok)
	_, ok = price.Of("anthropic", "claude-of-tomorrow")
	fmt.Println(ok)
	// Output:
	// 3600 true
	// false
}

func TestAGENT02_PricesByName(t *testing.T) {
	for _, tt := range []struct {
		provider, model string
		known           bool
	}{
		{"anthropic", "claude-opus-4-6", true},
		{"anthropic", "claude-opus-4-5-20251101", true},
		{"openai", "gpt-4o-2024-08-06", true},
		{"openai", "claude-opus-4-6", false},
		{"anthropic", "claude-opus-4-6-fast", false},
		{"anthropic", "claude-opus-4-6-19990101", false},
		{"openai", "gpt-5-pro", false},
		{"openai", "-20251101", false},
		{"", "", false},
	} {
		if _, ok := price.Of(tt.provider, tt.model); ok != tt.known {
			t.Errorf("Of(%q, %q) known: %t, want %t", tt.provider, tt.model, ok, tt.known)
		}
	}
}

func TestF22_CostNeverOverflowsAndRoundsUp(t *testing.T) {
	rate, _ := price.Of("anthropic", "claude-opus-4-1")
	one, much := rate.Cost(price.Tokens{CacheRead: 1}), price.Tokens{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
	if one != 2 {
		t.Errorf("a token at 1.5 micro-dollars costs %d, want 2", one)
	}
	if got, least := rate.Cost(much), rate.Cost(price.Tokens{Output: math.MaxUint64}); got <= least {
		t.Errorf("the most of everything costs %d, of the answer alone %d", got, least)
	}
}

// The table says how old it is.
func TestAGENT02_TableIsDated(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, price.AsOf); err != nil {
		t.Error(err)
	}
}

// Some models cost more for long prompts, the whole of them.
func TestAGENT02_LongPromptsHaveAPriceOfTheirOwn(t *testing.T) {
	rate, _ := price.Of("google", "gemini-2.5-pro")
	short, long := rate.Cost(price.Tokens{Input: 200_000, Output: 1000}), rate.Cost(price.Tokens{Input: 200_000, CacheRead: 10, Output: 1000})
	if short != 250_000+10_000 || long != 500_000+3+15_000 {
		t.Errorf("at the bound %d, above it %d micro-dollars; want 260000 and 515003", short, long)
	}
	if most := rate.Most(300_000, 1000); most != 750_000+15_000 {
		t.Errorf("at most %d micro-dollars, want 765000", most)
	}
}
