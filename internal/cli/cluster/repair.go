package cluster

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/broker"
	"github.com/loomrun/loom/internal/store/datadir"
)

func (a *Commands) clusterRepair() *cobra.Command {
	return &cobra.Command{
		Use: "repair [flags]", Short: "have the other hosts restore what is damaged on this one", Args: console.Takes(),
		Long: `Repair reads what a host of a cluster has stored, while that is stopped, to its
end. Streams that are damaged are moved into DIR/damaged; nothing is deleted.
At its next start the host fetches them whole from the other hosts and checks
them, journals by their chain; "loom status" says what is still to come. Without
damage nothing is changed.

The other hosts must be there and have everything: see "loom cluster status" on
one of them, and repair one host at a time. Where the host is alone it is
refused, because nobody else has the stream: restore a backup.`,
		Example: "  loom cluster status --wait synced   # on a host that runs\n  loom cluster repair --data /var/lib/loom\n  loom up --data /var/lib/loom",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if _, err := datadir.Peek(a.Data); err != nil { // nothing is made where there is none
				return err
			}
			dir, err := datadir.Open(a.Data)
			if err != nil {
				return err
			}
			defer func() { _ = dir.Close() }()
			list, err := broker.Repair(cmd.Context(), dir)
			if err != nil {
				return err
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(map[string]any{"aside": append([]broker.Aside{}, list...)})
			}
			for _, s := range list {
				fmt.Fprintf(a.Out, "%s: %s\n  kept in %s\n", s.Stream, console.Printable(s.Why), s.Path)
			}
			said := "start the host: it fetches them from the other hosts"
			if len(list) == 0 {
				said = "no stream is damaged, and nothing was changed"
			}
			_, err = fmt.Fprintln(a.Out, said)
			return err
		},
	}
}
