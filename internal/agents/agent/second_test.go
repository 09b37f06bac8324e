package agent_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/loomrun/loom/internal/agents/model"
	"github.com/loomrun/loom/internal/base/longtest"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/core/workflow"
	"github.com/loomrun/loom/internal/place/git"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// seconded describes the attempt of a second judge on a memo whose verifier has said yes
// to a claim by a quotation.
func seconded(t *testing.T, claim, quotation string) *loomv1.Brief {
	t.Helper()
	process := strings.NewReplacer("verification_tier: 2", "verification_tier: 3", "It names the rent.", `"`+claim+`"`).Replace(memoProcess)
	br := judged(t, process)
	fields, err := structpb.NewStruct(map[string]any{"acceptance": true, "acceptance_evidence": `All is well, as I see it. memo.md: "` + quotation + `"`})
	if err != nil {
		t.Fatal(err)
	}
	br.Execution.Nodes["memo-check"] = &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_SUCCEEDED, Outcome: &loomv1.Outcome{Status: loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS, Fields: fields}}
	br.Attempt.Role = "researcher"
	at(br, br.Definition, "memo-second")
	return br
}

// ruleReader is a judge that goes by a rule: it reads the sentence around a quotation, and
// says that it contradicts where a word of denial or condition is in it.
func ruleReader(prompt *string, offered *[]string) func(*model.Request) (*model.Response, error) {
	return func(r *model.Request) (*model.Response, error) {
		if answers(r) == 0 {
			*prompt = r.Messages[0].Text
			for _, spec := range r.Tools {
				*offered = append(*offered, spec.Name+" "+spec.Description)
			}
			return says(call("file_read", map[string]any{"path": "memo.md"})), nil
		}
		_, quotation, _ := strings.Cut(*prompt, "quotation, from memo.md:\n<data>\n")
		quotation, _, _ = strings.Cut(quotation, "\n</data>")
		word := "neither"
		for sentence := range strings.SplitSeq(r.Messages[len(r.Messages)-1].Text, ".") {
			if strings.Contains(sentence, quotation) {
				word = "shows"
				for w := range strings.FieldsSeq(strings.ToLower(sentence)) {
					if slices.Contains([]string{"not", "no", "never", "nobody", "none", "denies", "unless", "wrong", "without", "only"}, strings.Trim(w, ",;:")) {
						word = "contradicts"
					}
				}
			}
		}
		return says(call(turn.FinishName, map[string]any{"status": "success", "summary": "read", "notes": "", "fields": map[string]any{"acceptance": word, "acceptance_evidence": "the sentence around it"}})), nil
	}
}

// TestPROC05_ASecondJudgeReadsTheQuotation counts of ten true quotations that stand in a
// sentence which says the opposite how many a judge finds out that goes by a rule, and of
// five that show what they shall how many it doubts. docs/processes.md has the counts.
func TestPROC05_ASecondJudgeReadsTheQuotation(t *testing.T) {
	longtest.Skip(t)
	type row struct{ claim, quotation, text string }
	opposite := []row{
		{"The company is profitable.", "the company is profitable", "It would be wrong to say that the company is profitable before 2028."},
		{"Demand has grown.", "demand has grown", "Nobody whom we asked believes that demand has grown."},
		{"The tenant can cancel the lease.", "The lease can be cancelled", "The lease can be cancelled by the landlord only, with a month's notice."},
		{"Customers pay on time.", "Customers pay on time", "Customers pay on time in the brochure; the ledger shows 74 days."},
		{"The accounts were audited.", "The accounts were audited", "The accounts were audited by a firm that never saw the stock."},
		{"The margin is above 20 percent.", "the margin was above 20 percent", "In 2019 the margin was above 20 percent; since then it has been 4."},
		{"The supplier is certified.", "the supplier is certified", "Mr Hale denies that the supplier is certified."},
		{"The price was tested with our customers.", "The price was tested with customers", "The price was tested with customers of a rival."},
		{"The risk is low.", "the risk is low", "Unless the mill is sold, the risk is low in name alone."},
		{"The patent is valid.", "the patent is valid", "The court did not find that the patent is valid."},
	}
	true5 := []row{
		{"The rent is named.", "The rent is 900 a month", "The rent is 900 a month."},
		{"Demand has grown.", "Demand has grown by a fifth", "Demand has grown by a fifth since May."},
		{"The supplier is certified.", "the supplier is certified", "The register of 2026 says that the supplier is certified."},
		{"The risk is low.", "The risk is low", "The risk is low: three insurers say so."},
		{"The patent is valid.", "the patent is valid", "The court found that the patent is valid."},
	}
	count := func(list []row) (disputed int) {
		for _, tt := range list {
			var prompt string
			var offered []string
			b := newBench(t, ruleReader(&prompt, &offered), git.File{Path: "memo.md", Data: []byte("A memo.\n\n" + tt.text + "\n")})
			out := b.must(seconded(t, tt.claim, tt.quotation))
			for _, not := range []string{"All is well", "verifier", "qa-engineer", "the memo is written"} {
				if strings.Contains(prompt, not) {
					t.Fatalf("the second judge is told %q:\n%s", not, prompt)
				}
			}
			for _, want := range []string{tt.claim, tt.quotation, "memo.md"} {
				if !strings.Contains(prompt, want) {
					t.Fatalf("the second judge is not told %q:\n%s", want, prompt)
				}
			}
			if can := strings.Join(offered, "\n"); !strings.Contains(can, "content_search") || strings.Contains(can, "decision_") || strings.Contains(can, "memory_") {
				t.Fatalf("the second judge can do\n%s", can)
			}
			state := map[bool]loomv1.RuleState{true: loomv1.RuleState_RULE_STATE_HELD, false: loomv1.RuleState_RULE_STATE_NOT_JUDGED}[out.Code == ""]
			if len(out.Judged) != 1 || out.Judged[0].State != state || out.Code != "" && (out.Code != workflow.Unverified || len(out.Broken) > 0) {
				t.Errorf("%s: %v", tt.text, out)
			}
			if out.Code != "" {
				disputed++
			}
		}
		return disputed
	}
	if caught, doubted := count(opposite), count(true5); caught != 7 || doubted != 0 {
		t.Errorf("%d of %d that say the opposite are found out, and %d of %d that do not are doubted", caught, len(opposite), doubted, len(true5))
	}
}

// A second judge is asked nothing about what the verifier did not say yes to by a
// quotation, and nothing at all where there was no verdict.
func TestPROC05_ASecondJudgeIsAskedAboutQuotationsAlone(t *testing.T) {
	asked := 0
	b := newBench(t, func(*model.Request) (*model.Response, error) {
		asked++
		return says(), nil
	}, git.File{Path: "memo.md", Data: []byte("The rent is 900 a month.\n")})
	br := seconded(t, "It names the rent.", "The moon is green") // the first was not believed
	for range 2 {
		out := b.must(br)
		if out.Status != loomv1.OutcomeStatus_OUTCOME_STATUS_SUCCESS || asked > 0 || len(out.Judged) > 0 {
			t.Errorf("after %d calls: %v", asked, out)
		}
		if got := slices.Sorted(maps.Keys(out.Fields.AsMap())); !slices.Equal(got, []string{"acceptance", "acceptance_evidence"}) {
			t.Errorf("fields %q", got)
		}
		br.Execution.Nodes["memo-check"] = &loomv1.NodeState{Status: loomv1.NodeStatus_NODE_STATUS_FAILED}
	}
}
