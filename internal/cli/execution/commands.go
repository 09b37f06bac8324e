// Package execution is the verbs about runs of a workflow: list, show, history, log, fork, say, events, output.
package execution

import "github.com/loomrun/loom/internal/cli/console"

// Commands makes the commands of this package over one console.
type Commands struct{ *console.Console }

// New returns the commands of this package.
func New(c *console.Console) *Commands { return &Commands{Console: c} }
