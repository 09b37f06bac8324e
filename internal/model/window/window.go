// Package window knows how many tokens models take, the question and the answer
// together, as their vendors have published it. It is data with a date; it
// asks nobody.
package window

import "strings"

// Updated is when the table was last compared with its sources.
const Updated = "2026-11-21"

// Unknown is what a model is taken to take that the table does not have, such as
// one on a server of your own.
const Unknown = 32_768

// row is the window of all models whose names begin with prefix; the first row
// that fits counts.
type row struct {
	provider, prefix string
	tokens           int
}

// Sources: docs.anthropic.com (models overview), platform.openai.com (models),
// ai.google.dev (models). Where a vendor bounds the question alone, that bound
// is given.
var table = []row{
	{"anthropic", "claude-", 200_000},
	{"openai", "gpt-5", 272_000},
	{"openai", "gpt-4.1", 1_047_576},
	{"openai", "gpt-4o", 128_000},
	{"openai", "o1", 200_000},
	{"openai", "o3", 200_000},
	{"openai", "o4-mini", 200_000},
	{"google", "gemini-", 1_048_576},
}

// Of returns the window of a provider's model, or [Unknown].
func Of(provider, model string) int {
	for _, r := range table {
		if r.provider == provider && strings.HasPrefix(model, r.prefix) {
			return r.tokens
		}
	}
	return Unknown
}
