package execution

import (
	"fmt"
	"io"
	"slices"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// ruleLine is what became of a rule of a process in a phase of an execution, and who says so.
type ruleLine struct {
	Phase, Rule, State, By, Evidence string
}

// ruleStates are the words for states of rules.
var ruleStates = map[loomv1.RuleState]string{
	loomv1.RuleState_RULE_STATE_HELD: "held", loomv1.RuleState_RULE_STATE_BROKEN: "broken", loomv1.RuleState_RULE_STATE_NOT_JUDGED: "not judged",
}

// rules lists what became of the rules and criteria of an execution's process, phase by
// phase. What several have looked at, the files and reviewers, is told of each.
func rules(x *loomv1.Execution, def *loomv1.Definition) (list []ruleLine) {
	for _, r := range verify.BecameOf(def, x) {
		by := "nobody"
		switch r.Tier {
		case 1:
			by = "the runtime"
		case 2, 3:
			by = r.Node.Id + " (" + r.Node.Role + ")"
		}
		list = append(list, ruleLine{r.Phase, r.Rule, ruleStates[r.State], by, r.Evidence})
	}
	return list
}

// RuleCounts names the rules that were broken, each with its phase, and says in a line how
// many were held, broken and not judged; "" where there are none.
func RuleCounts(x *loomv1.Execution, def *loomv1.Definition) string {
	n := map[loomv1.RuleState]int{}
	said := ""
	for _, r := range verify.BecameOf(def, x) {
		n[r.State]++
		if r.State == loomv1.RuleState_RULE_STATE_BROKEN {
			said += fmt.Sprintf("broken in %s: %s: %s\n", r.Phase, r.Rule, console.Line(r.Evidence, 120))
		}
	}
	if len(n) == 0 {
		return ""
	}
	return said + fmt.Sprintf("rules: %d held, %d broken, %d not judged; see loom execution show %s",
		n[loomv1.RuleState_RULE_STATE_HELD], n[loomv1.RuleState_RULE_STATE_BROKEN], n[loomv1.RuleState_RULE_STATE_NOT_JUDGED], x.Id)
}

// rulesText lists what became of rules: what is broken or not judged first.
func rulesText(w io.Writer, list []ruleLine) {
	if len(list) == 0 {
		return
	}
	order := []string{"broken", "not judged", "held"}
	slices.SortStableFunc(list, func(a, b ruleLine) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		rows = append(rows, []string{r.Phase, r.Rule, r.State, r.By, console.Line(r.Evidence, 80)})
	}
	fmt.Fprintln(w)
	console.Table(w, []string{"phase", "rule", "what became of it", "by", "evidence"}, rows)
}
