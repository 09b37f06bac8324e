package anthropic

import (
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/loomrun/loom/internal/agents/model"
)

// think asks for reasoning in the form that the model takes: a budget until Claude
// 4.5, and since 4.6 as much as the model itself finds right at an effort. Opus
// 4.7 refuses the budget.
func (p *provider) think(params *sdk.MessageNewParams, t model.Thinking) {
	if t == (model.Thinking{}) {
		return
	}
	params.OutputConfig.Effort = sdk.OutputConfigEffort(t.Effort)
	switch v, claude := versionOf(p.Server().Model); {
	case claude && v >= adaptive:
		params.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{}
	case t.Tokens > 0:
		params.Thinking = sdk.ThinkingConfigParamOfEnabled(int64(t.Tokens))
	}
}

// leastBudget is the smallest that the protocol takes.
const leastBudget = 1024

// CanThink is documented at [model.Thinker].
func (p *provider) CanThink(t model.Thinking) error {
	name := p.Server().Model
	v, claude := versionOf(name)
	switch {
	case claude && v < adaptive && t.Tokens > 0 && t.Tokens < leastBudget:
		return model.TooFew(p.Name(), t.Tokens, leastBudget)
	case !claude, v >= adaptive:
		return t.Takes(p.Name(), "low", "medium", "high", "xhigh", "max")
	case v == 405 && strings.Contains(name, "opus"):
		return t.Takes(p.Name(), "low", "medium", "high")
	}
	return t.Takes(p.Name())
}

// adaptive is the first version that finds by itself how much to reason.
const adaptive = 406

// numbers finds a version's numbers in a model's name: claude-opus-4-6,
// claude-3-7-sonnet-20250219, anthropic/claude-opus-4.6. A date is none.
var numbers = regexp.MustCompile(`(?:^|[^0-9a-z])([0-9]{1,2})(?:[-.]([0-9]{1,2}))?(?:$|[^0-9])`)

// versionOf returns the version of a Claude model, 406 for 4.6, and false for
// another maker's model behind the same protocol and for a name without a version.
func versionOf(name string) (int, bool) {
	_, rest, claude := strings.Cut(strings.ToLower(name), "claude")
	at := numbers.FindStringSubmatch(rest)
	if !claude || at == nil {
		return 0, false
	}
	major, _ := strconv.Atoi(at[1])
	minor, _ := strconv.Atoi(at[2]) // none is 0
	return 100*major + minor, true
}
