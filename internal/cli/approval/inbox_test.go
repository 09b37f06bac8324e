package approval

import (
	"bytes"
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func TestWF09_TheInboxSaysHowManyFilesItLeavesOut(t *testing.T) {
	file := []*loomv1.ChangedFile{{Path: "cart.go", Status: "modified", Added: 1}}
	for _, tt := range []struct {
		files []*loomv1.ChangedFile
		total uint32
		want  string
	}{
		{nil, 0, ""},
		{nil, 1, "  files changed: 1\n"},
		{file, 1, "  modified cart.go +1 -0\n"},
		{file, 3, "  modified cart.go +1 -0\n  more files changed: 2\n"},
	} {
		var w bytes.Buffer
		approvalHead(&w, &loomv1.Approval{Id: "shop-2", Change: &loomv1.Change{Files: tt.files, FilesTotal: tt.total}})
		if _, got, _ := strings.Cut(w.String(), "\n  \n"); got != tt.want {
			t.Errorf("%d of %d files: %q, want %q", len(tt.files), tt.total, got, tt.want)
		}
	}
}

// An escalation shows the end of what its newest attempt left: of a check that
// failed that is the end of its output.
func TestWF07_TheInboxShowsWhatACheckSaid(t *testing.T) {
	output := strings.Repeat("ok\n", 52) + "--- FAIL: TestTotal\n    got 49.00\x1b[2J\n"
	history := []*loomv1.Attempt{
		{Node: "verify", Number: 1, Outcome: &loomv1.Outcome{Notes: "older"}},
		{Node: "verify", Number: 2, Outcome: &loomv1.Outcome{Notes: output, Checks: []*loomv1.CheckRun{{Command: "npm test", ExitCode: 1, Output: &loomv1.BlobRef{Sha256: strings.Repeat("ab", 32)}}}}},
	}
	var w bytes.Buffer
	ApprovalText(&w, 0, &loomv1.Approval{Id: "shop-2", History: history, NextSteps: []string{"retry: " + strings.Repeat("x", 400)}}, "", plain)
	for _, want := range []string{"  what attempt 2 of verify left:\n    | ok\n", strings.Repeat("    | ok\n", 30) + "    | --- FAIL: TestTotal\n    |     got 49.00\\x1b[2J\n", strings.Repeat("x", 400) + "\n", "  all that \"npm test\" printed: loom output abababababab\n"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("%q is not in\n%s", want, w.String())
		}
	}
	if strings.Contains(w.String(), "older") || strings.Contains(w.String(), "\x1b") {
		t.Errorf("more is shown than that:\n%s", w.String())
	}
}

// On a screen no line of prose is wider than it, and a diff keeps its lines; only the
// names of contents are shortened.
func TestCLI01_AProposalFitsTheScreen(t *testing.T) {
	const code = "+\tif total >= FreeShippingFrom && total < SomethingElse {"
	diff := "diff --git a/c b/c\nindex " + strings.Repeat("a", 40) + ".." + strings.Repeat("b", 40) + " 100644\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n" + code + "\n"
	p := &loomv1.Approval{Id: "shop-2", Question: strings.Repeat("may it be ", 20), Intent: strings.Repeat("word ", 40)}
	var w bytes.Buffer
	ApprovalText(&w, 40, p, diff, plain)
	index := "index " + strings.Repeat("a", 12) + ".." + strings.Repeat("b", 12) + " 100644"
	for _, want := range []string{code, index} {
		if !strings.Contains(w.String(), want+"\n") {
			t.Errorf("%q is not in\n%s", want, w.String())
		}
	}
	for line := range strings.Lines(w.String()) {
		if len(line) > 41 && !strings.HasPrefix(line, "+") {
			t.Errorf("%q is wider than 40", line)
		}
	}
	binary := diff + "Binary files a/d and b/d differ\n"
	for _, tt := range []struct {
		width int
		diff  string
	}{{0, diff}, {40, binary}, {200, diff}} {
		if got := brief(tt.diff, tt.width); got != tt.diff {
			t.Errorf("in %d columns the diff is\n%s", tt.width, got)
		}
	}
}

// plain paints nothing.
func plain(s string) string { return s }

// TestTOOL04_AQuestionInWordsIsShownOnce, whole, and is answered, not approved.
func TestTOOL04_AQuestionInWordsIsShownOnce(t *testing.T) {
	long := strings.Repeat("how many ", 100)
	for _, tt := range []struct{ question, arguments, want string }{
		{"researcher/1 asks: How many items?", `{"question":"How many\n items?","answers":null}`, "How many items?"},
		{"researcher/1 asks: " + long[:100] + "…", `{"question":"` + long + `"}`, strings.TrimSpace(long)},
	} {
		p := &loomv1.Approval{Id: "shop-2", Question: tt.question, Permission: &loomv1.PermissionQuestion{
			Attempt: "shop-1-x1-a1", Role: "researcher", Tool: project.AskUserTool, Arguments: tt.arguments,
		}}
		var w bytes.Buffer
		approvalHead(&w, p)
		if n := strings.Count(w.String(), tt.want); n != 1 {
			t.Errorf("the question is there %d times:\n%s", n, w.String())
		}
		for d, want := range map[loomv1.ApprovalDecision]string{
			loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE: "answered", loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT: "left without an answer",
		} {
			if got := answeredTo(p, d); got != want {
				t.Errorf("an answer to a question was %q, want %q", got, want)
			}
		}
	}
	if got := answeredTo(&loomv1.Approval{}, loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE); got != "approved" {
		t.Errorf("an approval was %q", got)
	}
}

// An answer in words that is none of those which the agent offers is not taken silently.
func TestSIGN03_AnAnswerOfOnesOwnIsSaidToBeOne(t *testing.T) {
	approve := loomv1.ApprovalDecision_APPROVAL_DECISION_APPROVE
	for _, tt := range []struct {
		tool, arguments, comment string
		decision                 loomv1.ApprovalDecision
		want                     string
	}{
		{project.AskUserTool, `{"question":"Which?","answers":["red","blue"]}`, "green", approve, ` in words of your own: "green" is none of what it offers (red | blue), and the agent is told it as it stands`},
		{project.AskUserTool, `{"question":"Which?","answers":["red","blue"]}`, " Blue ", approve, ""},
		{project.AskUserTool, `{"question":"Which?","answers":["red","blue"]}`, "neither", loomv1.ApprovalDecision_APPROVAL_DECISION_REJECT, ""},
		{project.AskUserTool, `{"question":"Which?"}`, "green", approve, ""},
		{"shell", `{"answers":["red"]}`, "green", approve, ""},
	} {
		p := &loomv1.Approval{Permission: &loomv1.PermissionQuestion{Tool: tt.tool, Arguments: tt.arguments}}
		if got := ownWords(p, &loomv1.DecideApproval{Decision: tt.decision, Comment: tt.comment}); got != tt.want {
			t.Errorf("%q to %s: %q, want %q", tt.comment, tt.arguments, got, tt.want)
		}
	}
}
