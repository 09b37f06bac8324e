package execution

import (
	"strings"
	"testing"

	"github.com/loomrun/loom/internal/core/provenance"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What a second judge says takes the place of what the first has said.
func TestPROC05_ASecondJudgeHasTheLastWord(t *testing.T) {
	def := &loomv1.Definition{Nodes: []*loomv1.NodeDefinition{
		{Id: "memo-check", Role: "qa-engineer", Phase: &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_CHECK, Of: "memo"}},
		{Id: "memo-second", Role: "researcher", Phase: &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_SECOND, Of: "memo"}},
	}}
	said := func(rule string, state loomv1.RuleState) *loomv1.JudgedRule {
		return &loomv1.JudgedRule{Phase: "memo", Rule: rule, State: state, Tier: 2}
	}
	const held, broken, open = loomv1.RuleState_RULE_STATE_HELD, loomv1.RuleState_RULE_STATE_BROKEN, loomv1.RuleState_RULE_STATE_NOT_JUDGED
	x := &loomv1.Execution{Id: "x1", Nodes: map[string]*loomv1.NodeState{
		"memo-check":  {Outcome: &loomv1.Outcome{Judged: []*loomv1.JudgedRule{said("acceptance", held), said("clear", broken), said("fair", held)}}},
		"memo-second": {Outcome: &loomv1.Outcome{Judged: []*loomv1.JudgedRule{said("acceptance", open), said("fair", held)}}},
	}}
	if text := RuleCounts(x, def); text != "broken in memo: clear: \nrules: 1 held, 1 broken, 1 not judged; see loom execution show x1" {
		t.Error(text)
	}
	if list := provenance.Rules(def, x); len(list) != 3 || list[0].State != "not judged" || list[2].By != "memo-second (researcher)" {
		t.Errorf("%+v", list)
	}
}

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
	rulesText(&b, provenance.Rules(def, x))
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
	if text := RuleCounts(x, def); text != "broken in memo: acceptance: no rent\nrules: 1 held, 1 broken, 1 not judged; see loom execution show x1" {
		t.Error(text)
	}
	if text := RuleCounts(nil, nil); text != "" {
		t.Error(text)
	}
}
