package workflow

import (
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// NothingDelivered is the code of what is put together when no phase has delivered
// anything. It ends the execution as failed.
const NothingDelivered = "verify/nothing"

// Delivered says whether a status is that of an execution which has reached its end,
// with gaps or without.
func Delivered(s loomv1.ExecutionStatus) bool {
	return s == loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED || s == loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS
}

// done ends an execution that has nothing more to do. One that went on without
// something has its own status, and its reason names what is missing.
func (r Run) done() error {
	status, reasons := loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED, []string{}
	if len(r.X.Gaps) > 0 {
		status, reasons = loomv1.ExecutionStatus_EXECUTION_STATUS_COMPLETED_WITH_GAPS, append(reasons, gapReasons(r.X)...)
	}
	if why, is := r.wasted(); is {
		return r.end(loomv1.ExecutionStatus_EXECUTION_STATUS_FAILED, cut(why, SummaryBytes))
	}
	if nothing := Nothing(r.X); nothing != "" {
		reasons = append(reasons, nothing)
	}
	return r.end(status, cut(strings.Join(reasons, "; "), SummaryBytes))
}

// gapReasons name the nodes that an execution has gaps of, in the order in which these
// were noted: those that it went on without, and those that are there all the same,
// because the gap is of the process which did the work.
func gapReasons(x *loomv1.Execution) (reasons []string) {
	var without, within []string
	for _, g := range x.Gaps {
		list := &without
		if x.Nodes[g.Node].GetStatus() == loomv1.NodeStatus_NODE_STATUS_SUCCEEDED {
			list = &within
		}
		if !slices.Contains(*list, g.Node) {
			*list = append(*list, g.Node)
		}
	}
	if len(without) > 0 {
		reasons = append(reasons, "without "+strings.Join(without, ", "))
	}
	if len(within) > 0 {
		reasons = append(reasons, "with gaps in "+strings.Join(within, ", "))
	}
	return reasons
}

// nothingDelivered says whether an outcome says so, of what the phases have delivered.
func (n *node) nothingDelivered(out *loomv1.Outcome) bool {
	return n.GetPhase().GetPart() == loomv1.PhasePart_PHASE_PART_GATHER && out.GetCode() == NothingDelivered
}

// inherit notes as gaps of a node what the process went on without that did its work.
func (r Run) inherit(n *node, gaps []string) error {
	for _, why := range gaps {
		if err := r.emit(n, &loomv1.Event{Fact: &loomv1.Event_GapNoted{GapNoted: &loomv1.GapNoted{Reason: "process " + n.Process + ", " + why}}}); err != nil {
			return err
		}
	}
	return nil
}
