package projection

import (
	"context"

	"github.com/loomrun/loom/internal/core/workflow"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// figured writes what an event says of how its node fared.
func (w *writer) figured(ctx context.Context, e *loomv1.Event) error {
	figures := func(ended, failed bool, retries, calls int, u *loomv1.Usage) error {
		return w.exec(ctx, "figures", e.Execution, e.Node, ended, failed, retries, calls,
			int64(u.GetInputTokens()), int64(u.GetOutputTokens()), int64(u.GetCostMicroUsd()))
	}
	switch f := e.GetFact().(type) {
	case *loomv1.Event_AttemptDispatched:
		if f.AttemptDispatched.GetCause() == "retry" {
			return figures(false, false, 1, 0, nil)
		}
	case *loomv1.Event_ModelAnswered, *loomv1.Event_TurnCompacted:
		return figures(false, false, 0, 1, workflow.AnswerOf(e).GetUsage())
	case *loomv1.Event_AttemptEnded:
		if withdrawn(f.AttemptEnded) {
			return nil
		}
		if err := figures(true, lost(f.AttemptEnded), 0, 0, nil); err != nil {
			return err
		}
		return w.broken(ctx, e.Execution, f.AttemptEnded.GetOutcome().GetBroken())
	}
	return nil
}

// withdrawn says whether an attempt ended because nobody wants it any more.
func withdrawn(f *loomv1.AttemptEnded) bool { return f.GetOutcome().GetCode() == "attempt/withdrawn" }

// lost says whether an attempt came to no good end.
func lost(f *loomv1.AttemptEnded) bool {
	return f.GetTimedOut() || f.GetOutcome().GetStatus() == loomv1.OutcomeStatus_OUTCOME_STATUS_FAILURE
}

// broken writes the rules that an attempt found broken.
func (w *writer) broken(ctx context.Context, execution string, list []*loomv1.BrokenRule) error {
	for _, b := range list {
		severity := loomv1.Severity_SEVERITY_WARNING
		if b.GetSeverity() == loomv1.Severity_SEVERITY_ERROR {
			severity = b.Severity
		}
		if err := w.exec(ctx, "broken", execution, b.GetPhase(), b.GetRule(), b.GetTier(), word(severity), b.GetCount()); err != nil {
			return err
		}
	}
	return nil
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
