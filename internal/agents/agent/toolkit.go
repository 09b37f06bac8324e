package agent

import (
	"context"
	"slices"

	"github.com/loomrun/loom/internal/agents/tool"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// toolkit opens the tools of the process's package, if it has any, and gives
// them to the role: all that the process does not exclude, and where the
// workspace may not be changed, those that only read. One that the role asks
// about stays so.
func (j *job) toolkit(ctx context.Context, ws tool.Workspace) (list []tool.Outside, done func(), err error) {
	def := j.brief.Definition
	if def.GetToolkit() == "" || j.Toolkit == nil {
		return nil, func() {}, nil
	}
	all, done, err := j.Toolkit(ctx, OutsideQuery{
		Project: j.brief.Project, Role: j.role, Root: ws.Root, ReadOnly: ws.ReadOnly, Process: def.Name, Toolkit: def.Toolkit,
		Trusted: j.brief.Toolkit,
	})
	if err != nil {
		return nil, nil, err
	}
	for _, o := range all {
		if tool.Allows(def.GetGuide().GetExcludedTools(), o.Name) || ws.ReadOnly && o.Class != loomv1.ToolClass_TOOL_CLASS_READ {
			continue
		}
		list = append(list, o)
		if !tool.Allows(j.role.Tools.All(), o.Name) {
			j.role.Tools.Allow = append(slices.Clip(j.role.Tools.Allow), o.Name)
		}
	}
	return list, done, nil
}
