package hosting

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/intent"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Status returns the command of that name.
func (a *Commands) Status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "is a host running, and what does it do", Args: console.Takes(),
		Long: `Status prints what the host that answers is and does. It ends with status 6
when the host takes nothing new (a full disk, a cluster without a majority), and
says what to do.`,
		Example: "  loom status",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), func(c *client.Client) error {
				h, err := c.Host(cmd.Context(), &loomv1.HostRequest{})
				if err != nil {
					return err
				}
				reply, _ := c.Cluster(cmd.Context(), &loomv1.ClusterRequest{}) // of a directory at rest there is none
				kept := reply.GetStatus()
				waiting, err := c.Inbox(cmd.Context(), &loomv1.Query{Limit: 1, Newest: true})
				if err != nil && !hindered(h, kept) {
					return err
				}
				err = a.Print(h, func(w io.Writer) {
					hindrancesText(console.Hung(w, 2), h, kept)
					hostText(console.Hung(w, 2), h)
					sessionsText(w, waiting.GetSessions())
				})
				if err == nil && hindered(h, kept) {
					return console.ExitError{Status: fault.Unavailable}
				}
				return err
			})
		},
	}
}

// hindered reports whether a host takes nothing new.
func hindered(h *loomv1.HostReply, kept *loomv1.ClusterStatus) bool {
	return len(h.Hindrances) > 0 || kept != nil && !kept.Quorum
}

// hindrancesText says why a host takes nothing new, and which hosts of its cluster are
// gone, each with what to do.
func hindrancesText(w io.Writer, h *loomv1.HostReply, kept *loomv1.ClusterStatus) {
	for _, e := range h.Hindrances {
		fmt.Fprintf(w, "TAKES NOTHING NEW: %s [%s]\n  %s\n", console.Printable(e.Message), e.Code, console.Printable(e.Hint))
	}
	if kept != nil && !kept.Quorum {
		fmt.Fprintf(w, "TAKES NOTHING NEW: the cluster has no majority of its %d hosts: %s\n", kept.HostsWanted, console.Printable(kept.Missing))
		fmt.Fprintln(w, "  start the hosts that are gone, each with \"loom up --data DIR\" where it is; \"loom cluster status\" names them")
	}
	for _, one := range kept.GetHosts() {
		if one.Connected || !one.Member {
			continue
		}
		since := ""
		if one.LastSeen != nil {
			since = " since " + console.Stamp(one.LastSeen)
		}
		fmt.Fprintf(w, "host %s is gone%s\n", console.Printable(one.Host), since)
		fmt.Fprintf(w, "  start it again there; if it is lost for good: loom cluster replace %s --out FILE\n", suggest.Arg(one.Host))
	}
}

func hostText(w io.Writer, h *loomv1.HostReply) {
	fmt.Fprintf(w, "host %s of deployment %s, loom %s, start %d, up since %s\n", h.Host, h.Deployment, h.Version, h.Epoch, console.Stamp(h.StartedAt))
	fmt.Fprintf(w, "model %s\nCEO key %s\nprojects %s\nsandbox %s\ntables %s\n\n", console.Dash(h.Model), h.Ceo, console.Dash(strings.Join(h.Projects, ", ")), sandboxText(h), tablesText(h.Tables))
	clocksText(w, h)
	for _, e := range h.Damage {
		fmt.Fprintf(w, "DAMAGED: %s [%s]\n  %s\n", console.Printable(e.Message), e.Code, console.Printable(e.Hint))
	}
	console.BlocksText(w, h.Blocks)
	roleTable(w, h.Roles)
	if len(h.Disk) > 0 {
		fmt.Fprintln(w)
		diskTable(w, h.Disk)
	}
}

// clocksText says that journal time is not what the host's clock says.
func clocksText(w io.Writer, h *loomv1.HostReply) {
	if h.ClocksApart == nil {
		return
	}
	where, apart := "ahead of", h.ClocksApart.AsDuration().Round(time.Second)
	if apart < 0 {
		where = "behind"
	}
	fmt.Fprintf(w, "journal time is %s %s the host's clock: that was wrong once, or the machine slept;\n", apart.Abs(), where)
	fmt.Fprint(w, "  signed commands and deadlines go by the clock, leases and timeouts by the journal\n\n")
}

// tablesText says how far the tables are behind the journals.
func tablesText(l *loomv1.TablesLag) string {
	if l.GetBatches() == 0 {
		return "have what the journals have"
	}
	return fmt.Sprintf("%d batches behind the journals, for %s", l.GetBatches(), l.GetSince().AsDuration().Round(time.Millisecond))
}

// diskTable says what projects have on the disk of a host, in MiB.
func diskTable(w io.Writer, list []*loomv1.ProjectDisk) {
	mib := func(n uint64) string { return strconv.FormatUint(n>>20, 10) }
	rows := make([][]string, 0, len(list))
	for _, d := range list {
		rows = append(rows, []string{
			d.Project, strconv.Itoa(int(d.Worktrees)), mib(d.WorktreeBytes), mib(d.Repository), mib(d.Caches), mib(d.Setups), mib(d.Checkouts), mib(d.Total), mib(d.Limit),
		})
	}
	console.Table(w, []string{"disk (MiB)", "worktrees", "of worktrees", "repository", "caches", "setups", "checkouts", "in all", "limit"}, rows)
}

// sandboxText says how a host keeps commands of agents apart.
func sandboxText(h *loomv1.HostReply) string {
	switch {
	case h.Unsandboxed:
		return "none: tools, checks and hooks run on the machine as it is (--unsandboxed)"
	case h.Sandbox == "":
		return "none on this system: tools, checks and hooks that start processes are refused"
	}
	return "at most " + h.Sandbox
}

func roleTable(w io.Writer, list []*loomv1.RoleCount) {
	rows := make([][]string, 0, len(list))
	for _, r := range list {
		rows = append(rows, []string{r.Role, strconv.Itoa(int(r.Desired)), strconv.Itoa(int(r.Actual)), strconv.Itoa(int(r.Busy)), console.Dash(r.Model)})
	}
	console.Table(w, []string{"role", "desired", "agents", "busy", "model"}, rows)
}

// sessionsText names the sessions of patterns that wait for a person, each with the command
// that goes on with it.
func sessionsText(w io.Writer, list []*loomv1.PatternSession) {
	if len(list) > 0 {
		fmt.Fprintln(w)
	}
	for _, s := range list {
		fmt.Fprintf(w, "%s %s: loom pattern resume %s\n", s.Pattern, intent.Standing(s), s.Id)
	}
}
