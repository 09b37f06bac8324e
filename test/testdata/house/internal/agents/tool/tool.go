// Package tool knows a store; that it starts processes is its right.
package tool

import (
	_ "os/exec"

	_ "github.com/loomrun/loom/internal/store/blob"
)

// Tool is a tool.
type Tool struct{}
