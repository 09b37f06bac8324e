package notice

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/loomrun/loom/internal/core/membership"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// people says what people are asked, did and allow, and what was not accepted.
func people(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_ApprovalRequested:
		a := f.ApprovalRequested.GetApproval()
		return fmt.Sprintf("%s: %s %s asked: %q", about(e), word(a.GetKind()), a.GetId(), part(a.GetQuestion())) + warned(a.GetChange().GetWarnings())
	case *loomv1.Event_BallotClosed:
		c := f.BallotClosed
		if c.GetOption() == "" {
			return fmt.Sprintf("%s: the vote on %s is void", about(e), c.GetDecision()) + after(": ", c.GetReason())
		}
		return fmt.Sprintf("%s: the vote on %s is decided for %s", about(e), c.GetDecision(), c.GetOption()) + after(": ", c.GetReason())
	case *loomv1.Event_PermissionSet:
		p := f.PermissionSet.GetPermission()
		return fmt.Sprintf("%s: permission %s: %s", about(e), p.GetId(), permission(p)) + after(": ", p.GetReason())
	case *loomv1.Event_OverrideGiven:
		o := f.OverrideGiven
		return fmt.Sprintf("%s: %s orders: %s %s", about(e), who(e), o.GetVerb(), named(o.GetAbout(), "the project")) + after(": ", o.GetReason())
	case *loomv1.Event_CommandRefused:
		r := f.CommandRefused
		return fmt.Sprintf("%s: command of %s refused: %s", about(e), who(e), named(r.GetVerb(), "unknown")) + after(" ", r.GetAbout()) + because(r.GetError())
	case *loomv1.Event_WorkPaused:
		p := f.WorkPaused.GetPause()
		return fmt.Sprintf("%s: %s paused", about(e), scope(p.GetScope(), p.GetName())) + after(": ", p.GetReason())
	case *loomv1.Event_WorkResumed:
		r := f.WorkResumed
		return fmt.Sprintf("%s: %s resumed", about(e), scope(r.GetScope(), r.GetName()))
	case *loomv1.Event_MemoryKept:
		m := f.MemoryKept.GetEntry()
		return fmt.Sprintf("%s: %s kept as %s: %q", about(e), named(m.GetType(), "memory"), m.GetId(), part(m.GetText())) + untrusted(m)
	case *loomv1.Event_MemoryOffered:
		o := f.MemoryOffered.GetOffer()
		return fmt.Sprintf("%s: %s is offered what is remembered: %s", about(e), named(o.GetNode(), named(e.Node, o.GetAttempt())), strings.Join(o.GetEntries(), ", "))
	case *loomv1.Event_LimitLifted:
		return fmt.Sprintf("%s: execution %s may go on %s", about(e), e.Execution, lifted(f.LimitLifted))
	}
	return ""
}

// untrusted says that an entry of the memory comes from outside.
func untrusted(m *loomv1.MemoryEntry) string {
	if m.GetTrust() == loomv1.MemoryTrust_MEMORY_TRUST_UNTRUSTED {
		return " (untrusted)"
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

// scope names what a pause covers.
func scope(s loomv1.PauseScope, name string) string {
	switch s {
	case loomv1.PauseScope_PAUSE_SCOPE_EXECUTION:
		return "execution " + name
	case loomv1.PauseScope_PAUSE_SCOPE_PROCESS:
		return "process " + name
	}
	return "all work"
}

func lifted(l *loomv1.LimitLifted) string {
	if l.GetDeadlineWaived() {
		return "beyond its deadline"
	}
	g, whose := l.GetGranted(), "its"
	if p := l.GetProject(); p != nil {
		g, whose = p, "the project's"
	}
	if p := l.GetDay(); p != nil {
		g, whose = p, "the project's daily"
	}
	return fmt.Sprintf("beyond %s budget: up to %d tokens, %d micro-dollars, %d seconds (0 is no limit)", whose, g.GetTokens(), g.GetMicroUsd(), g.GetWallSeconds())
}

// kin says what executions come from each other, and who is there to work.
func kin(e *loomv1.Event) string {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_MailSent:
		return mailText(e, f.MailSent.GetMail())
	case *loomv1.Event_TaskEnded:
		verb := "failed"
		if f.TaskEnded.GetOutcome().GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS {
			verb = "succeeded"
		}
		return fmt.Sprintf("%s: task %s of %s %s", about(e), f.TaskEnded.GetBead(), e.Node, verb) + after(": ", f.TaskEnded.GetOutcome().GetSummary())
	case *loomv1.Event_PlanAdopted:
		p := f.PlanAdopted.GetPlan()
		return fmt.Sprintf("%s: plan %d of execution %s: %s", about(e), p.GetNumber(), e.Execution, planLine(p))
	case *loomv1.Event_RolesReported:
		r := f.RolesReported
		return fmt.Sprintf("%s: host %s has agents: %s", about(e), r.GetHost(), agents(r.GetRoles().GetAgents()))
	case *loomv1.Event_RoleScaled:
		return fmt.Sprintf("%s: %s wants %s", about(e), who(e), scaled(f.RoleScaled.GetScale())) + after(": ", f.RoleScaled.GetReason())
	case *loomv1.Event_HostDrained:
		d := f.HostDrained
		does := "takes no new work"
		if d.GetUndone() {
			does = "takes work again"
		}
		return fmt.Sprintf("%s: host %s %s, says %s", about(e), d.GetHost(), does, who(e)) + after(": ", d.GetReason())
	case *loomv1.Event_MembersChanged:
		c := f.MembersChanged
		return fmt.Sprintf("%s: the list of hosts was changed by %s: %s", about(e), who(e), membership.Words(c)) + after(": ", c.GetReason())
	}
	return ""
}

// scaled says what is wanted of a role.
func scaled(s *loomv1.Scale) string {
	var parts []string
	if s != nil && s.Agents != nil {
		parts = append(parts, fmt.Sprintf("%d of the role %s", s.GetAgents(), s.GetRole()))
	}
	for _, host := range slices.Sorted(maps.Keys(s.GetOnHost())) {
		parts = append(parts, fmt.Sprintf("%d %s on %s", s.GetOnHost()[host], s.GetRole(), host))
	}
	if len(parts) == 0 {
		parts = append(parts, "what each host has of the role "+s.GetRole())
	}
	if len(s.GetHosts()) > 0 {
		parts = append(parts, "only on "+strings.Join(s.GetHosts(), ", "))
	}
	for _, k := range slices.Sorted(maps.Keys(s.GetLabels())) {
		parts = append(parts, fmt.Sprintf("only where %s is %s", k, s.GetLabels()[k]))
	}
	return strings.Join(parts, ", ")
}

func agents(count map[string]uint32) string {
	s := ""
	for _, role := range slices.Sorted(maps.Keys(count)) {
		if n := count[role]; n > 0 {
			s += fmt.Sprintf(", %s %d", role, n)
		}
	}
	if s == "" {
		return "none"
	}
	return s[2:]
}

// planLine tells the phases of a plan, and what it goes without.
func planLine(p *loomv1.Plan) string {
	ids := make([]string, 0, len(p.GetPhases()))
	for _, ph := range p.GetPhases() {
		ids = append(ids, ph.GetId())
	}
	line := strings.Join(ids, ", ")
	for _, l := range p.GetLeftOut() {
		line += "; without " + l.GetPhase() + after(": ", l.GetReason())
	}
	return line
}

// mailText says what was written in a team, and to whom.
func mailText(e *loomv1.Event, m *loomv1.Mail) string {
	from := "Loom"
	if m.GetAttempt() != "" {
		from = m.GetFrom().GetName()
	}
	kind := strings.ToLower(strings.TrimPrefix(m.GetKind().String(), "MAIL_KIND_"))
	return fmt.Sprintf("%s: %s writes to %s, %s", about(e), from, m.GetRole(), kind) + after(": ", m.GetText())
}
