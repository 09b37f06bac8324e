package execution

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) set() *cobra.Command {
	q := &loomv1.SetRequest{}
	cmd := &cobra.Command{
		Use: "set " + console.ExecutionArg + " KEY=VALUE... [flags]", Short: "set values of its context while it runs",
		Long: `Set gives values of the context of an execution, which conditions, gates and
agents read from the next step on. VALUE is JSON, or else text; null takes a
value out. What the process declares of a value holds as at a submission. A
value that files of the work are named by stays what it is. Who set what, and
why, is on the record: "loom events --execution" shows it.`,
		Example: "  loom execution set shop-1 budget_eur=20000 --reason \"the offer came\"\n  loom execution set shop-1 region=null",
		Args:    console.TakesSome(console.ExecutionArg, "KEY=VALUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if err = console.CheckID(console.ExecutionArg, args[0]); err != nil {
				return err
			}
			if q.Values, err = console.Values("KEY=VALUE", args[1:]); err != nil {
				return err
			}
			if len(q.Values.Fields) < len(args)-1 {
				return fault.New("usage/argument", "a value is given twice").At("KEY=VALUE").Got(strings.Join(args[1:], " "))
			}
			q.Id = args[0]
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Set(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.Print(reply, func(w io.Writer) {
					what := "set: " + strings.Join(slices.Sorted(maps.Keys(q.Values.Fields)), ", ")
					if reply.Duplicate {
						what = "nothing changes: these values stand already"
					}
					fmt.Fprintf(w, "%s: %s\n", reply.Execution, what)
				})
			})
		},
	}
	cmd.Flags().StringVar(&q.Reason, "reason", "", "`TEXT` that says why, for the record")
	return cmd
}
