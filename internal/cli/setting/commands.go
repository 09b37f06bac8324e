// Package setting is the verbs about configuration and the fitness of a machine: config, doctor, init.
package setting

import "github.com/loomrun/loom/internal/cli/console"

// Commands makes the commands of this package over one console.
type Commands struct{ *console.Console }

// New returns the commands of this package.
func New(c *console.Console) *Commands { return &Commands{Console: c} }
