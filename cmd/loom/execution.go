package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *app) execution() *cobra.Command {
	show := a.viewer("show EXECUTION|BEAD", "show where an execution is", "execution", func(w io.Writer, v *loomv1.View) {
		for _, x := range v.Executions {
			executionText(w, x, v.Definition)
		}
	})
	show.Example = "  loom execution show shop-1"
	list := a.viewer("list", "list executions, newest first", "execution", executionTable)
	list.Example = "  loom execution list"
	return group("execution", "list, show and trace executions", "  loom execution show shop-1\n  loom execution history shop-1", list, show, a.history())
}

func executionTable(w io.Writer, v *loomv1.View) {
	if len(v.Executions) == 0 {
		fmt.Fprintln(w, "no executions")
		return
	}
	rows := make([][]string, 0, len(v.Executions))
	for _, x := range v.Executions {
		rows = append(rows, []string{x.Id, x.Definition, project.Word(x.Status), stamp(x.StartedAt), since(x.StartedAt, x.EndedAt)})
	}
	table(w, []string{"execution", "workflow", "status", "started", "took"}, rows)
}

func executionText(w io.Writer, x *loomv1.Execution, def *loomv1.Definition) {
	fmt.Fprintf(w, "%s  %s %s  %s  %d transitions\n\n", x.Id, x.Definition, x.Version, project.Word(x.Status), x.Transitions)
	var rows [][]string
	for _, n := range def.GetNodes() {
		rows = append(rows, nodeRow(n.Id, x.Nodes[n.Id]))
	}
	table(w, []string{"node", "status", "visit", "attempts", "agent", "outcome"}, rows)
	if x.Landing != nil {
		fmt.Fprintf(w, "\nlanded %s on %s (%s)\n", x.Landing.Commit, x.Landing.Ref, x.Landing.Checkout)
	}
	fmt.Fprintf(w, "\nmodel calls %d, tokens %d in and %d out, %s\n", x.ModelCalls, x.Usage.GetInputTokens(), x.Usage.GetOutputTokens(), cost(x))
}

// nodeRow tells of one node; one that was not reached yet has dashes only.
func nodeRow(id string, s *loomv1.NodeState) []string {
	if s.GetStatus() == loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED {
		return []string{id, "-", "-", "-", "-", ""}
	}
	return []string{
		id, project.Word(s.GetStatus()), strconv.Itoa(int(s.GetVisit())),
		strconv.Itoa(len(s.GetHistory())), dash(s.GetAttempt().GetClaimant().GetAgent()), line(s.GetOutcome().GetSummary(), 60),
	}
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
	const arg = "EXECUTION|BEAD"
	return &cobra.Command{
		Use: "history " + arg, Short: "every transition of an execution, oldest first", Args: takes(arg),
		Example: "  loom execution history shop-1",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkID(arg, args[0]); err != nil {
				return err
			}
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
		rows = append(rows, []string{clock(t.Time), t.From, t.To, t.Outcome, line(what(t), 80)})
	}
	table(w, []string{"time", "from", "to", "outcome", "what"}, rows)
}

// what says what made a transition, also where no agent summed it up.
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
