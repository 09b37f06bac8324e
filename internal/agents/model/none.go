package model

import (
	"context"

	"github.com/loomrun/loom/internal/base/fault"
)

// None is the provider of a host that was started without a model. Every request ends
// in model/none, which the operator can mend, so work waits and costs nothing.
type None struct{}

// Name implements [Provider].
func (None) Name() string { return "none" }

// Scripted implements [Provider].
func (None) Scripted() bool { return false }

// Ask implements [Provider].
func (None) Ask(context.Context, *Request, func(Chunk)) (*Response, error) {
	return nil, fault.New("model/none", "this host has no model")
}
