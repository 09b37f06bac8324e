package stats

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Stats returns the command of that name.
func (a *Commands) Stats() *cobra.Command {
	q := &loomv1.MetricsRequest{}
	var from, to string
	cmd := &cobra.Command{
		Use: "stats [flags]", Short: "how workflows fare, beside their targets", Args: console.Takes(),
		Long: `Stats prints, for each process, how its executions ended, how long they took
from filing to the end, with and without the time that the CEO was waited for,
and how each node fared; then the targets beside what was measured, those about
bugs for what mends bugs. What was not measured yet is a dash. The time of a
target is the 90th percentile, and a simple bug is one whose change has at most
two files. Commits made by two agents at once are those, and landings, of which
the commit lock was taken away and granted to another before they were recorded;
a hook that git does not run, because it is not executable, was not passed.`,
		Example: "  loom stats\n  loom stats --process auto-bug-workflow --since 24h",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillStats(q, from, to, time.Now()); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Metrics(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.Print(reply, func(w io.Writer) { statsText(console.Prose(w, 2), reply.Workflows) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Project, "project", "", "only of the project of this `NAME`")
	f.StringVar(&q.Process, "process", "", "only of the process of this `NAME`")
	f.StringVar(&from, "since", "", "only executions that began at this `TIME` or later, or so long ago (24h)")
	f.StringVar(&to, "until", "", "only executions that began before this `TIME`, or so long ago")
	return cmd
}

func fillStats(q *loomv1.MetricsRequest, from, to string, now time.Time) (err error) {
	for flag, name := range map[string]string{"--project": q.Project, "--process": q.Process} {
		if err := console.CheckName(flag, name); err != nil {
			return err
		}
	}
	if from != "" {
		if q.From, err = console.ParseTime("--since", from, now); err != nil {
			return err
		}
	}
	if to != "" {
		q.To, err = console.ParseTime("--until", to, now)
	}
	return err
}

func statsText(w io.Writer, all []*loomv1.WorkflowMetrics) {
	if len(all) == 0 {
		fmt.Fprintln(w, "no executions")
	}
	for i, m := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		processText(w, m)
	}
}

func processText(w io.Writer, m *loomv1.WorkflowMetrics) {
	fmt.Fprintf(w, "%s: %s: %s\n", console.Line(m.Process, 80), console.Count(int(m.Started), "execution"), endings(m))
	fmt.Fprintf(w, "success %s of those that ended, escalated %s (%d escalations), tokens %d in and %d out, cost %.6f USD\n\n",
		percent(m.SuccessRate), percent(m.EscalationRate), m.Escalations, m.InputTokens, m.OutputTokens, float64(m.CostMicroUsd)/1e6)
	console.Table(w, []string{"time to resolution", "count", "mean", "p50", "p90", "p99", "most"}, [][]string{
		append([]string{"from filing to the end"}, spans(m.Resolution)...),
		append([]string{"without waiting for the CEO"}, spans(m.Working)...),
	})
	fmt.Fprintln(w)
	nodesTable(w, m.Nodes)
	fmt.Fprintln(w)
	rulesTable(w, m.Rules)
	runsTable(w, m)
	strongerText(w, m)
	targetsTable(w, targetsOf(m))
}

func endings(m *loomv1.WorkflowMetrics) string {
	var parts []string
	for _, c := range []struct {
		n    uint64
		word string
	}{{m.Completed, "completed"}, {m.Rejected, "rejected"}, {m.Aborted, "aborted"}, {m.Failed, "failed"}, {m.Running, "running"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	return strings.Join(parts, ", ")
}

func nodesTable(w io.Writer, nodes []*loomv1.NodeMetrics) {
	rows := make([][]string, 0, len(nodes))
	for _, n := range nodes {
		rows = append(rows, []string{
			n.Node, digits(n.Visits), digits(n.Succeeded), tries(n.Attempts), decimal(n.MeanAttempts), digits(n.Timeouts), digits(n.Reworks), digits(n.Escalations),
			span(n.Duration, n.Duration.GetP50Ms()), span(n.Duration, n.Duration.GetP90Ms()),
			percent(n.FailureRate), digits(n.Retries), digits(n.InputTokens), digits(n.OutputTokens),
		})
	}
	console.Table(w, []string{
		"node", "visits", "good", "by attempts", "mean", "timeouts", "sent back", "escalated", "p50", "p90", "failed", "retries", "tokens in", "out",
	}, rows)
}

// tiers says who found that a rule is broken.
var tiers = map[uint32]string{1: "1, files", 2: "2, verifier", 3: "3, reviewers"}

// rulesTable shows what verification found.
func rulesTable(w io.Writer, rules []*loomv1.RuleMetrics) {
	if len(rules) == 0 {
		return
	}
	rows := make([][]string, 0, len(rules))
	for _, r := range rules {
		severity := map[bool]string{true: "error", false: "warning"}[r.Severity == loomv1.Severity_SEVERITY_ERROR]
		rows = append(rows, []string{console.Line(r.Phase, 40), console.Line(r.Rule, 60), tiers[r.Tier], severity, digits(r.Attempts), digits(r.Executions), digits(r.Findings)})
	}
	console.Table(w, []string{"phase", "broken rule", "tier", "severity", "attempts", "executions", "places"}, rows)
	fmt.Fprintln(w)
}

// tries writes how many visits took how many attempts: "1:9 2:3".
func tries(attempts []uint64) string {
	var parts []string
	for i, n := range attempts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d%s:%d", i+1, map[bool]string{true: "+"}[i == len(attempts)-1], n))
		}
	}
	return console.Dash(strings.Join(parts, " "))
}

// escalates is the one target that every process has.
const escalates = "executions that escalate"

// targetsOf are the targets that a process has: those about bugs only where it
// is for bugs, or something of the kind was measured. That verification was
// passed says nothing of it: all work that lands is verified. How safely it
// commits is for any process that does.
func targetsOf(m *loomv1.WorkflowMetrics) []*loomv1.Target {
	bugs := m.Process == project.AutoBug || slices.ContainsFunc(m.Targets, func(t *loomv1.Target) bool {
		return t.Measured != nil && t.Name != escalates && t.Name != "fixes that pass verification" && !ofCommits(t)
	})
	return slices.DeleteFunc(slices.Clone(m.Targets), func(t *loomv1.Target) bool {
		return !bugs && t.Name != escalates && (!ofCommits(t) || t.Measured == nil)
	})
}

// ofCommits says whether a target is one of commit safety.
func ofCommits(t *loomv1.Target) bool { return strings.HasPrefix(t.Name, "commits ") }

func targetsTable(w io.Writer, targets []*loomv1.Target) {
	rows := make([][]string, 0, len(targets))
	for _, t := range targets {
		met := "-"
		if t.Met != nil {
			met = map[bool]string{true: "yes", false: "no"}[t.GetMet()]
		}
		rows = append(rows, []string{console.Line(t.Name, 80), t.Relation + " " + inUnit(&t.Goal, t.Unit), inUnit(t.Measured, t.Unit), met})
	}
	console.Table(w, []string{"target", "goal", "measured", "met"}, rows)
}

func inUnit(v *float64, unit string) string {
	switch {
	case v == nil:
		return "-"
	case unit == "ratio":
		return percent(v)
	case unit == "commits":
		return digits(uint64(*v))
	case unit == "seconds":
		return brief(time.Duration(*v * float64(time.Second)))
	}
	return decimal(v)
}

func percent(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v*100, 'f', 1, 64) + " %"
}

func decimal(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

func digits(n uint64) string { return strconv.FormatUint(n, 10) }

func spans(q *loomv1.Quantiles) []string {
	cells := []string{digits(q.GetCount())}
	for _, ms := range []float64{q.GetMeanMs(), q.GetP50Ms(), q.GetP90Ms(), q.GetP99Ms(), q.GetMaxMs()} {
		cells = append(cells, span(q, ms))
	}
	return cells
}

func span(q *loomv1.Quantiles, ms float64) string {
	if q.GetCount() == 0 {
		return "-"
	}
	return brief(time.Duration(ms * float64(time.Millisecond)))
}

// brief is a duration to three digits or so.
func brief(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return d.Round(time.Minute).String()
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}
