package agent_test

import (
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// TestREAL06_GuidanceIsOfToolsThatAreOffered leaves out of a process's guidance what
// is about tools that the role does not have.
func TestREAL06_GuidanceIsOfToolsThatAreOffered(t *testing.T) {
	b := full()
	b.Bead.Delegation = nil
	b.Definition = &loomv1.Definition{Name: "p", Guide: &loomv1.Guide{ToolGuidance: "Go slowly.\n\n" +
		"- Use `file_read` or `shell` to look.\n- Use `shell` for the narrowest test,\n  and then for the `suite`.\n- Ask `pkg_shop_stock`, and keep `words` short.\n\nWith `web_fetch` alone."}}
	const run = "for the narrowest test,\n  and then for the `suite`.\n"
	for role, runs := range map[string]bool{"implementer": true, "lead": false, "researcher": false} {
		b.Attempt.Role = role
		got := promptOf(b)
		for _, want := range []string{"Tools:\nGo slowly.\n", "- Use `file_read` or `shell` to look.\n", "- Ask `pkg_shop_stock`, and keep `words` short.\n"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not told %q:\n%s", role, want, got)
			}
		}
		if strings.Contains(got, run) != runs || strings.Contains(got, "web_fetch") {
			t.Errorf("%s is told\n%s", role, got)
		}
	}
	b.Definition.Guide.ToolGuidance, b.Attempt.Role = "Use `shell`.", "researcher"
	if got := promptOf(b); strings.Contains(got, "Tools:") {
		t.Errorf("there is nothing to say of tools:\n%s", got)
	}
}

// TestREAL06_APhaseIsToldOfChecksAndOfTheSubject names the required commands to who
// runs commands in a phase or names one more, and what a process's commit is called.
func TestREAL06_APhaseIsToldOfChecksAndOfTheSubject(t *testing.T) {
	b := full()
	b.Bead.Delegation = nil
	b.Node.Phase = &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_WORK}
	b.Definition = &loomv1.Definition{Name: "p", Guide: &loomv1.Guide{Persona: "Be exact."}}
	b.Execution.Checks = []string{"go test ./..."}
	for _, tt := range []struct {
		role, field   string
		part          loomv1.PhasePart
		checks, makes bool
	}{
		{"implementer", "done", loomv1.PhasePart_PHASE_PART_WORK, true, true},
		{"qa-engineer", "broken", loomv1.PhasePart_PHASE_PART_WORK, true, false},
		{"lead", "check", loomv1.PhasePart_PHASE_PART_WORK, true, false},
		{"lead", "done", loomv1.PhasePart_PHASE_PART_WORK, false, false},
		{"analyst", "done", loomv1.PhasePart_PHASE_PART_WORK, false, true},
		{"qa-engineer", "broken", loomv1.PhasePart_PHASE_PART_CHECK, false, false},
	} {
		b.Attempt.Role, b.Node.Phase.Part, b.Node.Outcome = tt.role, tt.part, map[string]string{tt.field: "string"}
		got := promptOf(b)
		if strings.Contains(got, "## Required checks\nThese commands must pass once all phases are done") != tt.checks ||
			strings.Contains(got, "the goal becomes the subject of the commit") != tt.makes {
			t.Errorf("%s with %s in part %s is told\n%s", tt.role, tt.field, tt.part, got)
		}
		if strings.Contains(got, "the summary becomes the subject") || strings.Contains(got, "on your worktree") {
			t.Errorf("%s is told what is not so in a phase:\n%s", tt.role, got)
		}
	}
	b.Node.Phase, b.Attempt.Role = nil, "implementer" // a workflow with a guide
	if got := promptOf(b); !strings.Contains(got, "the goal becomes the subject of the commit") {
		t.Errorf("who works by a guided workflow is told\n%s", got)
	}
}
