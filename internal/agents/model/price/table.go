package price

// AsOf says when the table was last compared with its sources.
const AsOf = "2026-06-21"

// Sources of the table.
const (
	AnthropicSource = "https://platform.claude.com/docs/en/about-claude/pricing"
	GoogleSource    = "https://ai.google.dev/gemini-api/docs/pricing"
	OpenAISource    = "https://platform.openai.com/docs/pricing"
)

// dollar is a dollar for a million tokens.
const dollar = 1_000_000

// cent is a hundredth of a dollar for a million tokens.
const cent = dollar / 100

// claude is Anthropic's scheme: writing the five-minute cache costs a quarter
// more than the prompt, reading it a tenth.
func claude(input, output uint64) Rate {
	return Rate{Input: input, CacheWrite: input * 5 / 4, CacheRead: input / 10, Output: output}
}

// gpt is OpenAI's scheme: the cache is written for nothing extra.
func gpt(input, cached, output uint64) Rate {
	return Rate{Input: input, CacheWrite: input, CacheRead: cached, Output: output}
}

// gemini is Google's scheme: what is cached without being asked to costs a tenth
// of the prompt, and nothing to write.
func gemini(input, output uint64) Rate {
	return Rate{Input: input, CacheWrite: input, CacheRead: input / 10, Output: output}
}

// long gives r another price list for prompts of more than 200,000 tokens.
func (r Rate) long(input, output uint64) Rate {
	other := gemini(input, output)
	r.Above, r.Long = 200_000, &other
	return r
}

// table is what the sources say, for standard processing without surcharges
// for regions or speed.
var table = map[string]map[string]Rate{
	"anthropic": {
		"claude-opus-4-7":   claude(5*dollar, 25*dollar),
		"claude-opus-4-6":   claude(5*dollar, 25*dollar),
		"claude-opus-4-5":   claude(5*dollar, 25*dollar),
		"claude-opus-4-1":   claude(15*dollar, 75*dollar),
		"claude-sonnet-4-6": claude(3*dollar, 15*dollar),
		"claude-sonnet-4-5": claude(3*dollar, 15*dollar),
		"claude-haiku-4-5":  claude(1*dollar, 5*dollar),
	},
	"google": {
		"gemini-2.5-pro":        gemini(125*cent, 10*dollar).long(250*cent, 15*dollar),
		"gemini-2.5-flash":      gemini(30*cent, 250*cent),
		"gemini-2.5-flash-lite": gemini(10*cent, 40*cent),
	},
	"openai": {
		"gpt-5.1":      gpt(125*cent, 125*cent/10, 10*dollar),
		"gpt-5":        gpt(125*cent, 125*cent/10, 10*dollar),
		"gpt-5-mini":   gpt(25*cent, 25*cent/10, 2*dollar),
		"gpt-5-nano":   gpt(5*cent, 5*cent/10, 40*cent),
		"gpt-4.1":      gpt(2*dollar, 50*cent, 8*dollar),
		"gpt-4.1-mini": gpt(40*cent, 10*cent, 160*cent),
		"gpt-4.1-nano": gpt(10*cent, 25*cent/10, 40*cent),
		"gpt-4o":       gpt(250*cent, 125*cent, 10*dollar),
		"gpt-4o-mini":  gpt(15*cent, 75*cent/10, 60*cent),
		"o3":           gpt(2*dollar, 50*cent, 8*dollar),
		"o4-mini":      gpt(110*cent, 275*cent/10, 440*cent),
	},
}
