package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/loomrun/loom/internal/base/fault"
)

// Thinking says how a model is to reason before it answers. Its zero value leaves
// that to the model.
type Thinking struct {
	// Effort is one of [Efforts]; empty leaves it to the model.
	Effort string `json:"effort,omitempty"`

	// Tokens is what of MaxTokens is there for reasoning. A model that takes a
	// budget is given it; with any other it is room alone. Zero keeps none.
	Tokens int `json:"tokens,omitempty"`
}

// Efforts are the words for how much a model reasons, from the least to the most.
// No model knows all of them.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Thinker is a provider whose model can be told how to reason.
type Thinker interface {
	// CanThink returns model/no-thinking, with what would be right, where the
	// model is known to refuse a request with t.
	CanThink(t Thinking) error
}

// CanThink reports whether p can be asked to reason so. A provider behind which
// no language model stands can: nothing comes of it.
func CanThink(p Provider, t Thinking) error {
	if k, ok := p.(Thinker); ok && t != (Thinking{}) {
		return k.CanThink(t)
	}
	return nil
}

// CanThink asks all that are in the chain: each may have to answer.
func (c chain) CanThink(t Thinking) error {
	for _, p := range c {
		if err := CanThink(p, t); err != nil {
			return err
		}
	}
	return nil
}

// TooFew is the refusal of a budget that the model finds too small.
func TooFew(model string, tokens, least int) error {
	return fault.New("model/no-thinking", "%s takes no budget so small", model).Got(strconv.Itoa(tokens)).Want("thinking.tokens of %d or more", least)
}

// Takes returns nil if a model that knows these efforts can be asked for the one
// of t, and model/no-thinking otherwise.
func (t Thinking) Takes(model string, known ...string) error {
	switch {
	case t.Effort == "" || slices.Contains(known, t.Effort):
		return nil
	case len(known) == 0:
		return fault.New("model/no-thinking", "%s takes no effort", model).Got(t.Effort).Want("thinking.tokens alone, or another model")
	}
	return fault.New("model/no-thinking", "%s does not take that effort", model).Got(t.Effort).Want("one of %s", strings.Join(known, ", "))
}
