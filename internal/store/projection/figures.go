package projection

import (
	"slices"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// figured notes what an event says of how its node fared.
func (x *execution) figured(e *loomv1.Event) {
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptDispatched:
		if f.AttemptDispatched.GetCause() == "retry" {
			x.of(e.Node).retries++
		}
	case *loomv1.Event_ModelAnswered, *loomv1.Event_TurnCompacted:
		n, u := x.of(e.Node), workflow.AnswerOf(e).GetUsage()
		n.calls++
		n.input, n.output, n.cost = n.input+u.GetInputTokens(), n.output+u.GetOutputTokens(), n.cost+u.GetCostMicroUsd()
	case *loomv1.Event_AttemptEnded:
		if withdrawn(f.AttemptEnded) {
			return
		}
		n := x.of(e.Node)
		n.ended++
		if lost(f.AttemptEnded) {
			n.failed++
		}
		x.found(f.AttemptEnded.GetOutcome().GetBroken())
	}
}

// of returns the figures of a node.
func (x *execution) of(node string) *figures {
	i := slices.IndexFunc(x.figures, func(f figures) bool { return f.node == node })
	if i < 0 {
		i = len(x.figures)
		x.figures = append(x.figures, figures{node: node})
	}
	return &x.figures[i]
}

// withdrawn says whether an attempt ended because nobody wants it any more.
func withdrawn(f *loomv1.AttemptEnded) bool { return f.GetOutcome().GetCode() == "attempt/withdrawn" }

// lost says whether an attempt came to no good end.
func lost(f *loomv1.AttemptEnded) bool {
	return f.GetTimedOut() || f.GetOutcome().GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
}

// found counts the rules that an attempt found broken.
func (x *execution) found(list []*loomv1.BrokenRule) {
	for _, b := range list {
		severity := loomv1.Severity_SEVERITY_WARNING
		if b.GetSeverity() == loomv1.Severity_SEVERITY_ERROR {
			severity = b.Severity
		}
		one := broken{phase: b.GetPhase(), rule: b.GetRule(), tier: b.GetTier(), severity: word(severity)}
		i := slices.IndexFunc(x.broken, func(o broken) bool {
			return o.phase == one.phase && o.rule == one.rule && o.tier == one.tier && o.severity == one.severity
		})
		if i < 0 {
			i = len(x.broken)
			x.broken = append(x.broken, one)
		}
		x.broken[i].attempts++
		x.broken[i].findings += uint64(b.GetCount())
	}
}
