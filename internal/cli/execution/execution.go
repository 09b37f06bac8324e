package execution

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/notice"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/core/provenance"
	"github.com/loomrun/loom/internal/core/turn"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Execution returns the command of that name.
func (a *Commands) Execution() *cobra.Command {
	list := a.Viewer("list", "list executions, newest first", client.Services.Execution, executionTable)
	list.Example = "  loom execution list"
	return console.Group("execution", "list, show, read, fork, talk to and close executions", "  loom execution show shop-1\n  loom execution history shop-1",
		list, a.showExecution(), a.history(), a.log(), a.sources(), a.fork(), a.say(), a.set(), approval.New(a.Console).CloseExecution(), approval.New(a.Console).Recheck())
}

func (a *Commands) showExecution() *cobra.Command {
	var at string
	show := a.Viewer("show EXECUTION|BEAD", "show where an execution is, or was", client.Services.Execution, func(w io.Writer, v *loomv1.View) {
		for _, x := range v.Executions {
			executionText(w, x, v.Definition)
			treeText(w, v.Tree)
		}
	})
	show.Example = "  loom execution show shop-1\n  loom execution show shop-1 --at 10m"
	show.Flags().StringVar(&at, "at", "", momentUsage)
	now := show.RunE
	show.RunE = func(cmd *cobra.Command, args []string) error {
		if at == "" {
			return now(cmd, args)
		}
		return a.showPast(cmd.Context(), args[0], at)
	}
	return show
}

// showPast shows an execution as of a moment.
func (a *Commands) showPast(ctx context.Context, id, at string) error {
	m, err := momentArgs(id, at)
	if err != nil {
		return err
	}
	return a.With(ctx, func(c *client.Client) error {
		r, err := a.state(ctx, c, id, m)
		if err != nil {
			return err
		}
		return a.Print(r, func(w io.Writer) {
			fmt.Fprintf(w, "as of %s, event %d at %s\n\n", console.Exact(r.Time), r.Number, notice.FormatPosition(r.Position))
			executionText(w, r.Execution, r.Definition)
		})
	})
}

// momentArgs checks the arguments of verbs that look back.
func momentArgs(id, at string) (moment, error) {
	if err := console.CheckID(console.ExecutionArg, id); err != nil {
		return moment{}, err
	}
	return ParseMoment("--at", at, time.Now())
}

// state asks for an execution as of a moment; on a terminal it says so while
// that takes long.
func (a *Commands) state(ctx context.Context, c *client.Client, id string, m moment) (*loomv1.StateReply, error) {
	spin := console.NewSpinner(a.Console)
	defer spin.Stop()
	spin.Say("reading the history of " + id)
	return c.State(ctx, &loomv1.StateRequest{Execution: id, At: m.At, Time: m.Time, Number: m.Number})
}

func executionTable(w io.Writer, v *loomv1.View) {
	if len(v.Executions) == 0 {
		fmt.Fprintln(w, "no executions")
		return
	}
	rows := make([][]string, 0, len(v.Executions))
	for _, x := range v.Executions {
		rows = append(rows, []string{x.Project, x.Id, x.Definition, project.ExecutionWord(x), console.Stamp(x.StartedAt), console.Since(x.StartedAt, x.EndedAt)})
	}
	console.ProjectTable(w, []string{"execution", "workflow", "status", "started", "took"}, rows)
}

func executionText(w io.Writer, x *loomv1.Execution, def *loomv1.Definition) {
	fmt.Fprintf(w, "%s  %s %s  %s  %s\n%s\n", x.Id, x.Definition, x.Version, project.ExecutionWord(x), console.Count(int(x.Transitions), "transition"), heldText(x))
	var rows [][]string
	for _, n := range def.GetNodes() {
		rows = append(rows, nodeRow(x, n.Id))
	}
	console.Table(w, []string{"node", "status", "visit", "attempts", "agent", "outcome"}, rows)
	for _, n := range def.GetNodes() {
		todoText(w, n.Id, x.Nodes[n.Id].GetAttempt())
	}
	rulesText(w, provenance.Rules(def, x))
	for _, g := range x.Gaps {
		fmt.Fprintf(w, "\nwithout %s: %s\n", g.Node, console.Line(g.Reason, 200))
	}
	if f := x.ForkedFrom; f != nil {
		fmt.Fprintf(w, "\nforked from %s at %s, as of event %d\n", f.Execution, f.Node, f.Number)
	}
	saidText(w, x)
	if x.Landing != nil {
		fmt.Fprintf(w, "\nlanded %s on %s (%s)\n", x.Landing.Commit, x.Landing.Ref, x.Landing.Checkout)
	}
	fmt.Fprintf(w, "\nmodel calls %d, tokens %d in and %d out, %s\n", x.ModelCalls, x.Usage.GetInputTokens(), x.Usage.GetOutputTokens(), Cost(x))
}

// treeText says what an execution has used with all that work for it.
func treeText(w io.Writer, t *loomv1.TreeUsage) {
	if t == nil {
		return
	}
	cost := "cost unknown"
	if t.Usage.GetCostKnown() {
		cost = fmt.Sprintf("cost %.6f USD", float64(t.Usage.GetCostMicroUsd())/1e6)
	}
	fmt.Fprintf(w, "with the %d that work for it: model calls %d, tokens %d in and %d out, %s\n",
		t.Executions-1, t.ModelCalls, t.Usage.GetInputTokens(), t.Usage.GetOutputTokens(), cost)
}

// heldText says since when nothing of an execution is started, and why as far
// as it says itself.
func heldText(x *loomv1.Execution) string {
	if x.HeldSince == nil {
		return ""
	}
	why := "its process or project is paused, its parent is held, or its bead is blocked"
	switch {
	case x.Closing != nil:
		why = "closes after the step under way: " + console.Line(x.Closing.Text, 80)
	case x.Paused != nil:
		why = "paused: " + console.Line(x.Paused.Reason, 80)
	case x.LimitApproval != "":
		why = "a limit is reached: see loom inbox " + x.LimitApproval
	}
	return fmt.Sprintf("held since %s (%s)\n", console.Stamp(x.HeldSince), why)
}

// todoText lists what the agent at a node has set out to do.
func todoText(w io.Writer, node string, a *loomv1.Attempt) {
	if len(a.GetTodo().GetItems()) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s at %s:\n", a.Role, node)
	for item := range strings.Lines(turn.TodoText(a.Todo)) {
		fmt.Fprintf(w, "  %s\n", console.Line(item, 120))
	}
}

// nodeRow tells of one node; one that was not reached yet has dashes only.
func nodeRow(x *loomv1.Execution, id string) []string {
	s := x.Nodes[id]
	if s.GetStatus() == loomv1.NodeStatus_NODE_STATUS_UNSPECIFIED {
		return []string{id, "-", "-", "-", "-", ""}
	}
	return []string{
		id, project.NodeWord(x, s), strconv.Itoa(int(s.GetVisit())),
		strconv.Itoa(len(s.GetHistory())), console.Dash(s.GetAttempt().GetClaimant().GetAgent()), console.Line(s.GetOutcome().GetSummary(), 60),
	}
}

// Cost says what the model calls of an execution cost, and who answered them.
func Cost(x *loomv1.Execution) string {
	text := "cost unknown (no price is known, or not all tokens were reported)"
	if x.Usage.GetCostKnown() || x.ModelCalls == 0 {
		text = fmt.Sprintf("cost %.6f USD", float64(x.Usage.GetCostMicroUsd())/1e6)
	}
	if x.Scripted {
		text += "; answered by a script or recording that stands in for a model"
	}
	return text
}
