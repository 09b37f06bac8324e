// Package window knows how many tokens models take, the question and the answer
// together, and which of them take pictures, as their vendors have published it. It
// is data with a date; it asks nobody.
package window

import (
	"regexp"
	"strings"
)

// Updated is when the table was last compared with its sources.
const Updated = "2026-11-21"

// Unknown is what a model is taken to take that the table does not have, such as
// one on a server of your own.
const Unknown = 32_768

// row is what is known of all models whose names begin with prefix; the first row
// that fits counts.
type row struct {
	provider, prefix string
	tokens           int
	blind            bool // it takes no pictures
}

// Sources: docs.anthropic.com (models overview), platform.openai.com (models),
// ai.google.dev (models). Where a vendor bounds the question alone, that bound
// is given.
var table = []row{
	{"anthropic", "claude-", 200_000, false},
	{"openai", "gpt-5", 272_000, false},
	{"openai", "gpt-4.1", 1_047_576, false},
	{"openai", "gpt-4o", 128_000, false},
	{"openai", "o1-mini", 128_000, true},
	{"openai", "o1", 200_000, false},
	{"openai", "o3-mini", 200_000, true},
	{"openai", "o3", 200_000, false},
	{"openai", "o4-mini", 200_000, false},
	{"google", "gemini-", 1_048_576, false},
}

// Of returns the window of a provider's model, or [Unknown].
func Of(provider, model string) int {
	if r, ok := find(provider, model); ok {
		return r.tokens
	}
	return Unknown
}

// Pictures reports whether a provider's model is known to take pictures.
func Pictures(provider, model string) bool {
	r, ok := find(provider, model)
	return ok && !r.blind
}

// claude finds a Claude in the names that gateways give it: claude-opus-4-6,
// anthropic/claude-opus-4.6, bedrock/us.anthropic.claude-opus-4-6-v1:0.
var claude = regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(claude-.*)`)

// Claude reports whether a model's name is that of a Claude, behind whatever server.
func Claude(model string) bool { return claude.MatchString(model) }

func find(provider, model string) (row, bool) {
	if name := claude.FindStringSubmatch(model); name != nil && provider == "openai" {
		provider, model = "anthropic", strings.ToLower(name[1]) // behind a gateway
	}
	for _, r := range table {
		if r.provider == provider && strings.HasPrefix(model, r.prefix) {
			return r, true
		}
	}
	return row{}, false
}
