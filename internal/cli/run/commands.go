// Package run is the verbs that do work on this machine from the beginning to the end: demo, run, replay, and the tests of processes.
package run

import "github.com/loomrun/loom/internal/cli/console"

// Commands makes the commands of this package over one console.
type Commands struct{ *console.Console }

// New returns the commands of this package.
func New(c *console.Console) *Commands { return &Commands{Console: c} }
