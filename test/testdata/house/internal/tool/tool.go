// Package tool knows another effect; that it starts processes is its right.
package tool

import (
	_ "os/exec"

	_ "github.com/loomrun/loom/internal/git"
)

// Tool is a tool.
type Tool struct{}
