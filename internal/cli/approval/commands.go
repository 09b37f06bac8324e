// Package approval answers what waits for the CEO, and gives signed orders: inbox, approve, reject, answer, override, pause, resume, permission.
package approval

import "github.com/loomrun/loom/internal/cli/console"

// Commands makes the commands of this package over one console.
type Commands struct{ *console.Console }

// New returns the commands of this package.
func New(c *console.Console) *Commands { return &Commands{Console: c} }
