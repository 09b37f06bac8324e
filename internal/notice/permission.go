package notice

import (
	"fmt"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// allowances says what agents may do.
func allowances(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_PermissionSet:
		p := f.PermissionSet.GetPermission()
		return fmt.Sprintf("%s: permission %s: %s", about(e), p.GetId(), permission(p)) + after(": ", p.GetReason())
	case *loomv1.Event_PermissionRevoked:
		return fmt.Sprintf("%s: permission %s no longer holds", about(e), f.PermissionRevoked.GetId()) + after(": ", f.PermissionRevoked.GetReason())
	case *loomv1.Event_ToolsTrusted:
		t := f.ToolsTrusted.GetToolkit()
		return fmt.Sprintf("%s: tools of process %s are trusted on every host: %s", about(e), t.GetProcess(), strings.Join(t.GetTools(), ", ")) + after(": ", t.GetReason())
	case *loomv1.Event_ToolsDistrusted:
		return fmt.Sprintf("%s: tools of process %s are not trusted any more", about(e), f.ToolsDistrusted.GetProcess()) + after(": ", f.ToolsDistrusted.GetReason())
	}
	return ""
}

// permission says what a permission is about.
func permission(p *loomv1.Permission) string {
	s := fmt.Sprintf("%s %s to %s", word(p.GetVerdict()), named(p.GetTool(), "every tool"), named(p.GetRole(), "every role"))
	if p.GetPattern() != "" {
		s += " on " + p.GetPattern()
	}
	return s
}
