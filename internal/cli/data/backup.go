package data

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/ops/vault"
)

// Backup returns the command of that name.
func (a *Commands) Backup() *cobra.Command {
	var to string
	var salvage bool
	cmd := &cobra.Command{
		Use: "backup --to FILE|DIR [flags]", Short: "write everything that was recorded into one file", Args: console.Takes(),
		Long: `Backup writes a file with the journals, all blobs that they name, snapshots,
tasks that wait, and who may come in, by hashes and public keys. A host may run
meanwhile: the backup is the beginning of each journal, up to a position that it
prints with the head of the chain. Then it is read back and every chain checked.

Not in it, because it can be made again: the projection and git's mirrors and
workspaces. Not in it, because it must not leave: private keys, the CEO's above
all. Repositories have backups of their own.

Damage is refused with exit status 7, unless --salvage takes what is sound
before it and says what is left out.`,
		Example: "  loom backup --to /backups\n  loom backup --to before-upgrade.loom",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return fault.New("usage/argument", "nowhere to write the backup").At("--to").Want("name a file or a directory")
			}
			s, err := a.store(true)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			path := backupPath(to, s.Manifest.Deployment, time.Now())
			found, err := s.Backup(cmd.Context(), path, salvage, time.Now())
			if err != nil {
				return err
			}
			return a.backupText(path, found)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the `FILE` to make, or a directory to make one in")
	cmd.Flags().BoolVar(&salvage, "salvage", false, "take what is sound before damage")
	return cmd
}

// backupPath returns the file to make.
func backupPath(to, deployment string, now time.Time) string {
	info, err := os.Stat(to)
	if err != nil || !info.IsDir() {
		return to
	}
	return filepath.Join(to, fmt.Sprintf("%s-%s.loom", deployment, now.UTC().Format("20060102T150405Z")))
}

func (a *Commands) backupText(path string, c *vault.Contents) error {
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{
			"file": path, "bytes": c.Bytes, "deployment": c.About.Manifest.Deployment, "epoch": c.About.Manifest.Epoch,
			"made_at": c.About.MadeAt, "journals": c.End.Journals, "blobs": c.End.Blobs, "messages": c.End.Messages, "left_out": append([]string{}, c.End.Lost...),
		})
	}
	fmt.Fprintf(a.Out, "%s: %d bytes, deployment %s, epoch %d\n", console.Printable(path), c.Bytes, c.About.Manifest.Deployment, c.About.Manifest.Epoch)
	a.journalsText(c.End.Journals)
	fmt.Fprintf(a.Out, "%d blobs, %d waiting messages; read back, and every chain holds\n", c.End.Blobs, c.End.Messages)
	for _, l := range c.End.Lost {
		fmt.Fprintf(a.Out, "left out: %s\n", console.Printable(l))
	}
	return nil
}

func (a *Commands) journalsText(journals []vault.Journal) {
	var rows [][]string
	for _, j := range journals {
		rows = append(rows, []string{j.Stream, sound(j), fmt.Sprint(j.Events), fmt.Sprintf("%.12s", j.Hash)})
	}
	console.Table(a.Out, []string{"journal", "sequences", "events", "head"}, rows)
}
