package execution

import (
	"strings"
	"testing"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What is broken or not judged comes first, with who says so.
func TestPROC05_RulesOfAnExecution(t *testing.T) {
	def := &loomv1.Definition{Nodes: []*loomv1.NodeDefinition{{Id: "memo", Role: "analyst"}, {Id: "memo-check", Role: "qa-engineer"}, {Id: "end"}}}
	x := &loomv1.Execution{Id: "x1", Nodes: map[string]*loomv1.NodeState{
		"memo": {Outcome: &loomv1.Outcome{Judged: []*loomv1.JudgedRule{
			{Phase: "memo", Rule: "format", State: loomv1.RuleState_RULE_STATE_HELD, Tier: 1},
			{Phase: "memo", Rule: "clear", State: loomv1.RuleState_RULE_STATE_NOT_JUDGED, Evidence: "the phase has no verifier"},
		}}},
		"memo-check": {Outcome: &loomv1.Outcome{Judged: []*loomv1.JudgedRule{{Phase: "memo", Rule: "acceptance", State: loomv1.RuleState_RULE_STATE_BROKEN, Tier: 2, Evidence: "no rent"}}}},
	}}
	var b strings.Builder
	rulesText(&b, rules(x, def))
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"", "PHASE RULE WHAT BECAME OF IT BY EVIDENCE", "memo acceptance broken memo-check (qa-engineer) no rent",
		"memo clear not judged nobody the phase has no verifier", "memo format held the runtime",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", b.String())
	}
	if text := RuleCounts(x); text != "broken in memo: acceptance: no rent\nrules: 1 held, 1 broken, 1 not judged; see loom execution show x1" {
		t.Error(text)
	}
	if text := RuleCounts(nil); text != "" {
		t.Error(text)
	}
}
