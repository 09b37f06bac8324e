package host

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/loomrun/loom/internal/agents/tool"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/net/mcpserver"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Workbench returns the tools that work on the files of a directory, for
// clients outside of any execution: those that read, and with write those that
// change files. None runs a command, asks the network or knows a graph.
func Workbench(dir string, write bool) ([]mcpserver.Tool, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New("usage/argument", "not a directory").At("--workspace").Got(dir).Because(err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, fault.New("usage/argument", "not a directory").At("--workspace").Got(dir)
	}
	set := tool.New(tool.Workspace{Root: root, ReadOnly: !write}, nil)
	allow := benchTools(set, write)
	var list []mcpserver.Tool
	var files sync.RWMutex // who changes files is alone with them
	for _, s := range set.Specs(allow) {
		reads := s.Class == loomv1.ToolClass_TOOL_CLASS_READ
		list = append(list, mcpserver.Tool{
			Name: s.Name, Description: s.Description, Schema: s.Schema, ReadOnly: reads,
			Call: func(ctx context.Context, arguments string) (string, bool) {
				if reads {
					files.RLock()
					defer files.RUnlock()
				} else {
					files.Lock()
					defer files.Unlock()
				}
				r := set.Call(ctx, allow, 0, &loomv1.ToolCall{Id: rand.Text(), Tool: s.Name, Arguments: arguments})
				return r.Output, r.Status != loomv1.ToolStatus_TOOL_STATUS_OK
			},
		})
	}
	return list, nil
}

// benchTools are the tools that a set can carry out for a client who is no agent:
// who runs no command, is in no team and keeps no plan.
func benchTools(set *tool.Set, write bool) (names []string) {
	known := roles.KnownTools()
	unusable := set.Unusable(known)
	for _, name := range known {
		class := tool.Class(name)
		fits := class == loomv1.ToolClass_TOOL_CLASS_READ || write && class == loomv1.ToolClass_TOOL_CLASS_WRITE
		if fits && name != "todo" && !tool.ForTeam(name) && !slices.Contains(unusable, name) {
			names = append(names, name)
		}
	}
	return names
}
