package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// group is a command that only has subcommands.
func group(name, short, example string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name + " COMMAND", Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subs...)
	return cmd
}

// viewer is a verb that shows a view.
func (a *app) viewer(use, short, view string, show func(w io.Writer, v *loomv1.View)) *cobra.Command {
	q := &loomv1.Query{}
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				q.Id = args[0]
				q.Project = cmp.Or(q.Project, project.Of(q.Id))
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				v, err := c.Look(cmd.Context(), view, q)
				if err != nil {
					return err
				}
				return a.print(v, func(w io.Writer) { show(w, v) })
			})
		},
	}
	cmd.Flags().StringVar(&q.Project, "project", "", "project (default: the id's, else the host's only one)")
	return cmd
}

func (a *app) bead() *cobra.Command {
	var status, name string
	list := &cobra.Command{
		Use: "list [flags]", Short: "list beads, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				v, err := c.Look(cmd.Context(), "bead", &loomv1.Query{Project: name, Filter: status})
				if err != nil {
					return err
				}
				return a.print(v, func(w io.Writer) { beadTable(w, v) })
			})
		},
	}
	list.Flags().StringVar(&status, "status", "", "only open, in_progress, waiting, blocked, closed, failed or aborted")
	list.Flags().StringVar(&name, "project", "", "project (default: the host's only one)")
	show := a.viewer("show BEAD", "show one bead", "bead", func(w io.Writer, v *loomv1.View) {
		for _, b := range v.Beads {
			beadText(w, b)
		}
	})
	show.Args = cobra.ExactArgs(1)
	return group("bead", "list and show beads", "  loom bead list --status waiting\n  loom bead show shop-1", list, show)
}

func beadTable(w io.Writer, v *loomv1.View) {
	rows := make([][]string, 0, len(v.Beads))
	for _, b := range v.Beads {
		rows = append(rows, []string{b.Id, project.Word(b.Type), project.Word(b.Status), project.Word(b.Priority), stamp(b.UpdatedAt), line(b.Goal, 70)})
	}
	table(w, []string{"bead", "type", "status", "priority", "updated", "goal"}, rows)
}

func beadText(w io.Writer, b *loomv1.Bead) {
	fmt.Fprintf(w, "%s  %s  %s", b.Id, project.Word(b.Type), project.Word(b.Status))
	if b.Reason != "" {
		fmt.Fprintf(w, " (%s)", line(b.Reason, 120))
	}
	fmt.Fprintf(w, "\n\n  %s\n\n", line(b.Goal, 500))
	table(w, []string{"field", "value"}, [][]string{
		{"process", dash(b.Process)},
		{"execution", dash(b.Execution)},
		{"about", dash(b.About)},
		{"priority", project.Word(b.Priority)},
		{"filed", stamp(b.CreatedAt) + " by " + b.FiledBy.GetName()},
		{"updated", stamp(b.UpdatedAt)},
		{"deadline", stamp(b.Deadline)},
		{"occurrences", strconv.Itoa(int(b.Occurrences))},
	})
	if b.Description != "" {
		fmt.Fprintf(w, "\n%s\n", printable(b.Description))
	}
}

func (a *app) execution() *cobra.Command {
	show := a.viewer("show EXECUTION|BEAD", "show where an execution is", "execution", func(w io.Writer, v *loomv1.View) {
		for _, x := range v.Executions {
			executionText(w, x, v.Definition)
		}
	})
	show.Args = cobra.ExactArgs(1)
	list := a.viewer("list", "list executions, newest first", "execution", func(w io.Writer, v *loomv1.View) {
		rows := make([][]string, 0, len(v.Executions))
		for _, x := range v.Executions {
			rows = append(rows, []string{x.Id, x.Definition, project.Word(x.Status), stamp(x.StartedAt), since(x.StartedAt, x.EndedAt)})
		}
		table(w, []string{"execution", "workflow", "status", "started", "took"}, rows)
	})
	list.Args = cobra.NoArgs
	return group("execution", "list, show and trace executions", "  loom execution show shop-1\n  loom execution history shop-1", list, show, a.history())
}

func executionText(w io.Writer, x *loomv1.Execution, def *loomv1.Definition) {
	fmt.Fprintf(w, "%s  %s %s  %s  %d transitions\n\n", x.Id, x.Definition, x.Version, project.Word(x.Status), x.Transitions)
	var rows [][]string
	for _, n := range def.GetNodes() {
		s := x.Nodes[n.Id]
		rows = append(rows, []string{
			n.Id, dash(project.Word(s.GetStatus())), strconv.Itoa(int(s.GetVisit())),
			strconv.Itoa(len(s.GetHistory())), dash(s.GetAttempt().GetClaimant().GetAgent()), line(s.GetOutcome().GetSummary(), 60),
		})
	}
	table(w, []string{"node", "status", "visit", "attempts", "agent", "outcome"}, rows)
	if x.Landing != nil {
		fmt.Fprintf(w, "\nlanded %s on %s (%s)\n", x.Landing.Commit, x.Landing.Ref, x.Landing.Checkout)
	}
	fmt.Fprintf(w, "\nmodel calls %d, tokens %d in and %d out, %s\n", x.ModelCalls, x.Usage.GetInputTokens(), x.Usage.GetOutputTokens(), cost(x))
}

// cost says what the model calls of an execution cost, and who answered them.
func cost(x *loomv1.Execution) string {
	text := "cost unknown (no price for this model)"
	if x.Usage.GetCostKnown() || x.ModelCalls == 0 {
		text = fmt.Sprintf("cost %.6f USD", float64(x.Usage.GetCostMicroUsd())/1e6)
	}
	if x.Scripted {
		text += "; answered by a script that stands in for a model"
	}
	return text
}

func (a *app) history() *cobra.Command {
	return &cobra.Command{
		Use: "history EXECUTION|BEAD", Short: "every transition of an execution, oldest first", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				list, err := c.History(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.print(&loomv1.HistoryReply{Transitions: list}, func(w io.Writer) { historyTable(w, list) })
			})
		},
	}
}

func historyTable(w io.Writer, list []*loomv1.Transition) {
	rows := make([][]string, 0, len(list))
	for _, t := range list {
		rows = append(rows, []string{clock(t.Time), t.From, t.To, t.Outcome, line(t.Summary, 80)})
	}
	table(w, []string{"time", "from", "to", "outcome", "what"}, rows)
}

func (a *app) lock() *cobra.Command {
	status := a.viewer("status", "who holds the commit lock, and who waits", "lock", func(w io.Writer, v *loomv1.View) {
		for _, l := range v.Locks {
			lockText(w, l)
		}
		if len(v.Locks) == 0 {
			fmt.Fprintln(w, "free; never asked for")
		}
	})
	status.Args = cobra.NoArgs
	return group("lock", "the commit lock", "  loom lock status", status)
}

func lockText(w io.Writer, l *loomv1.CommitLock) {
	fmt.Fprintf(w, "%s\n", printable(l.Repository))
	if h := l.Holder; h != nil {
		fmt.Fprintf(w, "  held by %s@%s for %s since %s until %s (token %d)\n", h.Holder.GetAgent(), h.Holder.GetHost(), h.Request, stamp(h.GrantedAt), stamp(h.Until), h.Token)
	} else {
		fmt.Fprintf(w, "  free (last token %d)\n", l.LastToken)
	}
	for i, q := range l.Queue {
		fmt.Fprintf(w, "  %d. %s for %s, since %s\n", i+1, q.Holder.GetAgent(), q.Request, stamp(q.AskedAt))
	}
}

func (a *app) project() *cobra.Command {
	list := a.viewer("list", "list registered projects", "project", func(w io.Writer, v *loomv1.View) {
		rows := make([][]string, 0, len(v.Projects))
		for _, p := range v.Projects {
			rows = append(rows, []string{p.Id, p.Repository, p.TargetBranch, p.DefaultProcess})
		}
		slices.SortFunc(rows, func(x, y []string) int { return cmp.Compare(x[0], y[0]) })
		table(w, []string{"project", "repository", "branch", "process"}, rows)
	})
	list.Args = cobra.NoArgs
	return group("project", "registered projects", "  loom project list", list)
}
