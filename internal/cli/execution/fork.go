package execution

import (
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/bead"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) fork() *cobra.Command {
	q := &loomv1.ForkRequest{}
	var at string
	var wait bead.Waiting
	cmd := &cobra.Command{
		Use: "fork " + console.ExecutionArg + " [flags]", Short: "begin anew from one of an execution's nodes", Args: console.Takes(console.ExecutionArg),
		Long: `Fork files a new bead with the goal of the old one, and begins its execution
at a node of the old: with what the nodes before it gave, as they stand or as
they stood at an earlier moment. The old execution is left as it is. Nothing is
approved in the fork: where a commit needs approval, the CEO is asked anew.
It prints the new bead's id.`,
		Example: "  loom execution fork shop-1 --node investigate --reason \"try another way\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Execution = args[0]
			if err := checkFork(q, at); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Fork(cmd.Context(), q)
				if err != nil {
					return err
				}
				if err := a.Print(reply, func(w io.Writer) { fmt.Fprintln(w, reply.Bead) }); err != nil || !wait.Wait {
					return err
				}
				return bead.New(a.Console).Wait(cmd.Context(), c, reply.Bead, "", wait.AllowGaps)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Node, "node", "", "begin at this `NODE` of the workflow")
	f.StringVar(&at, "at", "", momentUsage)
	f.StringVar(&q.Reason, "reason", "", "`TEXT` that says why, for the record")
	wait.Flags(f)
	return cmd
}

// checkFork checks what is asked for and fills in the moment.
func checkFork(q *loomv1.ForkRequest, at string) error {
	if err := console.CheckID(console.ExecutionArg, q.Execution); err != nil {
		return err
	}
	if q.Node == "" {
		return fault.New("usage/argument", "no node to begin at").At("--node").Want("one of its nodes, as \"loom execution show\" lists them")
	}
	if err := console.CheckToken("--node", q.Node); err != nil {
		return err
	}
	q.Request = rand.Text()
	m, err := ParseMoment("--at", at, time.Now())
	q.At, q.Time, q.Number = m.At, m.Time, m.Number
	return err
}
