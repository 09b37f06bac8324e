package cluster

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Scale returns the command of that name.
func (a *Commands) Scale() *cobra.Command {
	var host, reason string
	var hosts []string
	var where map[string]string
	var clear, anywhere bool
	cmd := &cobra.Command{
		Use: "scale ROLE[=N] [flags]", Short: "say how many agents of a role there are, and where", Args: console.Takes("ROLE=N"),
		Long: `Scale says how many agents of a role the deployment has. Its hosts share them
out evenly, also when a host comes or goes. With --host the number is that
host's own. Agents that are too many finish what they work on and take nothing
new. --on and --where confine the role to hosts; --anywhere ends that. --clear
takes back what was said: each host then has what it is configured with.`,
		Example: "  loom scale researcher=8\n  loom scale researcher=2 --host h-4k2mzq3v5n7ptx6a\n  loom scale engineering-manager --where zone=a\n  loom scale researcher --clear",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := &loomv1.ScaleRole{Host: host, Clear: clear, Reason: reason}
			if len(hosts) > 0 || len(where) > 0 || anywhere {
				q.Confine = &loomv1.Confinement{Hosts: hosts, Labels: where}
			}
			if err := readScale(args[0], q); err != nil {
				return err
			}
			return a.With(cmd.Context(), func(c *client.Client) error {
				now, err := c.Scale(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.scaled(q.Role, now.Staffing)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&host, "host", "", "the `HOST` that the number is for")
	f.StringSliceVar(&hosts, "on", nil, "only these `HOSTS` may have agents of the role")
	f.StringToStringVar(&where, "where", nil, "only hosts with these labels may, `KEY=VALUE,...`")
	f.BoolVar(&anywhere, "anywhere", false, "every host may")
	f.BoolVar(&clear, "clear", false, "take back what was said")
	f.StringVar(&reason, "reason", "", "`TEXT`: why, for the record")
	cmd.ValidArgs = roles.Builtin().Names()
	return cmd
}

// readScale reads ROLE or ROLE=N.
func readScale(arg string, q *loomv1.ScaleRole) error {
	role, number, given := strings.Cut(arg, "=")
	if q.Role = role; !given {
		if !q.Clear && q.Confine == nil {
			return fault.New("usage/argument", "not ROLE=N").At("ROLE=N").Got(arg).Want("a number of agents, --clear, --on, --where or --anywhere")
		}
		return nil
	}
	n, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return fault.New("usage/argument", "%q is no number of agents", number).At("ROLE=N").Got(arg)
	}
	q.Agents = proto.Uint32(uint32(n))
	return nil
}

// scaled says what is wanted of a role now.
func (a *Commands) scaled(role string, now *loomv1.Staffing) error {
	if r, ok := a.RoleSet().Get(role); ok {
		role = r.Name
	}
	return a.Print(now, func(w io.Writer) { fmt.Fprintf(w, "%s: %s\n", role, Wanted(now.GetScales()[role])) })
}

// Wanted says what is wanted of a role, for a person.
func Wanted(s *loomv1.Scale) string {
	var parts []string
	switch {
	case s == nil || s.Agents == nil:
		parts = append(parts, "what each host is configured with")
	default:
		parts = append(parts, fmt.Sprintf("%d in all", s.GetAgents()))
	}
	for _, host := range slices.Sorted(maps.Keys(s.GetOnHost())) {
		parts = append(parts, fmt.Sprintf("%d on %s", s.OnHost[host], host))
	}
	if len(s.GetHosts()) > 0 {
		parts = append(parts, "only on "+strings.Join(s.Hosts, " "))
	}
	for _, k := range slices.Sorted(maps.Keys(s.GetLabels())) {
		parts = append(parts, fmt.Sprintf("only where %s=%s", k, s.Labels[k]))
	}
	return strings.Join(parts, ", ")
}

// Drain returns the command of that name.
func (a *Commands) Drain() *cobra.Command {
	q := &loomv1.DrainHost{}
	cmd := &cobra.Command{
		Use: "drain HOST [flags]", Short: "have a host take no new work", Args: console.Takes("HOST"),
		Long: `Drain has the agents of a host finish what they work on and take nothing new;
others take their share. "loom host list" shows when it is done. The host goes
on serving its part of the journals until it is stopped. --undo ends it.`,
		Example: "  loom drain h-4k2mzq3v5n7ptx6a --reason \"new disk\"\n  loom drain h-4k2mzq3v5n7ptx6a --undo",
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Host = args[0]
			return a.With(cmd.Context(), func(c *client.Client) error {
				now, err := c.Drain(cmd.Context(), q)
				if err != nil {
					return err
				}
				return a.drained(q.Host, now.Staffing)
			})
		},
	}
	cmd.Flags().BoolVar(&q.Undo, "undo", false, "have it take work again")
	cmd.Flags().StringVar(&q.Reason, "reason", "", "`TEXT`: why, for the record")
	return cmd
}

func (a *Commands) drained(host string, now *loomv1.Staffing) error {
	does := "takes work"
	if now.GetDrained()[host] {
		does = "takes no new work"
	}
	return a.Print(now, func(w io.Writer) { fmt.Fprintf(w, "%s %s\n", host, does) })
}

// Host returns the command of that name.
func (a *Commands) Host() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "the hosts of the deployment", Args: console.Takes(),
		Long:    "List shows the hosts of the deployment as the host that answers knows them:\nthose that live, and those that it saw go. AGENTS are those that run, of those\nthat are wanted, and in brackets those that work.",
		Example: "  loom host list\n  loom host list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.With(cmd.Context(), func(c *client.Client) error {
				reply, err := c.Hosts(cmd.Context(), &loomv1.HostsRequest{})
				if err != nil {
					return err
				}
				return a.Print(reply, func(w io.Writer) { hostsText(w, reply) })
			})
		},
	}
	return console.Group("host", "list the hosts of the deployment", "  loom host list", list)
}

func hostsText(w io.Writer, reply *loomv1.HostsReply) {
	if reply.Unknown != nil {
		fmt.Fprintf(w, "what is wanted of roles, and which hosts are drained, is not known now: %s\n\n", console.Line(reply.Unknown.Message, 300))
	}
	var rows [][]string
	for _, h := range reply.Hosts {
		rows = append(rows, []string{h.Host, hostState(h), agentsOf(h), console.Dash(partitions(h)), console.Dash(labels(h)), h.Version, uptime(h)})
	}
	console.Table(w, []string{"host", "state", "agents", "partitions", "labels", "version", "up"}, rows)
	if held := holding(reply); held != "" {
		fmt.Fprintf(w, "\n%s\n", held)
	}
	if bare := unsandboxed(reply); len(bare) > 0 {
		fmt.Fprintf(w, "\ncommands of agents run on the machine as it is on %s (--unsandboxed)\n", strings.Join(bare, ", "))
	}
	fmt.Fprintln(w)
	rows = nil
	for _, r := range AgentsInAll(reply) {
		said := reply.GetStaffing().GetScales()[r.Role]
		rows = append(rows, []string{r.Role, strconv.Itoa(int(r.Desired)), strconv.Itoa(int(r.Actual)), strconv.Itoa(int(r.Busy)), Wanted(said)})
	}
	console.Table(w, []string{"role", "desired", "agents", "busy", "wanted"}, rows)
}

// unsandboxed names the hosts that live and run commands without a sandbox.
func unsandboxed(reply *loomv1.HostsReply) (names []string) {
	for _, h := range reply.Hosts {
		if h.Alive && h.Unsandboxed {
			names = append(names, h.Host)
		}
	}
	return names
}

// holding says which host keeps the others from writing what it cannot read;
// empty when none does.
func holding(reply *loomv1.HostsReply) string {
	for _, h := range reply.Hosts {
		if h.Format > reply.Format && reply.Format > 0 {
			return formatText(reply.Format, h.Format, reply.FormatHeldBy)
		}
	}
	return ""
}

func hostState(h *loomv1.HostPresence) string {
	switch {
	case !h.Alive:
		return "gone"
	case h.Drained:
		return "drained"
	case h.Leaf:
		return "up, agents only"
	}
	return "up"
}

func agentsOf(h *loomv1.HostPresence) string {
	if !h.Alive {
		return "-"
	}
	var desired, actual, busy uint32
	for _, r := range h.Roles {
		desired, actual, busy = desired+r.Desired, actual+r.Actual, busy+r.Busy
	}
	return fmt.Sprintf("%d/%d (%d)", actual, desired, busy)
}

func partitions(h *loomv1.HostPresence) string {
	var list []string
	for _, n := range h.Partitions {
		if !h.Alive { // others serve them
			break
		}
		list = append(list, strconv.Itoa(int(n)))
	}
	return strings.Join(list, " ")
}

func labels(h *loomv1.HostPresence) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(h.Labels)) {
		list = append(list, k+"="+h.Labels[k])
	}
	return strings.Join(list, " ")
}

func uptime(h *loomv1.HostPresence) string {
	if !h.Alive || h.StartedAt == nil {
		return "-"
	}
	return time.Since(h.StartedAt.AsTime()).Round(time.Second).String()
}

// AgentsInAll adds up the agents of each role over the hosts that live.
func AgentsInAll(reply *loomv1.HostsReply) []*loomv1.RoleCount {
	sum := map[string]*loomv1.RoleCount{}
	for _, h := range reply.Hosts {
		for _, r := range h.Roles {
			if !h.Alive {
				continue
			}
			if sum[r.Role] == nil {
				sum[r.Role] = &loomv1.RoleCount{Role: r.Role}
			}
			s := sum[r.Role]
			s.Desired, s.Actual, s.Busy = s.Desired+r.Desired, s.Actual+r.Actual, s.Busy+r.Busy
		}
	}
	return slices.SortedFunc(maps.Values(sum), func(x, y *loomv1.RoleCount) int { return cmp.Compare(x.Role, y.Role) })
}
