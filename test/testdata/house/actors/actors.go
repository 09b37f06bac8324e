// Package actors names a tool instead of what it needs of one.
package actors

import (
	"github.com/loomrun/loom/internal/agents/tool"
)

// Tool is an effect.
type Tool = tool.Tool
