package projection

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Metrics returns how workflows fared, one entry a process, by name; all of it
// as of one transaction. What each figure means is said in the contract, at
// WorkflowMetrics and Target. A batch that is not applied yet is not counted,
// see [DB.WaitFor].
func (d *DB) Metrics(ctx context.Context, q *loomv1.MetricsRequest) ([]*loomv1.WorkflowMetrics, error) {
	m := &measurer{args: arguments(q), processes: map[string]*process{}}
	tx, err := d.read.Load().BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, failed("measure", err)
	}
	defer tx.Rollback()
	m.tx = tx
	for _, step := range []func(context.Context) error{m.executions, m.runs, m.escalations, m.spans, m.nodes, m.safety} {
		if err := step(ctx); err != nil {
			return nil, failed("measure", err)
		}
	}
	var all []*loomv1.WorkflowMetrics
	for _, name := range slices.Sorted(maps.Keys(m.processes)) {
		all = append(all, m.processes[name].finish())
	}
	return all, nil
}

// Processes are the names of all processes and workflows that any project has had, in
// their order.
func (d *DB) Processes(ctx context.Context) (names []string, err error) {
	rows, err := d.read.Load().QueryContext(ctx, `SELECT DISTINCT name FROM workflows ORDER BY name`)
	if err != nil {
		return nil, failed("list the processes", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, failed("list the processes", err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		return nil, failed("list the processes", err)
	}
	return names, nil
}

// arguments are what chosen chooses by; times are compared as texts.
func arguments(q *loomv1.MetricsRequest) []any {
	from, to := "", "~"
	if q.GetFrom() != nil {
		from = clock(q.GetFrom())
	}
	if q.GetTo() != nil {
		to = clock(q.GetTo())
	}
	return []any{sql.Named("project", q.GetProject()), sql.Named("process", q.GetProcess()), sql.Named("from", from), sql.Named("to", to)}
}

// chosen are the executions that are asked about.
const chosen = `WITH chosen AS (SELECT * FROM executions
	WHERE (@project = '' OR project = @project) AND (@process = '' OR process = @process) AND created_at >= @from AND created_at < @to)`

// measurer answers one request.
type measurer struct {
	tx        *sql.Tx
	args      []any
	processes map[string]*process
}

// process is what is known of one so far.
type process struct {
	*loomv1.WorkflowMetrics
	escalated     uint64 // executions
	nodes         map[string]*loomv1.NodeMetrics
	simple        *loomv1.Quantiles // resolution of simple bugs, in all and but for the CEO
	simpleWorking *loomv1.Quantiles
	ratios        map[string][2]uint64 // good and all, by what
	cycles        *float64
	safety        safety
}

// each calls f for every row of a query about the chosen executions.
func (m *measurer) each(ctx context.Context, query string, f func(scan func(...any) error) error) error {
	rows, err := m.tx.QueryContext(ctx, chosen+query, m.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (m *measurer) executions(ctx context.Context) error {
	return m.each(ctx, `SELECT process, count(*), sum(status IN ('completed', 'completed_with_gaps')), sum(status = 'rejected'), sum(status = 'aborted'),
			sum(status = 'failed'), sum(status = 'running'), sum(input_tokens), sum(output_tokens), sum(cost_micro_usd)
		FROM chosen GROUP BY process`, func(scan func(...any) error) error {
		w := &loomv1.WorkflowMetrics{Resolution: &loomv1.Quantiles{}, Working: &loomv1.Quantiles{}}
		err := scan(&w.Process, &w.Started, &w.Completed, &w.Rejected, &w.Aborted, &w.Failed, &w.Running, &w.InputTokens, &w.OutputTokens, &w.CostMicroUsd)
		m.processes[w.Process] = &process{
			WorkflowMetrics: w, nodes: map[string]*loomv1.NodeMetrics{}, ratios: map[string][2]uint64{},
			simple: &loomv1.Quantiles{}, simpleWorking: &loomv1.Quantiles{},
		}
		return err
	})
}

// lastRuns is how many executions are named with what they used.
const lastRuns = 10

// runs reads what executions that ended have used.
func (m *measurer) runs(ctx context.Context) error {
	tokens, costs := map[string][]uint64{}, map[string][]uint64{}
	err := m.each(ctx, `SELECT process, id, status, input_tokens + output_tokens, cost_micro_usd FROM chosen
		WHERE status <> 'running' ORDER BY created_at DESC, id DESC`, func(scan func(...any) error) error {
		name, r := "", &loomv1.RunCost{}
		err := scan(&name, &r.Execution, &r.Status, &r.Tokens, &r.CostMicroUsd)
		if p := m.processes[name]; p != nil && len(p.Runs) < lastRuns {
			p.Runs = append(p.Runs, r)
		}
		tokens[name], costs[name] = append(tokens[name], r.Tokens), append(costs[name], r.CostMicroUsd)
		return err
	})
	for name, p := range m.processes {
		p.MedianTokens, p.MedianCostMicroUsd = median(tokens[name]), median(costs[name])
	}
	return err
}

// median is the smallest value that half of a list is not above; 0 of none.
func median(list []uint64) uint64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[(len(list)-1)/2]
}

func (m *measurer) escalations(ctx context.Context) error {
	return m.each(ctx, `SELECT x.process, count(*), count(DISTINCT x.id) FROM chosen x JOIN approvals a ON a.execution_id = x.id
		WHERE a.kind = 'escalation' GROUP BY x.process`, func(scan func(...any) error) error {
		var name string
		var all, executions uint64
		err := scan(&name, &all, &executions)
		if p := m.processes[name]; p != nil {
			p.Escalations, p.escalated = all, executions
		}
		return err
	})
}

// micros is a time of the tables in microseconds; SQLite's own functions know
// milliseconds.
func micros(column string) string {
	return fmt.Sprintf("(unixepoch(%s) * 1000000 + CAST(substr(%[1]s, 21, 6) AS INTEGER))", column)
}

// quantiles describes the milliseconds of a table spans (a, b, ms), by a and b:
// each quantile is the smallest value that so many are not above.
const quantiles = `, ranked AS (SELECT a, b, ms, row_number() OVER (PARTITION BY a, b ORDER BY ms) AS place, count(*) OVER (PARTITION BY a, b) AS n FROM spans)
	SELECT a, b, n, avg(ms), max(iif(place = (n * 50 + 99) / 100, ms, 0)), max(iif(place = (n * 90 + 99) / 100, ms, 0)),
		max(iif(place = (n * 99 + 99) / 100, ms, 0)), max(ms) FROM ranked GROUP BY a, b`

// simpleFiles is the most files that the change of a simple bug has: the fault
// and its test.
const simpleFiles = 2

// spanQuery has the completed executions' way from filing to end, and what of
// it no approval was open: waits are merged where they overlap.
var spanQuery = strings.NewReplacer(
	"ENDED", micros("ended_at"), "FILED", micros("filed_at"), "ASKED", micros("a.asked_at"), "DECIDED", micros("coalesce(a.decided_at, x.ended_at)"),
).Replace(`, asks AS (SELECT a.execution_id AS id, ASKED AS asked, DECIDED AS decided, max(DECIDED) OVER
		(PARTITION BY a.execution_id ORDER BY a.asked_at, a.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
		FROM chosen x JOIN approvals a ON a.execution_id = x.id WHERE x.status IN ('completed', 'completed_with_gaps')),
	waits AS (SELECT id, sum(max(0, decided - max(asked, coalesce(before, asked)))) AS us FROM asks GROUP BY id),
	ways AS (SELECT x.process, ENDED - FILED AS us, coalesce(w.us, 0) AS waited, b.type = 'bug' AND x.files <= `+fmt.Sprint(simpleFiles)+` AS simple
		FROM chosen x JOIN beads b ON b.id = x.bead_id LEFT JOIN waits w ON w.id = x.id WHERE x.status IN ('completed', 'completed_with_gaps')),
	spans AS (SELECT process AS a, 'all' AS b, us / 1e3 AS ms FROM ways
		UNION ALL SELECT process, 'working', (us - waited) / 1e3 FROM ways
		UNION ALL SELECT process, 'simple', us / 1e3 FROM ways WHERE simple
		UNION ALL SELECT process, 'simple working', (us - waited) / 1e3 FROM ways WHERE simple)`) + quantiles

func (m *measurer) spans(ctx context.Context) error {
	return m.each(ctx, spanQuery, func(scan func(...any) error) error {
		name, what, q := "", "", &loomv1.Quantiles{}
		err := scan(&name, &what, &q.Count, &q.MeanMs, &q.P50Ms, &q.P90Ms, &q.P99Ms, &q.MaxMs)
		p := m.processes[name]
		if err != nil || p == nil {
			return err
		}
		switch what {
		case "all":
			p.Resolution = q
		case "working":
			p.Working = q
		case "simple":
			p.simple = q
		case "simple working":
			p.simpleWorking = q
		}
		return nil
	})
}
