package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// executionArg is what verbs about one execution take.
const executionArg = "EXECUTION|BEAD"

// historyQuery is what somebody wants to know of an execution's history.
type historyQuery struct {
	id     string
	moment moment
	all    bool
}

func (a *app) history() *cobra.Command {
	var q historyQuery
	var at string
	cmd := &cobra.Command{
		Use: "history [flags] " + executionArg, Short: "every transition of an execution, oldest first", Args: takes(executionArg),
		Long: `History prints every transition of an execution: when, from where to where, on
what outcome, who brought it about, and why. With --all it prints every event
about the execution, one a line, each with its position, which --at takes.`,
		Example: "  loom execution history shop-1\n  loom execution history shop-1 --all --at 1h",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.id = args[0]
			m, err := momentArgs(q.id, at)
			if err != nil {
				return err
			}
			q.moment = m
			return a.with(cmd.Context(), func(c *client.Client) error { return a.trace(cmd.Context(), c, q) })
		},
	}
	cmd.Flags().BoolVar(&q.all, "all", false, "every event about it, not only transitions")
	cmd.Flags().StringVar(&at, "at", "", momentUsage)
	return cmd
}

// trace prints a history.
func (a *app) trace(ctx context.Context, c *client.Client, q historyQuery) error {
	last := uint64(0) // number of the newest event to print; 0 for all
	if q.moment != (moment{}) {
		r, err := a.state(ctx, c, q.id, q.moment)
		if err != nil {
			return err
		}
		last = r.Number
	}
	if q.all {
		return a.everyEvent(ctx, c, q.id, last)
	}
	list, err := c.History(ctx, q.id)
	if err != nil {
		return err
	}
	list = upTo(list, last)
	return a.print(&loomv1.HistoryReply{Transitions: list}, func(w io.Writer) { historyTable(w, list) })
}

// upTo returns the transitions up to an event of the project.
func upTo(list []*loomv1.Transition, last uint64) []*loomv1.Transition {
	for i, t := range list {
		n, err := strconv.ParseUint(t.Id[strings.LastIndexByte(t.Id, '-')+1:], 10, 64)
		if last > 0 && err == nil && n > last {
			return list[:i]
		}
	}
	return list
}

// everyEvent prints what happened to an execution, from its beginning on.
func (a *app) everyEvent(ctx context.Context, c *client.Client, id string, last uint64) error {
	v, err := c.Look(ctx, string(project.Executions), &loomv1.Query{Project: project.Of(id), Id: id})
	if err != nil {
		return err
	}
	x := v.Executions[0]
	return c.Follow(ctx, &loomv1.NoticesRequest{Execution: x.Id, Since: x.StartedAt}, false, func(n *loomv1.Notice) error {
		if last > 0 && n.Event.GetNumber() > last {
			return nil
		}
		return a.event(n)
	})
}

func historyTable(w io.Writer, list []*loomv1.Transition) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no transitions")
		return
	}
	rows := make([][]string, 0, len(list))
	for _, t := range list {
		name, _, _ := strings.Cut(who(t.Actor), "@") // an agent, wherever it was
		rows = append(rows, []string{clock(t.Time), t.From, t.To, t.Outcome, name, line(what(t), 80)})
	}
	table(w, []string{"time", "from", "to", "outcome", "who", "why"}, rows)
}

// what says why a transition was made, also where no agent summed it up.
func what(t *loomv1.Transition) string {
	switch {
	case t.Summary != "":
		return t.Summary
	case t.From == "start":
		return "the bead was filed"
	case t.Outcome == "approved":
		return "the CEO approved"
	}
	return "-"
}
