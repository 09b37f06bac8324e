package stats

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/loomrun/loom/internal/cli/console"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// What makes a phase one that a stronger model may do better: in at least so many visits,
// at least one in so many attempts has failed, or one in so many visits was sent back.
const (
	enoughVisits = 4
	oneIn        = 4
)

// judge is the name of a node that judges a phase: the phase's, and what is behind it.
var judge = regexp.MustCompile(`^(.+)-(?:check|vote|second|rev-\d+)$`)

// stronger names the phases whose work often fails or is sent back, and why, in the order
// of their nodes. Which model would do better, nobody has measured.
func stronger(m *loomv1.WorkflowMetrics) (list []string) {
	sentBack := map[string]uint64{}
	judges := map[string]bool{}
	for _, n := range m.Nodes {
		if of := judge.FindStringSubmatch(n.Node); of != nil {
			sentBack[of[1]] += n.Reworks
			judges[n.Node] = true
		}
	}
	for _, n := range m.Nodes {
		if judges[n.Node] || n.Visits < enoughVisits || n.ModelCalls == 0 {
			continue
		}
		var why []string
		if n.Failed*oneIn >= n.Ended && n.Failed > 0 {
			why = append(why, fmt.Sprintf("%d of %d attempts failed", n.Failed, n.Ended))
		}
		if back := sentBack[n.Node]; back*oneIn >= n.Visits && back > 0 {
			why = append(why, fmt.Sprintf("%d of %d visits were sent back by who judged", back, n.Visits))
		}
		if len(why) > 0 {
			list = append(list, fmt.Sprintf("%s: %s", n.Node, strings.Join(why, ", ")))
		}
	}
	return list
}

func strongerText(w io.Writer, m *loomv1.WorkflowMetrics) {
	list := stronger(m)
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w, "phases that a stronger model may be worth (model_tier):")
	for _, s := range list {
		fmt.Fprintf(w, "  %s\n", console.Line(s, 160))
	}
	fmt.Fprintln(w)
}

// runsTable shows what the last executions used beside the median of all.
func runsTable(w io.Writer, m *loomv1.WorkflowMetrics) {
	if len(m.Runs) == 0 {
		return
	}
	rows := make([][]string, 0, len(m.Runs)+1)
	for _, r := range m.Runs {
		rows = append(rows, []string{
			console.Line(r.Execution, 80), console.Line(r.Status, 40), digits(r.Tokens), times(r.Tokens, m.MedianTokens),
			fmt.Sprintf("%.6f", float64(r.CostMicroUsd)/1e6), times(r.CostMicroUsd, m.MedianCostMicroUsd),
		})
	}
	rows = append(rows, []string{"median of all that ended", "-", digits(m.MedianTokens), "-", fmt.Sprintf("%.6f", float64(m.MedianCostMicroUsd)/1e6), "-"})
	console.Table(w, []string{"execution", "status", "tokens", "of median", "USD", "of median"}, rows)
	fmt.Fprintln(w)
}

// times is a value as a multiple of another, a dash where that is nothing.
func times(v, of uint64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fx", float64(v)/float64(of))
}
