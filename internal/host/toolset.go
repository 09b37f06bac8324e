package host

import (
	"context"
	"maps"
	"slices"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
)

// toolset is what a host gives to the tools of every workspace.
type toolset struct {
	sources *tool.Sources
	// lacking are the tools that are not set up here, and what to do.
	lacking map[string]*fault.Error
}

// names of the tools that are not set up, sorted.
func (t toolset) lacks() []string { return slices.Sorted(maps.Keys(t.lacking)) }

// openToolset makes the clients of what agents may ask, and finds out which tools are
// not set up. It asks nobody. A worker of the configuration's has tools of its own.
func (h *Host) openToolset(context.Context) (err error) {
	if h.config.Worker != nil {
		return nil
	}
	if h.tools.sources, err = h.config.Sources.open(); err != nil {
		return err
	}
	policy := tool.Policy{Allow: h.config.Unsandboxed || h.commands.Sandboxed()}
	h.tools.lacking = tool.NotSetUp(tool.Workspace{Sources: h.tools.sources, Exec: policy, Servers: h.config.LanguageServers})
	return nil
}
