package isolation

import (
	"context"
	"slices"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/place/sandbox"
	"github.com/loomrun/loom/roles"
)

// Confinement says how a server is kept apart: in the sandbox, with a home of
// its own; or on the machine as it is, if the operator wants no sandbox; or it
// does not run at all.
type Confinement struct {
	Root, Home     string
	ReadOnly       bool
	Read           []string
	Sandbox, Allow bool
	Limit          roles.Sandbox // nothing said means the sandbox's own
	Bare           bool          // with nothing of the host's environment
}

// Start prepares a program that is kept apart so.
func (c Confinement) Start(ctx context.Context, argv, env []string, network bool) (*sandbox.Cmd, error) {
	more := toolEnv()
	if c.Bare {
		more = nil
	}
	env = append(tool.Environment(c.Home, more), env...)
	switch {
	case c.Sandbox:
		write := []string{c.Home}
		spec := limited(sandbox.Spec{Env: env, Read: slices.Clone(c.Read)}, c.Limit)
		spec.Network = network // that was trusted with it, whatever the role's commands have
		if !c.ReadOnly {
			write = append(write, c.Root)
		} else if real, ok := realPath(c.Root); ok {
			spec.Read = append(spec.Read, real)
		}
		return confine(ctx, spec, c.Root, write, argv)
	case c.Allow:
		return tool.Unconfined(ctx, c.Root, env, argv)
	}
	return nil, fault.New("tool/no-sandbox", "servers do not run here: there is no sandbox for them").
		Want("the operator may allow programs to run unsandboxed")
}
