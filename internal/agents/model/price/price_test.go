package price_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/loomrun/loom/internal/agents/model/price"
	"github.com/loomrun/loom/internal/base/fault"
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

// A table of one's own goes over the built-in one.
func TestAGENT02_TableOfAFile(t *testing.T) {
	l, err := price.Parse("p.yaml", []byte(`prices:
  "openai:own": {input: 0, output: 0}
  "openai:gpt-5": {input: 2.5, output: 20}
  "openai:small": {like: "openai:gpt-5-mini"}
`))
	if err != nil {
		t.Fatal(err)
	}
	million := price.Tokens{Input: 1_000_000, CacheRead: 1_000_000, Output: 1_000_000}
	for _, tt := range []struct {
		model string
		cost  uint64
		known bool
		from  string
	}{
		{"own", 0, true, "p.yaml"},
		{"gpt-5", 25_000_000, true, "p.yaml"}, // what is read from the cache costs what the prompt does
		{"small", 2_275_000, true, "list price of " + price.AsOf + " of openai:gpt-5-mini, as p.yaml says"},
		{"gpt-4o", 13_750_000, true, "list price of " + price.AsOf},
		{"unheard-of", 0, false, ""},
	} {
		q, ok := l.Of("openai", tt.model)
		if got := q.Cost(million); ok != tt.known || got != tt.cost || q.From != tt.from {
			t.Errorf("%s costs %d (known: %t, from %q), want %d (%t, %q)", tt.model, got, ok, q.From, tt.cost, tt.known, tt.from)
		}
	}
}

func TestAGENT02_TableOfAFileIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                               "yaml/missing-key",
		`prices: {"openai:a": {input: 1}}`: "price/value",
		`prices: {"openai:a": {input: -1, output: 1}}`:           "price/value",
		`prices: {"openai:a": {input: 10001, output: 1}}`:        "price/value",
		`prices: {"openai:a": {input: .nan, output: 1}}`:         "",
		`prices: {"openai:a": {input: 1, output: 1, cached: 1}}`: "yaml/unknown-key",
		`prices: {"openai:a": {like: "openai:gpt-5", input: 1}}`: "price/value",
		`prices: {"openai:a": {like: "openai:unheard-of"}}`:      "price/unknown",
		`prices: {"gpt-5": {input: 1, output: 1}}`:               "price/unknown",
		`prices: {"azure:gpt-5": {input: 1, output: 1}}`:         "price/unknown",
	} {
		_, err := price.Parse("p.yaml", []byte(text))
		if err == nil || want != "" && fault.Code(err) != want || !strings.Contains(err.Error(), "p.yaml:1:") {
			t.Errorf("Parse(%s): %v, want %s at p.yaml:1", text, err, want)
		}
	}
	if _, err := price.Like("claude-sonnet-4-5"); fault.Code(err) != "price/unknown" {
		t.Errorf("Like a model without its provider: %v, want price/unknown", err)
	}
	if _, err := price.Read("absent.yaml"); fault.Code(err) != "price/file" || !strings.Contains(err.Error(), "absent.yaml") {
		t.Errorf("Read of an absent file: %v, want price/file", err)
	}
}
