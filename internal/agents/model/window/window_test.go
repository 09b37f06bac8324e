package window

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/loomrun/loom/test/docs"
)

var update = flag.Bool("update", false, "write the windows of docs/models.md")

// The page has the windows as they are.
func TestAGENT03_WindowsAreWrittenDown(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "As of %s; the first row that fits a name counts:\n\n| model | tokens | takes pictures |\n|---|---|---|\n", Updated)
	for _, r := range table {
		fmt.Fprintf(&b, "| `%s:%s...` | %d | %s |\n", r.provider, r.prefix, r.tokens, map[bool]string{true: "no", false: "yes"}[r.blind])
	}
	fmt.Fprintf(&b, "| any other | %d | no |\n", Unknown)
	docs.Part(t, "../../../../docs/models.md", "windows", b.String(), *update)
}

// A Claude is known behind whatever gateway, and nothing else is taken for one.
func TestAGENT02_AClaudeIsKnownByItsName(t *testing.T) {
	for _, tt := range []struct {
		model  string
		claude bool
	}{
		{"claude-opus-4-6", true},
		{"anthropic/claude-opus-4.6", true},
		{"Anthropic/Claude-Opus-4.6", true},
		{"bedrock/us.anthropic.claude-opus-4-6-v1:0", true},
		{"vertex_ai/claude-opus-4-6@20260101", true},
		{"team-large", false},
		{"claudette-7b", false},
		{"notclaude-7b", false},
		{"gpt-5", false},
	} {
		tokens, pictures := Of("openai", tt.model), Pictures("openai", tt.model)
		if Claude(tt.model) != tt.claude || tt.claude && (tokens != 200_000 || !pictures) {
			t.Errorf("%s: a Claude: %t, %d tokens, pictures %t; want a Claude: %t", tt.model, Claude(tt.model), tokens, pictures, tt.claude)
		}
		if tt.claude && Of("google", tt.model) != Unknown {
			t.Errorf("%s is taken for a Claude at Google", tt.model)
		}
	}
}
