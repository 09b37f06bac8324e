package approval

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Nothing that is signed is cut, and what would steer a terminal or not be seen is
// spelt out.
func TestCLI01_NothingThatIsSignedIsCut(t *testing.T) {
	long := strings.Repeat("x", 3000) + "|the end"
	fields, err := structpb.NewStruct(map[string]any{"cause": long, "steps": "first\nsecond\x1b"})
	if err != nil {
		t.Fatal(err)
	}
	p := &loomv1.Approval{
		Id: "shop-2", Question: "question " + long, Reason: "reason " + long, Checks: []string{"check " + long + "\u202e"}, Intent: "intent " + long + "\nand\x1b[2J more",
		Plan:       &loomv1.Plan{Why: "plan " + long, Phases: []*loomv1.PlannedPhase{{Id: "one", Description: "phase " + long}}, LeftOut: []*loomv1.LeftOut{{Phase: "two", Reason: "left " + long}}},
		Change:     &loomv1.Change{Makers: []string{"implementer"}, Warnings: []*loomv1.PatchWarning{{Kind: "large", Path: "a", Text: "warning " + long}}, Files: []*loomv1.ChangedFile{{Path: "path " + long}}},
		Work:       []*loomv1.Attempt{{Node: "verify", Role: "qa", Outcome: &loomv1.Outcome{Summary: "summary " + long, Notes: "notes " + long, Fields: fields, Checks: []*loomv1.CheckRun{{Command: "ran " + long, Passed: true}}}}},
		Considered: []*loomv1.Considered{{Title: "title " + long, Why: "why " + long}},
		NextSteps:  []string{"step " + long}, Usage: &loomv1.Usage{InputTokens: 3, OutputTokens: 4, CostMicroUsd: 120, CostKnown: true},
	}
	p.Digest = workflow.Digest(p)
	var w bytes.Buffer
	ApprovalText(&w, 0, p, "", plain)
	for _, word := range []string{"question", "reason", "check", "intent", "plan", "phase", "left", "warning", "path", "summary", "notes", "ran", "title", "why", "step"} {
		if !strings.Contains(w.String(), word+" ") {
			t.Errorf("%s is not shown", word)
		}
	}
	if got := strings.Count(w.String(), "|the end"); got != 16 {
		t.Errorf("%d of 16 texts are whole", got)
	}
	for _, want := range []string{"qa (", "implementer", "7 tokens, $0.0001", `\u202e`, `and\x1b[2J more`, "    | steps =\n    |   first\n    |   second\\x1b\n"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
	if strings.ContainsAny(w.String(), "\x1b\u202e") || strings.Contains(w.String(), "WARNING") {
		t.Error("what steers a terminal is shown as it is, or it is not what the digest covers")
	}
	p.Reason += "."
	ApprovalText(&w, 0, p, "", plain)
	if !strings.Contains(w.String(), "WARNING: what is shown") {
		t.Error("another text than the signed one is shown without a warning")
	}
}

// Who approves a change is shown which checks Loom has run on it, and told where it has
// run none: neither what another change passed nor a word of an agent is taken for that.
func TestHUM01_AProposalSaysWhatWasRunOnIt(t *testing.T) {
	const none = "Loom has run no check on this change yet"
	work := func(node, patch string, checks ...*loomv1.CheckRun) *loomv1.Attempt {
		out := &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: "all tests pass", Checks: checks}
		if patch != "" {
			out.Change = &loomv1.Change{PatchDigest: patch}
		}
		return &loomv1.Attempt{Node: node, Role: "engineer", Outcome: out}
	}
	ran := &loomv1.CheckRun{Command: "go test ./...", Passed: true}
	onCandidate := &loomv1.CheckRun{Command: "go vet ./...", ExitCode: 2, Commit: strings.Repeat("ab", 20)}
	for _, tt := range []struct {
		name string
		kind loomv1.ApprovalKind
		work []*loomv1.Attempt
		want string
	}{
		{"run where it was made", loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, []*loomv1.Attempt{work("fix", "p2", ran)}, "  Loom ran in the work tree of fix, with the files that git ignores:\n    passed: go test ./... (exit 0)\n"},
		{"run on its candidate", loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, []*loomv1.Attempt{work("fix", "p2"), work("verify", "", onCandidate)}, "  Loom ran on a clean checkout of abababababab:\n    failed: go vet ./... (exit 2)\n"},
		{"none", loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, []*loomv1.Attempt{work("fix", "p2")}, none},
		{"on another change", loomv1.ApprovalKind_APPROVAL_KIND_APPROVAL, []*loomv1.Attempt{work("fix", "p1", ran), work("polish", "p2")}, none},
		{"an escalation asks for no change", loomv1.ApprovalKind_APPROVAL_KIND_ESCALATION, []*loomv1.Attempt{work("fix", "p2")}, ""},
	} {
		p := &loomv1.Approval{Id: "shop-2", Kind: tt.kind, Change: &loomv1.Change{PatchDigest: "p2"}, Work: tt.work}
		var w bytes.Buffer
		ApprovalText(&w, 0, p, "", plain)
		if !strings.Contains(w.String(), tt.want) || strings.Contains(w.String(), none) != (tt.want == none) {
			t.Errorf("%s:\n%s\nwant %q", tt.name, w.String(), tt.want)
		}
	}
}

// TestSIGN03_WhatAnAgentSaysIsNotTakenForACheck has an agent say, in all that it can say,
// what Loom says of a check: none of it stands where Loom's own lines do, on any screen.
func TestSIGN03_WhatAnAgentSaysIsNotTakenForACheck(t *testing.T) {
	const heading, check = "  Loom ran in the work tree of fix, with the files that git ignores:", "    passed: go test ./... (exit 0)"
	lines := heading + "\n" + check + "\n" + strings.TrimSpace(heading) + "\n" + strings.TrimSpace(check) + "\n"
	for _, width := range append([]int{0}, widths(24, 100)...) {
		pad := strings.Repeat("x", max(0, width-9)) + " " // the rest begins a line of the screen
		forged := lines + pad + strings.TrimSpace(heading) + strings.Repeat(" ", width) + strings.TrimSpace(check) + "\n" + lines
		fields, err := structpb.NewStruct(map[string]any{"one": forged, "two": pad + strings.TrimSpace(check)})
		if err != nil {
			t.Fatal(err)
		}
		said := &loomv1.Attempt{Node: "fix", Role: "engineer", Outcome: &loomv1.Outcome{
			Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Summary: forged, Notes: forged, Fields: fields, Document: &loomv1.ShownDocument{Preview: forged, Changes: []string{forged}},
		}}
		p := &loomv1.Approval{
			Id: "shop-2", Question: "engineer/1 asks: " + forged, Reason: forged, Intent: forged, Plan: &loomv1.Plan{Number: 1, Why: forged},
			Work: []*loomv1.Attempt{said}, History: []*loomv1.Attempt{said}, Considered: []*loomv1.Considered{{Id: "d1", Title: forged, Why: forged}},
			Permission: &loomv1.PermissionQuestion{Role: "engineer", Tool: "shell", Subjects: []string{forged}, Arguments: forged},
		}
		for _, real := range []bool{false, true} {
			if real {
				said.Outcome.Checks = []*loomv1.CheckRun{{Command: "go test ./...", Passed: true}}
			}
			var w bytes.Buffer
			ApprovalText(&w, width, p, "", plain)
			got := strings.Count("\n"+w.String(), "\n"+heading[:12]) + strings.Count("\n"+w.String(), "\n"+check[:11])
			if want := map[bool]int{true: 2}[real]; got != want {
				t.Fatalf("in %d columns Loom has %d lines of checks, want %d\n%s", width, got, want, w.String())
			}
		}
	}
}

func widths(from, to int) (list []int) {
	for n := from; n < to; n++ {
		list = append(list, n)
	}
	return list
}

// TestSIGN01_AProposalSaysWhoDecided shows who made what was weighed: an agent's
// "CEO approved" is an agent's.
func TestSIGN01_AProposalSaysWhoDecided(t *testing.T) {
	p := &loomv1.Approval{Id: "shop-2", Considered: []*loomv1.Considered{
		{Id: "d1", Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Status: loomv1.DecisionStatus_DECISION_STATUS_ACTIVE, Title: "CEO approved: all", Author: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_AGENT, Name: "implementer/1@h1"}},
		{Id: "d2", Type: loomv1.DecisionType_DECISION_TYPE_DECISION, Status: loomv1.DecisionStatus_DECISION_STATUS_ACTIVE, Title: "CEO approved: one", Author: &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_CEO, Name: "laptop"}},
	}}
	var w bytes.Buffer
	ApprovalText(&w, 0, p, "", plain)
	for _, want := range []string{"  decision d1 by implementer/1 (active):\n", "  decision d2 by the CEO (active):\n"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("no %q in\n%s", want, w.String())
		}
	}
}
