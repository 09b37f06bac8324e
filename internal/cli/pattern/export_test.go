package pattern

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/timestamppb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What people and models said is quoted line by line: none of it becomes a heading, a
// list or a mark of the document, and no character of it turns a terminal.
func TestPAT01_AnExportedSessionQuotesWhatWasSaid(t *testing.T) {
	at := &timestamppb.Timestamp{Seconds: 1_770_000_000}
	ann := &loomv1.Identity{Kind: loomv1.IdentityKind_IDENTITY_KIND_OPERATOR, Name: "ann"}
	fact := func(f *loomv1.IntentFact) *loomv1.IntentFact { f.At, f.By = at, ann; return f }
	text := sessionMarkdown(&loomv1.PatternSession{
		Id: "s1", Project: "shop", Pattern: "naming", Request: "Names\n# Delivery\n\x1b[31mred", OpenedAt: at, OpenedBy: ann, Ended: true,
		Definition: &loomv1.Pattern{Steps: []*loomv1.PatternStep{{Name: "find"}}},
		Facts: []*loomv1.IntentFact{
			fact(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Entered{Entered: &loomv1.LifecycleEntered{Phase: loomv1.LifecyclePhase_LIFECYCLE_PHASE_STEP_EXECUTION, Step: 1}}}),
			fact(&loomv1.IntentFact{Fact: &loomv1.IntentFact_StepEnded{StepEnded: &loomv1.StepEnded{Step: 1, Status: loomv1.StepStatus_STEP_STATUS_DONE, Summary: "## Twelve names\n- [x] all met"}}}),
			fact(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Steered{Steered: &loomv1.Steered{Text: "shorter", Redirect: true, FromRun: 2}}}),
			fact(&loomv1.IntentFact{Fact: &loomv1.IntentFact_Judged{Judged: &loomv1.JudgeCompletion{Verdicts: []*loomv1.CompletionVerdict{{Item: "success/1", Met: true, Evidence: "names.md: twelve"}}}}}),
		},
	})
	for _, want := range []string{
		"# Session s1 of pattern naming\n", "> Names\n> # Delivery\n", "## step-execution, step 1: find\n",
		"Step 1 ended: done.\n\n> ## Twelve names\n> - [x] all met\n", "ann redirects, to the steps that begin from here on:\n\n> shorter\n", "- success/1: met\n\n> names.md: twelve\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") || strings.Count(text, "\n# ")+strings.Count(text, "\n## ") != 1 {
		t.Errorf("what was said became a part of the document:\n%s", text)
	}
}
