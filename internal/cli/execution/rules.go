package execution

import (
	"fmt"
	"io"
	"slices"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/provenance"
	"github.com/loomrun/loom/internal/core/verify"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

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
func rulesText(w io.Writer, list []provenance.Rule) {
	if len(list) == 0 {
		return
	}
	order := []string{"broken", "not judged", "held"}
	slices.SortStableFunc(list, func(a, b provenance.Rule) int { return slices.Index(order, a.State) - slices.Index(order, b.State) })
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		rows = append(rows, []string{r.Phase, r.Rule, r.State, r.By, console.Line(r.Evidence, 80)})
	}
	fmt.Fprintln(w)
	console.Table(w, []string{"phase", "rule", "what became of it", "by", "evidence"}, rows)
}
