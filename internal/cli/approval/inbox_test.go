package approval

import (
	"bytes"
	"strings"
	"testing"

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
	ApprovalText(&w, &loomv1.Approval{Id: "shop-2", History: history, NextSteps: []string{"retry: " + strings.Repeat("x", 400)}}, "", plain)
	for _, want := range []string{"  what attempt 2 of verify left:\n    ok\n", strings.Repeat("    ok\n", 30) + "    --- FAIL: TestTotal\n        got 49.00\\x1b[2J\n", strings.Repeat("x", 400) + "\n", "  all that \"npm test\" printed: loom output abababababab\n"} {
		if !strings.Contains(w.String(), want) {
			t.Errorf("%q is not in\n%s", want, w.String())
		}
	}
	if strings.Contains(w.String(), "older") || strings.Contains(w.String(), "\x1b") {
		t.Errorf("more is shown than that:\n%s", w.String())
	}
}

// plain paints nothing.
func plain(s string) string { return s }
