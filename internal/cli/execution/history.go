package execution

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// historyQuery is what somebody wants to know of an execution's history.
type historyQuery struct {
	id     string
	moment moment
	all    bool
}

func (a *Commands) history() *cobra.Command {
	var q historyQuery
	var at string
	cmd := &cobra.Command{
		Use: "history " + console.ExecutionArg + " [flags]", Short: "every transition of an execution, oldest first", Args: console.Takes(console.ExecutionArg),
		Long: `History prints every transition of an execution: when, since when an agent had
worked at where it comes from, from where to where, on what outcome, who brought
it about, and why. What began before another ended ran at once with it. With
--all it prints every event about the execution, one a line, each with its
position, which --at takes.`,
		Example: "  loom execution history shop-1\n  loom execution history shop-1 --all --at 1h",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.id = args[0]
			m, err := momentArgs(q.id, at)
			if err != nil {
				return err
			}
			q.moment = m
			return a.With(cmd.Context(), func(c *client.Client) error { return a.trace(cmd.Context(), c, q) })
		},
	}
	cmd.Flags().BoolVar(&q.all, "all", false, "every event about it, not only transitions")
	cmd.Flags().StringVar(&at, "at", "", momentUsage)
	return cmd
}

// trace prints a history.
func (a *Commands) trace(ctx context.Context, c *client.Client, q historyQuery) error {
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
	reply, err := c.History(ctx, &loomv1.HistoryRequest{Execution: q.id})
	if err != nil {
		return err
	}
	list := upTo(reply.Transitions, last)
	return a.Print(&loomv1.HistoryReply{Transitions: list}, func(w io.Writer) { HistoryTable(w, list, taken(ctx, c, q.id)) })
}

// takenWithin bounds how long it is looked for when work was taken: a journal
// may be long, and the transitions are known without.
const takenWithin = 20 * time.Second

// taken returns when agents took the work at each node of an execution, oldest
// first; what cannot be known in time is left out.
func taken(ctx context.Context, c *client.Client, id string) map[string][]time.Time {
	ctx, cancel := context.WithTimeout(ctx, takenWithin)
	defer cancel()
	claims := map[string][]time.Time{}
	v, err := c.Execution(ctx, &loomv1.Query{Project: project.Of(id), Id: id})
	if err != nil || len(v.Executions) == 0 {
		return claims
	}
	x := v.Executions[0]
	q := &loomv1.NoticesRequest{Execution: x.Id, Since: x.StartedAt, Kinds: []string{"attempt-claimed"}}
	_ = c.Follow(ctx, q, false, func(n *loomv1.Notice) error {
		node := n.Event.GetNode()
		claims[node] = append(claims[node], n.Event.GetTime().AsTime())
		return nil
	})
	return claims
}

// began returns for each transition since when an agent had worked at the node
// that it comes from: from the first claim after the transition before that came
// from there. It is nil where nobody had.
func began(list []*loomv1.Transition, claims map[string][]time.Time) []*timestamppb.Timestamp {
	last := map[string]*loomv1.Transition{} // the newest so far from each node
	since := make([]*timestamppb.Timestamp, len(list))
	of := map[string]*timestamppb.Timestamp{}
	for i, t := range list {
		if before := last[t.From]; before == nil || !before.Time.AsTime().Equal(t.Time.AsTime()) { // several edges are taken at once
			of[t.From] = firstBetween(claims[t.From], before.GetTime(), t.Time)
		}
		since[i], last[t.From] = of[t.From], t
	}
	return since
}

func firstBetween(times []time.Time, after, until *timestamppb.Timestamp) *timestamppb.Timestamp {
	for _, at := range times {
		if (after == nil || at.After(after.AsTime())) && !at.After(until.AsTime()) {
			return timestamppb.New(at)
		}
	}
	return nil
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
func (a *Commands) everyEvent(ctx context.Context, c *client.Client, id string, last uint64) error {
	v, err := c.Execution(ctx, &loomv1.Query{Project: project.Of(id), Id: id})
	if err != nil {
		return err
	}
	x, alone := v.Executions[0], a.Alone(ctx, c)
	return c.Follow(ctx, &loomv1.NoticesRequest{Execution: x.Id, Since: x.StartedAt}, false, func(n *loomv1.Notice) error {
		if last > 0 && n.Event.GetNumber() > last {
			return nil
		}
		return a.Event(n, alone)
	})
}

// HistoryTable shows transitions, and since when agents had worked where claims
// says when they took what.
func HistoryTable(w io.Writer, list []*loomv1.Transition, claims map[string][]time.Time) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no transitions")
		return
	}
	rows, since := make([][]string, 0, len(list)), began(list, claims)
	for i, t := range list {
		name, _, _ := strings.Cut(console.Who(t.Actor), "@") // an agent, wherever it was
		rows = append(rows, []string{console.Clock(t.Time), console.Clock(since[i]), t.From, t.To, t.Outcome, name, console.Line(what(t), 80)})
	}
	head := []string{"time", "began", "from", "to", "outcome", "who", "why"}
	if claims == nil { // nobody looked
		head = slices.Delete(head, 1, 2)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
	}
	console.Table(w, head, rows)
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
