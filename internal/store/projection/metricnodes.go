package projection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mostAttempts is where the counts of visits by attempts end: so many or more.
const mostAttempts = 10

// nodeQuery counts the visits that ended, by node.
var nodeQuery = func() string {
	var byAttempts []string
	for n := 1; n < mostAttempts; n++ {
		byAttempts = append(byAttempts, fmt.Sprintf("sum(v.ended_at IS NOT NULL AND v.attempts = %d)", n))
	}
	byAttempts = append(byAttempts, fmt.Sprintf("sum(v.ended_at IS NOT NULL AND v.attempts >= %d)", mostAttempts))
	return `SELECT x.process, v.node_id, max(n.multi_dispatch), sum(v.ended_at IS NOT NULL), sum(v.outcome = 'succeeded'),
			sum(v.timeouts), sum(v.outcome = 'sent-back'), avg(iif(v.ended_at IS NOT NULL AND v.attempts > 0, v.attempts, NULL)), ` + strings.Join(byAttempts, ", ") + `
		FROM chosen x JOIN workflow_visits v ON v.execution_id = x.id
		JOIN workflow_nodes n ON n.workflow_id = x.workflow_id AND n.node_id = v.node_id
		GROUP BY x.process, v.node_id`
}()

func (m *measurer) nodes(ctx context.Context) error {
	return m.each(ctx, nodeQuery, func(scan func(...any) error) error {
		name := ""
		n := &loomv1.NodeMetrics{Attempts: make([]uint64, mostAttempts), Duration: &loomv1.Quantiles{}}
		into := []any{&name, &n.Node, &n.MultiDispatch, &n.Visits, &n.Succeeded, &n.Timeouts, &n.Reworks, &n.MeanAttempts}
		for i := range n.Attempts {
			into = append(into, &n.Attempts[i])
		}
		if err := scan(into...); err != nil {
			return err
		}
		if p := m.processes[name]; p != nil {
			p.nodes[n.Node] = n
		}
		return nil
	})
}

// node returns what is known of a node of a process, or nil.
func (m *measurer) node(process, node string) *loomv1.NodeMetrics {
	if p := m.processes[process]; p != nil {
		return p.nodes[node]
	}
	return nil
}

var nodeSpanQuery = strings.NewReplacer("ENDED", micros("v.ended_at"), "STARTED", micros("v.started_at")).Replace(`, spans AS
	(SELECT x.process AS a, v.node_id AS b, (ENDED - STARTED) / 1e3 AS ms
	FROM chosen x JOIN workflow_visits v ON v.execution_id = x.id WHERE v.ended_at IS NOT NULL)`) + quantiles

func (m *measurer) nodeSpans(ctx context.Context) error {
	return m.each(ctx, nodeSpanQuery, func(scan func(...any) error) error {
		process, node, q := "", "", &loomv1.Quantiles{}
		err := scan(&process, &node, &q.Count, &q.MeanMs, &q.P50Ms, &q.P90Ms, &q.P99Ms, &q.MaxMs)
		if n := m.node(process, node); n != nil {
			n.Duration = q
		}
		return err
	})
}

func (m *measurer) nodeEscalations(ctx context.Context) error {
	return m.each(ctx, `SELECT x.process, a.node_id, count(*) FROM chosen x JOIN approvals a ON a.execution_id = x.id
		WHERE a.kind = 'escalation' AND a.node_id <> '' GROUP BY x.process, a.node_id`, func(scan func(...any) error) error {
		var process, node string
		var count uint64
		err := scan(&process, &node, &count)
		if n := m.node(process, node); n != nil {
			n.Escalations = count
		}
		return err
	})
}

// What ratios are of, by the kind of node.
const (
	investigations = "investigation"
	fixes          = "verify"
)

// ratioQuery looks at visits of multi-dispatch and of verify nodes that ended
// by themselves or escalated: those that succeeded and did not escalate are
// good.
const ratioQuery = `, judged AS (SELECT x.process, iif(n.multi_dispatch, 'investigation', n.kind) AS what, v.outcome,
		EXISTS (SELECT 1 FROM approvals a WHERE a.execution_id = x.id AND a.node_id = v.node_id AND a.visit = v.visit AND a.kind = 'escalation') AS escalated
	FROM chosen x JOIN workflow_visits v ON v.execution_id = x.id
	JOIN workflow_nodes n ON n.workflow_id = x.workflow_id AND n.node_id = v.node_id
	WHERE n.multi_dispatch OR n.kind = 'verify')
	SELECT process, what, sum(outcome = 'succeeded' AND NOT escalated), count(*) FROM judged
	WHERE outcome IN ('succeeded', 'failed', 'sent-back') OR escalated GROUP BY process, what`

const cycleQuery = `SELECT x.process, sum(v.attempts) * 1.0 / count(DISTINCT x.id) FROM chosen x JOIN workflow_visits v ON v.execution_id = x.id
	JOIN workflow_nodes n ON n.workflow_id = x.workflow_id AND n.node_id = v.node_id
	WHERE x.status = 'completed' AND n.multi_dispatch AND v.attempts > 0 GROUP BY x.process`

// goals measures what the targets are about, beside what is measured anyway.
func (m *measurer) goals(ctx context.Context) error {
	err := m.each(ctx, ratioQuery, func(scan func(...any) error) error {
		var name, what string
		var good, all uint64
		err := scan(&name, &what, &good, &all)
		if p := m.processes[name]; p != nil {
			p.ratios[what] = [2]uint64{good, all}
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.each(ctx, cycleQuery, func(scan func(...any) error) error {
		name, cycles := "", 0.0
		err := scan(&name, &cycles)
		if p := m.processes[name]; p != nil {
			p.cycles = &cycles
		}
		return err
	})
}

// ratio is good of all, or nil while there is nothing to measure.
func ratio(good, all uint64) *float64 {
	if all == 0 {
		return nil
	}
	r := float64(good) / float64(all)
	return &r
}

// seconds is the 90th percentile, or nil while there is nothing to measure.
func seconds(q *loomv1.Quantiles) *float64 {
	if q.Count == 0 {
		return nil
	}
	s := q.P90Ms / 1e3
	return &s
}

// finish computes what follows from the rest.
func (p *process) finish() *loomv1.WorkflowMetrics {
	p.SuccessRate = ratio(p.Completed, p.Started-p.Running)
	p.EscalationRate = ratio(p.escalated, p.Started)
	for _, id := range slices.Sorted(maps.Keys(p.nodes)) {
		p.Nodes = append(p.Nodes, p.nodes[id])
	}
	investigated, fixed := p.ratios[investigations], p.ratios[fixes]
	p.Targets = append([]*loomv1.Target{
		target("resolution of simple bugs", "<", 300, "seconds", seconds(p.simple)),
		target("resolution of simple bugs without the CEO's time", "<", 300, "seconds", seconds(p.simpleWorking)),
		target("investigations that succeed", ">", 0.8, "ratio", ratio(investigated[0], investigated[1])),
		target("fixes that pass verification", ">", 0.9, "ratio", ratio(fixed[0], fixed[1])),
		target("executions that escalate", "<", 0.1, "ratio", p.EscalationRate),
		target("investigation cycles per completed execution", "<", 1.5, "cycles", p.cycles),
	}, p.safety.targets()...)
	return p.WorkflowMetrics
}

func target(name, relation string, goal float64, unit string, measured *float64) *loomv1.Target {
	t := &loomv1.Target{Name: name, Relation: relation, Goal: goal, Unit: unit, Measured: measured}
	if measured != nil {
		met := relation == "<" && *measured < goal || relation == ">" && *measured > goal || relation == "=" && *measured == goal
		t.Met = &met
	}
	return t
}
