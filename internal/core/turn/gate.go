package turn

import (
	"cmp"
	"fmt"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Refusals is how many outcomes of a turn its gates may refuse; the next ends it.
const Refusals = 5

// refusal returns the call of the runtime's own that keeps the outcome of an
// answer from being taken, or nil: calls that the runtime makes after finish was
// called are gates, and one that fails sends the outcome back to the model.
func (r *round) refusal() *loomv1.ToolStep {
	if r.finish() == nil {
		return nil
	}
	for _, step := range r.own {
		if s := step.GetTool(); s.GetRuntime() && s.Result != nil && !Passed(s.Result) {
			return s
		}
	}
	return nil
}

// Passed reports whether a check or a gate went well.
func Passed(r *loomv1.ToolResult) bool {
	return r.GetStatus() == loomv1.ToolStatus_TOOL_STATUS_OK && r.GetExitCode() == 0
}

// refused ends a turn whose outcomes the gates have refused too often.
func refused(all []*round) (Stop, bool) {
	n := 0
	for _, r := range all {
		if r.refusal() != nil {
			n++
		}
	}
	last := all[len(all)-1].refusal()
	if n <= Refusals || last == nil {
		return Stop{}, false
	}
	return Stop{
		Code: cmp.Or(last.Result.GetCode(), "verify/failed"), Gate: last,
		Reason: fmt.Sprintf("the outcome was refused %d times, the last because: %s", n, last.Result.GetSummary()),
	}, true
}
