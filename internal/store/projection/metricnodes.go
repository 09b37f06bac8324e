package projection

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// mostAttempts is where the counts of visits by attempts end: so many or more.
const mostAttempts = 10

// gatherer adds up what the rows of executions say of their nodes.
type gatherer struct {
	*measurer
	kinds     map[nodeKey]nodeKind
	escalated map[visitKey]bool // visits that escalated
	spans     map[*loomv1.NodeMetrics][]float64
	tries     map[*loomv1.NodeMetrics][2]uint64 // visits that ended with attempts, and these
	rules     map[ruleKey]*loomv1.RuleMetrics
	cycles    map[string][2]uint64 // executions of a process, and their cycles of investigation
}

type nodeKey struct{ definition, node string }

type nodeKind struct {
	multi bool
	kind  string
}

type visitKey struct {
	execution, node string
	visit           uint32
}

type ruleKey struct {
	process, phase, rule, severity string
	tier                           uint32
}

// What ratios are of, by the kind of node.
const (
	investigations = "investigation"
	fixes          = "verify"
)

// nodes adds up visits, figures and broken rules, in one pass over the rows.
func (m *measurer) nodes(ctx context.Context) error {
	g := &gatherer{
		measurer: m, kinds: map[nodeKey]nodeKind{}, escalated: map[visitKey]bool{}, spans: map[*loomv1.NodeMetrics][]float64{},
		tries: map[*loomv1.NodeMetrics][2]uint64{}, rules: map[ruleKey]*loomv1.RuleMetrics{}, cycles: map[string][2]uint64{},
	}
	err := m.each(ctx, " SELECT workflow_id, node_id, multi_dispatch, kind FROM workflow_nodes WHERE workflow_id IN (SELECT workflow_id FROM chosen)",
		func(scan func(...any) error) error {
			var k nodeKey
			var n nodeKind
			err := scan(&k.definition, &k.node, &n.multi, &n.kind)
			g.kinds[k] = n
			return err
		})
	if err != nil {
		return err
	}
	escalations := map[[2]string]uint64{}
	err = m.each(ctx, ` SELECT x.process, a.execution_id, a.node_id, a.visit FROM chosen x JOIN approvals a ON a.execution_id = x.id
		WHERE a.kind = 'escalation' AND a.node_id <> '' `, func(scan func(...any) error) error {
		process, k := "", visitKey{}
		err := scan(&process, &k.execution, &k.node, &k.visit)
		g.escalated[k] = true
		escalations[[2]string{process, k.node}]++
		return err
	})
	if err != nil {
		return err
	}
	err = m.each(ctx, " SELECT id, process, workflow_id, status, visits, figures, broken FROM chosen", func(scan func(...any) error) error {
		var id, process, definition, status, visits, figures, broken string
		if err := scan(&id, &process, &definition, &status, &visits, &figures, &broken); err != nil {
			return err
		}
		var r record
		if err := r.read(visits, figures, broken, "[]", "[]"); err != nil {
			return err
		}
		g.execution(id, process, definition, status, r)
		return nil
	})
	if err != nil {
		return err
	}
	for of, n := range escalations {
		if into := m.node(of[0], of[1]); into != nil {
			into.Escalations = n
		}
	}
	g.finish()
	return nil
}

// execution adds one.
func (g *gatherer) execution(id, process, definition, status string, r record) {
	p := g.processes[process]
	if p == nil {
		return
	}
	cycles := uint64(0)
	for _, v := range r.visits {
		kind := g.kinds[nodeKey{definition, v.node}]
		g.visit(p.at(v.node), v, kind)
		if kind.multi {
			cycles += uint64(v.attempts)
		}
		g.judge(p, v, kind, g.escalated[visitKey{id, v.node, v.number}])
	}
	if cycles > 0 && (status == "completed" || status == "completed_with_gaps") {
		c := g.cycles[process]
		g.cycles[process] = [2]uint64{c[0] + 1, c[1] + cycles}
	}
	for _, f := range r.figures {
		if n := p.nodes[f.node]; n != nil {
			n.Ended, n.Failed, n.Retries = n.Ended+f.ended, n.Failed+f.failed, n.Retries+f.retries
			n.ModelCalls, n.InputTokens, n.OutputTokens, n.CostMicroUsd = n.ModelCalls+f.calls, n.InputTokens+f.input, n.OutputTokens+f.output, n.CostMicroUsd+f.cost
		}
	}
	for _, b := range r.broken {
		g.rule(process, b)
	}
}

// at returns what is known of a node, begun if there is nothing.
func (p *process) at(node string) *loomv1.NodeMetrics {
	n := p.nodes[node]
	if n == nil {
		n = &loomv1.NodeMetrics{Node: node, Attempts: make([]uint64, mostAttempts), Duration: &loomv1.Quantiles{}}
		p.nodes[node] = n
	}
	return n
}

// visit adds a visit of a node.
func (g *gatherer) visit(n *loomv1.NodeMetrics, v visit, kind nodeKind) {
	n.MultiDispatch = n.MultiDispatch || kind.multi
	n.Timeouts += uint64(v.timeouts)
	switch v.outcome {
	case "succeeded":
		n.Succeeded++
	case visitSentBack:
		n.Reworks++
	}
	if v.ended == "" {
		return
	}
	n.Visits++
	g.spans[n] = append(g.spans[n], milliseconds(v.started, v.ended))
	if v.attempts > 0 {
		n.Attempts[min(v.attempts, mostAttempts)-1]++
		t := g.tries[n]
		g.tries[n] = [2]uint64{t[0] + 1, t[1] + uint64(v.attempts)}
	}
}

// judge counts a visit of a multi-dispatch or verify node that ended by itself or
// escalated: one that succeeded and did not escalate is good.
func (g *gatherer) judge(p *process, v visit, kind nodeKind, escalated bool) {
	what := fixes
	switch {
	case kind.multi:
		what = investigations
	case kind.kind != fixes:
		return
	}
	switch {
	case v.outcome == "succeeded" && !escalated:
		p.ratios[what] = [2]uint64{p.ratios[what][0] + 1, p.ratios[what][1] + 1}
	case escalated || v.outcome == "succeeded" || v.outcome == "failed" || v.outcome == visitSentBack:
		p.ratios[what] = [2]uint64{p.ratios[what][0], p.ratios[what][1] + 1}
	}
}

// rule adds a rule that an execution broke.
func (g *gatherer) rule(process string, b broken) {
	k := ruleKey{process, b.phase, b.rule, b.severity, b.tier}
	r := g.rules[k]
	if r == nil {
		r = &loomv1.RuleMetrics{Phase: b.phase, Rule: b.rule, Tier: b.tier, Severity: loomv1.Severity_SEVERITY_WARNING}
		if b.severity == "error" {
			r.Severity = loomv1.Severity_SEVERITY_ERROR
		}
		g.rules[k] = r
	}
	r.Attempts, r.Executions, r.Findings = r.Attempts+b.attempts, r.Executions+1, r.Findings+b.findings
}

// finish computes what needs all of it.
func (g *gatherer) finish() {
	for n, spans := range g.spans {
		n.Duration = quantilesOf(spans)
	}
	for n, t := range g.tries {
		n.MeanAttempts = ratio(t[1], t[0])
	}
	for _, p := range g.processes {
		for _, n := range p.nodes {
			n.FailureRate = ratio(n.Failed, n.Ended)
		}
	}
	for name, c := range g.cycles {
		g.processes[name].cycles = ratio(c[1], c[0])
	}
	keys := slices.SortedFunc(maps.Keys(g.rules), func(a, b ruleKey) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.tier, b.tier), cmp.Compare(a.rule, b.rule), cmp.Compare(a.severity, b.severity))
	})
	for _, k := range keys {
		p := g.processes[k.process]
		p.Rules = append(p.Rules, g.rules[k])
	}
}

// node returns what is known of a node of a process, or nil.
func (m *measurer) node(process, node string) *loomv1.NodeMetrics {
	if p := m.processes[process]; p != nil {
		return p.nodes[node]
	}
	return nil
}

// milliseconds is the time between two times of the tables, as exactly as [micros].
func milliseconds(from, to string) float64 {
	a, _ := time.Parse(layout, from) // they were written so
	b, _ := time.Parse(layout, to)
	return float64(b.UnixMicro()-a.UnixMicro()) / 1e3
}

// quantilesOf describes milliseconds, which it sorts: each quantile is the smallest
// value that so many are not above.
func quantilesOf(ms []float64) *loomv1.Quantiles {
	slices.Sort(ms)
	sum := 0.0
	for _, v := range ms {
		sum += v
	}
	at := func(percent int) float64 { return ms[(len(ms)*percent+99)/100-1] }
	return &loomv1.Quantiles{
		Count: uint64(len(ms)), MeanMs: sum / float64(len(ms)), P50Ms: at(50), P90Ms: at(90), P99Ms: at(99), MaxMs: ms[len(ms)-1],
	}
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
