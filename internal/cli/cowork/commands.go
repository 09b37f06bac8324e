// Package cowork is the verbs about conversations with the lead of a project: talk, list,
// show, rename, search, fork, export, close.
package cowork

import "github.com/loomrun/loom/internal/cli/console"

// Commands makes the commands of this package over one console.
type Commands struct{ *console.Console }

// New returns the commands of this package.
func New(c *console.Console) *Commands { return &Commands{Console: c} }
