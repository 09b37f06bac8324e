package notice

import (
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// allowances says what agents may do, and what model calls may use.
func allowances(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_PermissionSet:
		p := f.PermissionSet.GetPermission()
		return fmt.Sprintf("%s: permission %s: %s", about(e), p.GetId(), permission(p)) + after(": ", p.GetReason())
	case *loomv1.Event_PermissionRevoked:
		return fmt.Sprintf("%s: permission %s no longer holds", about(e), f.PermissionRevoked.GetId()) + after(": ", f.PermissionRevoked.GetReason())
	case *loomv1.Event_CallReserved:
		r := f.CallReserved.GetReservation()
		return fmt.Sprintf("%s: %s holds back %d tokens and %.6f USD for a model call", about(e), who(e), r.GetTokens(), dollars(r.GetMicroUsd()))
	case *loomv1.Event_CallSettled:
		u := f.CallSettled.GetUsage()
		return fmt.Sprintf("%s: a model call without an answer counts as %d tokens and %.6f USD", about(e),
			u.GetInputTokens()+u.GetOutputTokens(), dollars(int64(u.GetCostMicroUsd()))) + after(": ", f.CallSettled.GetReason())
	case *loomv1.Event_ProjectBudgetSet:
		b := f.ProjectBudgetSet.GetBudget()
		return fmt.Sprintf("%s: all work may use %d tokens, %.6f USD, %d model calls (0 is no limit)", about(e),
			b.GetTokens(), dollars(b.GetMicroUsd()), b.GetCalls()) + after(": ", f.ProjectBudgetSet.GetReason())
	}
	return ""
}

func dollars(micro int64) float64 { return float64(micro) / 1e6 }

// permission says what a permission is about.
func permission(p *loomv1.Permission) string {
	s := fmt.Sprintf("%s %s to %s", word(p.GetVerdict()), named(p.GetTool(), "every tool"), named(p.GetRole(), "every role"))
	if p.GetPattern() != "" {
		s += " on " + p.GetPattern()
	}
	return s
}
