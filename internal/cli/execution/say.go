package execution

import (
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) say() *cobra.Command {
	q := &loomv1.SayRequest{}
	cmd := &cobra.Command{
		Use: "say [flags] " + console.ExecutionArg + " TEXT", Short: "say something to the agent that works on it",
		Long: `Say gives a message to the agent that works on an execution, or to the next one
that does. The agent hears it between its tool calls and its next answer, once;
"loom events" shows that it did. It goes on the record with your name. With
--node only who works on that node is meant.`,
		Example: "  loom execution say shop-1 \"leave the public API as it is\"",
		Args:    console.Takes(console.ExecutionArg, "TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Id, q.Text, q.Request = args[0], args[1], rand.Text()
			if err := checkSaid(q); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Say(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.Print(reply, func(w io.Writer) { fmt.Fprintf(w, "%s: it is heard at the next tool boundary\n", reply.Execution) })
			})
		},
	}
	cmd.Flags().StringVar(&q.Node, "node", "", "only who works on this `NODE` is meant")
	return cmd
}

func checkSaid(q *loomv1.SayRequest) error {
	if err := console.CheckID(console.ExecutionArg, q.Id); err != nil {
		return err
	}
	if strings.TrimSpace(q.Text) == "" {
		return fault.New("usage/argument", "there is nothing to say").At("TEXT")
	}
	if q.Node == "" {
		return nil
	}
	return console.CheckToken("--node", q.Node)
}
