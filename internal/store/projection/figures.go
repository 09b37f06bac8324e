package projection

import (
	"context"
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

const figureQuery = ` SELECT x.process, f.node_id, sum(f.ended), sum(f.failed), sum(f.retries), sum(f.model_calls),
		sum(f.input_tokens), sum(f.output_tokens), sum(f.cost_micro_usd)
	FROM chosen x JOIN node_figures f ON f.execution_id = x.id GROUP BY x.process, f.node_id`

// nodeFigures adds to the nodes how their attempts ended and what they used.
func (m *measurer) nodeFigures(ctx context.Context) error {
	return m.each(ctx, figureQuery, func(scan func(...any) error) error {
		process, node, n := "", "", &loomv1.NodeMetrics{}
		err := scan(&process, &node, &n.Ended, &n.Failed, &n.Retries, &n.ModelCalls, &n.InputTokens, &n.OutputTokens, &n.CostMicroUsd)
		if into := m.node(process, node); into != nil {
			into.Ended, into.Failed, into.Retries, into.FailureRate = n.Ended, n.Failed, n.Retries, ratio(n.Failed, n.Ended)
			into.ModelCalls, into.InputTokens, into.OutputTokens, into.CostMicroUsd = n.ModelCalls, n.InputTokens, n.OutputTokens, n.CostMicroUsd
		}
		return err
	})
}

const ruleQuery = ` SELECT x.process, b.phase, b.rule, b.tier, b.severity = 'error', sum(b.attempts), count(DISTINCT x.id), sum(b.findings)
	FROM chosen x JOIN broken_rules b ON b.execution_id = x.id
	GROUP BY x.process, b.phase, b.rule, b.tier, b.severity ORDER BY b.phase, b.tier, b.rule, b.severity`

// rules adds which rules were broken.
func (m *measurer) rules(ctx context.Context) error {
	return m.each(ctx, ruleQuery, func(scan func(...any) error) error {
		process, isError, r := "", false, &loomv1.RuleMetrics{Severity: loomv1.Severity_SEVERITY_WARNING}
		err := scan(&process, &r.Phase, &r.Rule, &r.Tier, &isError, &r.Attempts, &r.Executions, &r.Findings)
		if isError {
			r.Severity = loomv1.Severity_SEVERITY_ERROR
		}
		if p := m.processes[process]; p != nil {
			p.Rules = append(p.Rules, r)
		}
		return err
	})
}
