package data

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/ops/vault"
	"github.com/loomrun/loom/internal/place/git"
)

// Restore returns the command of that name.
func (a *Commands) Restore() *cobra.Command {
	c := vault.Restoring{}
	cmd := &cobra.Command{
		Use: "restore --from FILE [flags]", Short: "make a data directory from a backup", Args: console.Takes(),
		Long: `Restore makes the data directory that --data names, which must not be there or
be empty, from a backup, and verifies both. It raises the epoch above that of
every grant of the commit lock that the backup or a project's repository has
seen: no token is given twice, and whoever still holds an old one is refused by
git. It says what is known to have happened after the backup.

Then "loom up" goes on where the backup ends. A commit that landed after it is
found again by its trailers, not made twice. A cluster comes back as one host;
"loom cluster init --from FILE" makes a cluster of a backup.`,
		Example: "  loom restore --from before-upgrade.loom --data /var/lib/loom2\n  loom up --data /var/lib/loom2",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if c.From == "" {
				return fault.New("usage/argument", "no backup is named").At("--from")
			}
			c.To, c.Fence = a.Data, Fence
			if console.Terminal(a.Err) {
				c.Progress = func(line string) { fmt.Fprintln(a.Err, line) }
			}
			made, err := c.Restore(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(made)
			}
			a.restoredText(made)
			return nil
		},
	}
	cmd.Flags().StringVar(&c.From, "from", "", "the backup `FILE`")
	return cmd
}

// Fence returns the newest token that a repository has seen of a deployment.
func Fence(ctx context.Context, path, deployment string) (uint64, error) {
	repository, err := git.Open(ctx, path)
	if err != nil {
		return 0, err
	}
	return repository.Fence(ctx, deployment)
}

func (a *Commands) restoredText(r *vault.Restored) {
	fmt.Fprintf(a.Out, "restored %s as of %s into %s\n", r.Deployment, console.Stamp(timestamppb.New(r.MadeAt)), console.Printable(a.Data))
	a.journalsText(r.Journals)
	fmt.Fprintf(a.Out, "%d blobs, %d waiting messages; every chain holds\n", r.Blobs, r.Messages)
	fmt.Fprintf(a.Out, "epoch %d, after %d: every token from now on is above all that were given\n", r.Epoch, r.Before)
	if r.Cluster != "" {
		fmt.Fprintf(a.Out, "it was cluster %s, and this is one host: the directories of its hosts hold the deployment as it was;\n", console.Printable(r.Cluster))
		fmt.Fprintf(a.Out, "set them aside and start none of them. To go on as a cluster: loom cluster init --from BACKUP --out FILE\n")
	}
	for _, l := range r.Lost {
		fmt.Fprintf(a.Out, "not in the backup: %s\n", console.Printable(l))
	}
}
