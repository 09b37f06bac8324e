package host

import (
	"context"
	"strconv"
	"time"

	"github.com/loomrun/loom/internal/host/journals"
	"github.com/loomrun/loom/internal/net/web"
	"github.com/loomrun/loom/internal/store/projection"
)

// families are the figures that are read at each scrape. What grows counts from
// the deployment's first event, also over starts of the host.
var families = []web.Family{
	{Name: "loom_beads_filed_total", Help: "Beads filed.", Labels: []string{"type"}},
	{Name: "loom_executions_started_total", Help: "Executions begun.", Labels: []string{"process"}},
	{Name: "loom_executions_ended_total", Help: "Executions ended.", Labels: []string{"process", "status"}},
	{Name: "loom_executions_running", Help: "Executions that run now.", Labels: []string{"process"}},
	{Name: "loom_attempts_ended_total", Help: "Attempts ended.", Labels: []string{"process", "node", "outcome"}},
	{Name: "loom_attempts_queued", Help: "Attempts that wait for an agent now, held ones too.", Labels: []string{"role"}},
	{Name: "loom_escalations_total", Help: "Escalations; without a node, of a whole execution.", Labels: []string{"process", "node"}},
	{Name: "loom_approvals_open", Help: "Approvals and escalations that wait for the CEO now.", Labels: []string{"kind"}},
	{Name: "loom_model_calls_total", Help: "Calls of models.", Labels: []string{"process"}},
	{Name: "loom_model_tokens_total", Help: "Tokens of models.", Labels: []string{"process", "direction"}},
	{Name: "loom_model_cost_usd_total", Help: "Cost of models, as far as prices are known.", Labels: []string{"process"}},
	{Name: "loom_agents", Help: "Agents of this host: desired, actual, busy.", Labels: []string{"role", "state"}},
	{Name: "loom_journal_sequence", Help: "Newest batch of a journal.", Labels: []string{"partition"}},
	{Name: "loom_projection_sequence", Help: "Newest batch that the projection has.", Labels: []string{"partition"}},
	{Name: "loom_projection_lag_batches", Help: "Batches that the projection has not applied yet.", Labels: []string{"partition"}},
	{Name: "loom_projection_lag_seconds", Help: "How long the oldest batch that this host appended has waited for the projection.", Labels: []string{"partition"}},
	{Name: "loom_host_info", Help: "Always 1.", Labels: []string{"version", "deployment", "host"}},
}

// tallied names the figure of each of the projection's counts, which of its
// labels it has, and what a unit of it is.
var tallied = map[string]struct {
	family string
	labels func(t projection.Tally) []string
	unit   float64
}{
	projection.BeadsFiled:        {"loom_beads_filed_total", func(t projection.Tally) []string { return []string{t.Label} }, 1},
	projection.ExecutionsStarted: {"loom_executions_started_total", func(t projection.Tally) []string { return []string{t.Process} }, 1},
	projection.ExecutionsEnded:   {"loom_executions_ended_total", func(t projection.Tally) []string { return []string{t.Process, t.Label} }, 1},
	projection.AttemptsEnded:     {"loom_attempts_ended_total", func(t projection.Tally) []string { return []string{t.Process, t.Node, t.Label} }, 1},
	projection.AttemptsQueued:    {"loom_attempts_queued", func(t projection.Tally) []string { return []string{t.Label} }, 1},
	projection.Escalations:       {"loom_escalations_total", func(t projection.Tally) []string { return []string{t.Process, t.Node} }, 1},
	projection.ModelCalls:        {"loom_model_calls_total", func(t projection.Tally) []string { return []string{t.Process} }, 1},
	projection.ModelTokens:       {"loom_model_tokens_total", func(t projection.Tally) []string { return []string{t.Process, t.Label} }, 1},
	projection.ModelCost:         {"loom_model_cost_usd_total", func(t projection.Tally) []string { return []string{t.Process} }, 1e-6},
}

// figures reads what a scrape shows: counts that are kept anyway, and one query
// of what is open.
func (h *Host) figures() []web.Figure {
	var all []web.Figure
	add := func(family string, value float64, labels ...string) {
		all = append(all, web.Figure{Family: family, Labels: labels, Value: value})
	}
	running := map[string]float64{}
	for _, t := range h.projection.Tallies() {
		f := tallied[t.Name]
		add(f.family, float64(t.Value)*f.unit, f.labels(t)...)
		switch t.Name {
		case projection.ExecutionsStarted:
			running[t.Process] += float64(t.Value)
		case projection.ExecutionsEnded:
			running[t.Process] -= float64(t.Value)
		}
	}
	for process, n := range running {
		add("loom_executions_running", n, process)
	}
	ctx, cancel := context.WithTimeout(h.ctx, 5*time.Second)
	defer cancel()
	if open, err := h.projection.Asked(ctx); err == nil {
		for kind, n := range open {
			add("loom_approvals_open", float64(n), kind)
		}
	}
	for _, r := range h.crew.counts() {
		add("loom_agents", float64(r.Desired), r.Role, "desired")
		add("loom_agents", float64(r.Actual), r.Role, "actual")
		add("loom_agents", float64(r.Busy), r.Role, "busy")
	}
	for i, log := range h.journals.Logs {
		partition := strconv.Itoa(i)
		batches, since := h.tables.Behind(i)
		add("loom_journal_sequence", float64(log.(*journals.Timed).Newest()), partition)
		add("loom_projection_sequence", float64(h.projection.Applied(i)), partition)
		add("loom_projection_lag_batches", float64(batches), partition)
		add("loom_projection_lag_seconds", since.Seconds(), partition)
	}
	add("loom_host_info", 1, Version, h.Deployment(), h.dir.Manifest().Host)
	return all
}
