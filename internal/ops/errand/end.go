package errand

import (
	"slices"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/core/verify"
	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Exit is the exit status of a command that ran an errand: 0 for one that was
// delivered, with gaps only where they are allowed.
func (r *Result) Exit(allowGaps bool) fault.Exit {
	switch {
	case r.Waits:
		return fault.Waits
	case !workflow.Delivered(r.View.GetStatus()):
		return fault.WorkFailed
	case slices.ContainsFunc(r.Files, func(f File) bool { return f.Why != "" }):
		return fault.Conflict
	case len(r.Gaps) > 0 && !allowGaps:
		return fault.Gaps
	}
	return fault.Done
}

// unverified returns the files of phases that nobody could judge. Of a file that several
// phases deliver, the last that is judged decides.
func unverified(def *loomv1.Definition, x *loomv1.Execution) map[string]bool {
	judged := map[string]bool{} // by phase: whether one of its judges has not said anything
	for _, n := range def.GetNodes() {
		judge := x.Nodes[n.Id]
		if workflow.Judges(n.GetPhase()) {
			silent := judge.GetStatus() != loomv1.NodeStatus_NODE_STATUS_SUCCEEDED && !workflow.FoundWrong(judge)
			judged[n.Phase.Of] = judged[n.Phase.Of] || silent
		}
	}
	names := map[string]bool{}
	for _, n := range def.GetNodes() {
		silent, is := judged[n.Id]
		if !is || x.Nodes[n.Id].GetStatus() != loomv1.NodeStatus_NODE_STATUS_SUCCEEDED {
			continue
		}
		if phase, err := verify.InContext(n.Phase, x.Context); err == nil {
			for _, d := range verify.Deliverables(phase) {
				names[d.Name] = silent
			}
		}
	}
	return names
}

// mark says of files that were not verified that they were not.
func mark(files []File, unverified map[string]bool) {
	for i := range files {
		files[i].Unverified = unverified[files[i].Path]
	}
}
