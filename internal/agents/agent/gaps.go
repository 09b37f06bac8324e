package agent

import (
	"fmt"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// gaps tells what the work goes on without.
func (p *prompt) gaps(b *loomv1.Brief) {
	if len(b.Execution.Gaps) == 0 {
		return
	}
	p.section("What is missing")
	for _, g := range b.Execution.Gaps {
		p.WriteString(gapLine(b, g) + ":\n")
		p.data(g.Reason)
	}
	p.WriteByte('\n')
}

// gapLine says what a gap is about. Work that nobody could judge is there all the same.
func gapLine(b *loomv1.Brief, g *loomv1.Gap) string {
	for _, n := range b.Definition.GetNodes() {
		of := n.GetPhase().GetOf()
		switch {
		case n.Id != g.Node || of == "" || workflow.FoundWrong(b.Execution.Nodes[n.Id]):
		case n.Phase.Part == loomv1.PhasePart_PHASE_PART_REVIEW:
			return fmt.Sprintf("%s has not looked at %s", n.Id, of)
		default:
			return fmt.Sprintf("%s is there, and nobody could judge it", of)
		}
	}
	if b.Execution.Nodes[g.Node].GetStatus() == loomv1.NodeStatus_NODE_STATUS_SUCCEEDED {
		return g.Node + " is there, with a gap" // that the process had which did its work
	}
	return "nothing came of " + g.Node
}
