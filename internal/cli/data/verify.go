package data

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/ops/vault"
)

// Verify returns the command of that name.
func (a *Commands) Verify() *cobra.Command {
	var beside bool
	var archive string
	cmd := &cobra.Command{
		Use: "verify [flags]", Short: "check that nothing of what was recorded is lost or altered", Args: console.Takes(),
		Long: `Verify reads a data directory from its first byte to its last and changes
nothing. It follows the chain of every journal, and compares it with the marks
of how far it reached and with the snapshots; every blob that an event names
must be there and be itself. Damage is named with the stream and the first bad
sequence, and the exit status is 7.

Run it while the host is stopped, before it is started: a start may cut off what
is damaged. Beside a running host it sees what was written when it looked.
With --archive it reads a file that a journal was cut into, and nothing else.`,
		Example: "  loom verify\n  loom verify --beside --json\n  loom verify --archive journal-00-000000000001-000000000500.loomarchive",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if archive != "" {
				return a.verifyArchive(cmd, archive)
			}
			s, err := a.store(beside)
			if err != nil {
				return err
			}
			defer func() { _ = s.Close() }()
			report, err := s.Verify(cmd.Context())
			if err != nil {
				return err
			}
			if a.JSON {
				return a.found(report, report.Damage)
			}
			verifyText(console.Prose(a.Out, 0), report)
			return report.Err()
		},
	}
	cmd.Flags().BoolVar(&beside, "beside", false, "read beside a host that runs")
	cmd.Flags().StringVar(&archive, "archive", "", "read this `FILE` of \"loom retention cut\"")
	return cmd
}

// store opens the data directory for reading.
func (a *Commands) store(beside bool) (*vault.Store, error) {
	open := vault.Open
	if beside {
		open = vault.OpenBeside
	}
	s, err := open(a.Data)
	if fault.Code(err) == "data/locked" && !beside {
		return nil, fault.From(err).Want("--beside reads beside the host that runs")
	}
	if err != nil {
		return nil, err
	}
	if console.Terminal(a.Err) {
		s.Progress = func(line string) { fmt.Fprintln(a.Err, line) }
	}
	return s, nil
}

// found writes what was found as JSON, with the damage, which also is the exit
// status.
func (a *Commands) found(report any, damage []*fault.Error) error {
	data, err := json.Marshal(report)
	if err != nil {
		return err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	list := []json.RawMessage{}
	for _, d := range damage {
		list = append(list, console.JSONOf(d.Proto()))
	}
	if all["damage"], err = json.Marshal(list); err != nil {
		return err
	}
	line, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(a.Out, "%s\n", console.Escaped(line)); err != nil || len(damage) == 0 {
		return err
	}
	return console.ExitError{Status: fault.Status(damage[0])}
}

func verifyText(w io.Writer, r *vault.Report) {
	fmt.Fprintf(w, "deployment %s, epoch %d\n", r.Deployment, r.Epoch)
	var rows [][]string
	for _, j := range r.Journals {
		rows = append(rows, []string{j.Stream, sound(j), fmt.Sprint(j.Events), fmt.Sprint(j.Epoch), fmt.Sprintf("%.12s", j.Hash)})
	}
	console.Table(w, []string{"journal", "sound", "events", "epoch", "head"}, rows)
	fmt.Fprintf(w, "%s that events name, %s; %s\n", console.Count(r.Blobs, "blob"), console.Count(int(r.BlobBytes), "byte"), console.Count(r.Snapshots, "snapshot"))
	for _, n := range r.Notes {
		fmt.Fprintf(w, "note: %s\n", console.Printable(n))
	}
	if r.Sound {
		fmt.Fprintln(w, "everything is there and unaltered")
	}
}

// sound says which sequences of a journal are sound.
func sound(j vault.Journal) string {
	if j.First == 0 {
		return "none"
	}
	return fmt.Sprintf("%d to %d", j.First, j.Last)
}
