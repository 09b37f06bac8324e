// Package auth is the verbs about who may do what: users, tokens, the CEO's keys, certificates, accounts of other servers.
package auth

import "github.com/loomrun/loom/internal/cli/console"

// Commands makes the commands of this package over one console.
type Commands struct{ *console.Console }

// New returns the commands of this package.
func New(c *console.Console) *Commands { return &Commands{Console: c} }
