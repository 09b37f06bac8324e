package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "is a host running, and what does it do", Args: takes(),
		Example: "  loom status",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), func(c *client.Client) error {
				h, err := c.Host(cmd.Context())
				if err != nil {
					return err
				}
				return a.print(h, func(w io.Writer) { hostText(w, h) })
			})
		},
	}
}

func hostText(w io.Writer, h *loomv1.HostReply) {
	fmt.Fprintf(w, "host %s of deployment %s, loom %s, start %d, up since %s\n", h.Host, h.Deployment, h.Version, h.Epoch, stamp(h.StartedAt))
	fmt.Fprintf(w, "model %s\nCEO key %s\nprojects %s\nsandbox %s\ntables %s\n\n", dash(h.Model), h.Ceo, dash(strings.Join(h.Projects, ", ")), sandboxText(h), tablesText(h.Tables))
	clocksText(w, h)
	for _, e := range h.Damage {
		fmt.Fprintf(w, "DAMAGED: %s [%s]\n  %s\n", printable(e.Message), e.Code, printable(e.Hint))
	}
	blocksText(w, h.Blocks)
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

// blocksText says which models cannot be asked, and what the operator can do.
func blocksText(w io.Writer, list []*loomv1.ModelBlock) {
	for _, b := range list {
		fmt.Fprint(w, blockText(b))
	}
}

func blockText(b *loomv1.ModelBlock) string {
	return fmt.Sprintf("work waits for the operator, and goes on by itself when it is mended: %s [%s]\n  %s\n", printable(b.Message), b.Code, b.Remedy)
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
	table(w, []string{"disk (MiB)", "worktrees", "of worktrees", "repository", "caches", "setups", "checkouts", "in all", "limit"}, rows)
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
		rows = append(rows, []string{r.Role, strconv.Itoa(int(r.Desired)), strconv.Itoa(int(r.Actual)), strconv.Itoa(int(r.Busy)), dash(r.Model)})
	}
	table(w, []string{"role", "desired", "agents", "busy", "model"}, rows)
}

func (a *app) role() *cobra.Command {
	chosen, agents := models{app: a}, false
	list := &cobra.Command{
		Use: "list [flags]", Short: "the built-in roles, their models and what they may use", Args: takes(),
		Long: `List shows the roles that loom comes with, and which model each has on a host
that is given the same --model, --tier and --role-model. "loom status" shows
what the host that runs has. With --agents it shows how many agents of each role
the deployment has: those that run, of those that are wanted, and in brackets
those that work, on all hosts that live, those that only run agents included.`,
		Example: "  loom role list\n  loom role list --agents\n  loom role list --model openai:gpt-5-mini --tier 1=openai:gpt-5",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agents {
				return a.roleAgents(cmd.Context())
			}
			return a.roles(a.roleSet(), &chosen)
		},
	}
	chosen.flags(list.Flags())
	list.Flags().BoolVar(&agents, "agents", false, "how many agents the deployment has, and where")
	check := &cobra.Command{
		Use: "check FILE", Short: "print everything that is wrong with a role file", Args: takes("FILE"),
		Example: "  loom role check my-role.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.read(args[0])
			if err != nil {
				return err
			}
			_, err = roles.Parse(args[0], data)
			return a.problems(err)
		},
	}
	return group("role", "list, show and check roles", "  loom role list\n  loom role show lead\n  loom role check my-role.yaml", list, a.showRole(), check)
}

// roles writes what each role is for and may use.
func (a *app) roles(set *roles.Set, m *models) error {
	if err := fault.Join(m.read(set)); err != nil {
		return err
	}
	type row struct {
		Name    string   `json:"name"`
		Summary string   `json:"summary"`
		Tier    int      `json:"tier,omitempty"`
		Model   string   `json:"model,omitempty"`
		Tools   []string `json:"tools"`
	}
	var list []row
	var rows [][]string
	for _, name := range set.Names() {
		r, _ := set.Get(name)
		spec, _ := m.of(r)
		list = append(list, row{r.Name, r.Summary, r.Tier, spec, r.Tools.Allow})
		rows = append(rows, []string{r.Name, tier(r), dash(spec), line(r.Summary, 60), strings.Join(r.Tools.Allow, " ")})
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]any{"roles": list})
	}
	table(a.out, []string{"role", "tier", "model", "what it does", "tools"}, rows)
	return nil
}

// problems prints what is wrong with a file to standard error, one FILE:LINE:COL:
// CODE: sentence a line, or all as a JSON list on standard output.
func (a *app) problems(err error) error {
	all := []*fault.Error{}
	if f := fault.From(err); f != nil {
		all = append(append(all, f), f.More...)
	}
	if a.json {
		if werr := a.problemList(all); werr != nil {
			return werr
		}
	} else {
		problemLines(a.err, all)
	}
	if err == nil {
		return nil
	}
	return exitError{fault.Status(err)}
}

func (a *app) problemList(all []*fault.Error) error {
	list := []json.RawMessage{}
	for _, p := range all {
		one := *p
		one.More = nil
		list = append(list, jsonOf(one.Proto()))
	}
	return json.NewEncoder(a.out).Encode(list)
}

func problemLines(w io.Writer, all []*fault.Error) {
	for _, p := range all {
		text := p.Message
		if p.Value != "" {
			text += " (got " + p.Value + ")"
		}
		if p.Hint != "" {
			text += "; " + p.Hint
		}
		fmt.Fprintf(w, "%s: %s: %s\n", printable(p.Where), p.Code, line(text, 2000))
	}
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "what this is", Args: takes(), Example: "  loom version",
		RunE: func(*cobra.Command, []string) error {
			if a.json {
				return json.NewEncoder(a.out).Encode(map[string]string{"version": host.Version, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			fmt.Fprintf(a.out, "loom %s (github.com/loomrun/loom) %s %s/%s\n", host.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return nil
		},
	}
}
