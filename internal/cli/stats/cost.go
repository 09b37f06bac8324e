package stats

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// costGroups are what costs can be added up by.
var costGroups = []string{"agent", "role", "bead", "tree", "process", "model", "project", "day"}

// Cost returns the command of that name.
func (a *Commands) Cost() *cobra.Command {
	q := &loomv1.CostRequest{}
	var by, since string
	cmd := &cobra.Command{
		Use: "cost [flags]", Short: "what model calls have cost, and how agents fared", Args: console.Takes(),
		Long: `Cost adds up the calls of models: tokens, of them those from the provider's
cache, money as far as prices are known, and how long answers took; and the
attempts of agents: how many ended well, and how many were neither late nor
taken away. By tree, what agents had others do counts for the bead that they
worked on. A call that was broken off counts with what it can have used at most,
as it does for budgets. A sum with a + is more than it says: the price of some
of its calls is not known.`,
		Example: "  loom cost --by role\n  loom cost --by day --since 720h --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillCost(q, by, since, time.Now()); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Cost(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.Print(reply, func(w io.Writer) { costText(console.Prose(w, 2), by, reply) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&by, "by", "process", "add up by `WHAT`: "+strings.Join(costGroups, ", "))
	f.StringVar(&since, "since", "", "only from this `TIME` on, or so long ago (24h)")
	console.ProjectFlag(cmd, &q.Project)
	return cmd
}

func fillCost(q *loomv1.CostRequest, by, since string, now time.Time) (err error) {
	v, ok := loomv1.CostGroup_value["COST_GROUP_"+strings.ToUpper(by)]
	if !ok || v == 0 {
		return fault.New("usage/argument", "costs are not added up by that").At("--by").Got(by).Want("%s", suggest.Among(by, costGroups))
	}
	q.By = loomv1.CostGroup(v)
	if err := console.CheckName("--project", q.Project); err != nil {
		return err
	}
	if since != "" {
		q.From, err = console.ParseTime("--since", since, now)
	}
	return err
}

func costText(w io.Writer, by string, r *loomv1.CostReply) {
	if len(r.Costs) == 0 {
		fmt.Fprintln(w, "no model was called, and no attempt has ended")
		return
	}
	var rows [][]string
	for _, c := range r.Costs {
		if c.Name == "" && by == "model" {
			c.Name = "(no answer)"
		}
		rows = append(rows, costRow(c))
	}
	console.Table(w, []string{by, "calls", "tokens in", "cached", "out", "USD", "p50", "p90", "attempts", "well", "reliable"}, append(rows, costRow(r.Total)))
	fmt.Fprintf(w, "\nprices as of %s\n", r.Prices)
	if r.Total.Unpriced > 0 {
		fmt.Fprintf(w, "the price of %d calls is not known, or not wholly\n", r.Total.Unpriced)
	}
	if n := r.Total.BrokenCalls; n > 0 {
		fmt.Fprintf(console.Prose(w, 0), "%s tokens and %.6f USD of that are all that was held back for calls that were broken off (%d): only the provider knows what they have used\n",
			digits(r.Total.BrokenTokens), float64(r.Total.BrokenMicroUsd)/1e6, n)
	}
}

func costRow(c *loomv1.Cost) []string {
	usd := fmt.Sprintf("%.6f", float64(c.CostMicroUsd)/1e6)
	if c.Unpriced > 0 {
		usd += "+"
	}
	return []string{
		console.Line(c.Name, 60), digits(c.Calls), digits(c.InputTokens), digits(c.CachedTokens), digits(c.OutputTokens), usd,
		span(c.Latency, c.Latency.GetP50Ms()), span(c.Latency, c.Latency.GetP90Ms()), digits(c.Attempts), percent(c.Completion), percent(c.Reliability),
	}
}
