package data

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/store/retention"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Retention returns the command of that name.
func (a *Commands) Retention() *cobra.Command {
	return console.Group("retention", "how much of the past the journals keep", "  loom retention cut --before 2160h --dry-run\n  loom retention cut --keep 10000", a.retentionCut())
}

func (a *Commands) retentionCut() *cobra.Command {
	q := &loomv1.RetentionRequest{}
	var before string
	cmd := &cobra.Command{
		Use: "cut [flags]", Short: "move the beginnings of the journals into archive files", Args: console.Takes(),
		Long: `Cut writes the beginning of each journal into a file of its own, in the
directory "archive" of the host's data, compressed and with its hash chain. What
it was folded into stays as a base, which the journal names; then it is dropped
from the journal. Work goes on meanwhile, and knows all that it knew.

--before and --keep say what stays; with both, what either keeps. What was
stopped on its way is finished by the next start, or by asking again. Figures,
costs and transitions of what is archived stay; its events are in the file.`,
		Example: "  loom retention cut --before 2160h --dry-run\n  loom retention cut --keep 10000 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if before == "" && q.Keep == 0 {
				return fault.New("usage/argument", "nothing says what to keep").At("--before").Want("--before TIME, or --keep N batches of each journal")
			}
			if before != "" {
				t, err := console.ParseTime("--before", before, time.Now())
				if err != nil {
					return err
				}
				q.Before = t
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Retention(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.retained(reply, q.DryRun)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&before, "before", "", "cut what is before this `TIME`, or longer ago (2160h)")
	f.Uint64Var(&q.Keep, "keep", 0, "keep the newest `N` batches of each journal")
	f.BoolVar(&q.DryRun, "dry-run", false, "only say what would be cut")
	return cmd
}

// retained prints what was cut. What could not be is the command's error.
func (a *Commands) retained(reply *loomv1.RetentionReply, dry bool) error {
	err := a.Print(reply, func(w io.Writer) { retainedText(w, reply, dry) })
	for _, j := range reply.Journals {
		if err == nil && j.Error != nil {
			err = fault.FromProto(j.Error)
		}
	}
	return err
}

func retainedText(w io.Writer, reply *loomv1.RetentionReply, dry bool) {
	verb := "cut"
	if dry {
		verb = "would be cut"
	}
	for _, j := range reply.Journals {
		c := j.Cut
		switch {
		case j.Error != nil:
			fmt.Fprintf(w, "journal %d: %s\n", j.Partition, console.Line(j.Error.Message, 300))
		case c == nil:
			fmt.Fprintf(w, "journal %d: nothing to cut\n", j.Partition)
		default:
			fmt.Fprintf(w, "journal %d: %d to %d %s, %d events in %d bytes\n", j.Partition, c.First, c.Sequence, verb, c.Events, j.Bytes)
			if c.Archive != "" {
				fmt.Fprintf(w, "  archive/%s on host %s, %d bytes, sha256 %s\n", console.Printable(c.Archive), reply.Host, c.ArchiveBytes, c.ArchiveSha256)
			}
		}
	}
}

// verifyArchive reads an archive to its end.
func (a *Commands) verifyArchive(cmd *cobra.Command, path string) error {
	found, err := retention.Read(cmd.Context(), path, nil)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.found(found, nil)
	}
	fmt.Fprintf(a.Out, "deployment %s, journal %d, %d to %d: %d events in %d batches\n", found.Deployment, found.Partition, found.First, found.Last, found.Events, found.Batches)
	fmt.Fprintf(a.Out, "%s to %s\n", found.From.Format(time.RFC3339), found.To.Format(time.RFC3339))
	fmt.Fprintf(a.Out, "continues %.12s, ends with %.12s\n", before(found.Previous), found.Hash)
	fmt.Fprintf(a.Out, "sha256 %s\nit is whole and unaltered, as far as the journal names that sum\n", found.SHA256)
	return nil
}

// before names the batch before an archive.
func before(hash string) string {
	if hash == "" {
		return "nothing"
	}
	return hash
}
