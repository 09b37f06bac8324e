package role

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

func (a *Commands) showRole() *cobra.Command {
	chosen := models.Models{Console: a.Console}
	cmd := &cobra.Command{
		Use: "show ROLE [flags]", Short: "what a role is, which model it has and why", Args: console.Takes("ROLE"),
		Example: "  loom role show lead\n  loom role show lead --tier 3=anthropic:claude-opus-4-6",
		RunE: func(_ *cobra.Command, args []string) error {
			set := a.RoleSet()
			if err := fault.Join(chosen.Read(set)); err != nil {
				return err
			}
			r, ok := set.Get(args[0])
			if !ok {
				return fault.New("role/unknown", "no such role").Got(args[0]).Want("%s", set.Suggest(args[0]))
			}
			return a.printRole(r, &chosen)
		},
	}
	chosen.Flags(cmd.Flags())
	return cmd
}

func (a *Commands) printRole(r roles.Role, m *models.Models) error {
	spec, from := m.Of(r)
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{
			"name": r.Name, "summary": r.Summary, "aliases": r.Aliases, "human": r.Human, "persona": r.Persona,
			"tier": r.Tier, "model": spec, "thinking": map[string]any{"effort": r.Thinking.Effort, "tokens": r.Thinking.Tokens}, "tools": r.Tools.Allow, "agents": r.Agents, "iterations": r.Limits.Iterations,
			"sandbox": r.Sandbox.Over(roles.DefaultSandbox()).String(),
		})
	}
	w := console.Prose(a.Out, 0)
	fmt.Fprintf(w, "%s: %s\n", r.Name, r.Summary)
	if r.Human {
		fmt.Fprintln(w, "a person plays this role")
		return nil
	}
	if spec == "" {
		from = "name one with --model, --tier or --role-model"
	}
	fmt.Fprintf(w, "tier %d\nmodel %s (%s)\nthinking %s\ntools %s\nsandbox %s\nagents %d on each host, %d answers of the model for an attempt\n\n%s\n",
		r.Tier, console.Dash(spec), from, thinking(r.Thinking), console.Dash(strings.Join(r.Tools.Allow, " ")), r.Sandbox.Over(roles.DefaultSandbox()), r.Agents, r.Limits.Iterations, r.Persona)
	return nil
}

// thinking says how a role's model reasons.
func thinking(t roles.Thinking) string {
	said := []string{}
	if t.Effort != "" {
		said = append(said, "effort "+t.Effort)
	}
	if t.Tokens > 0 {
		said = append(said, strconv.Itoa(t.Tokens)+" tokens of an answer")
	}
	return cmp.Or(strings.Join(said, ", "), "as the model does by itself")
}

// roleAgents writes how many agents of each role the deployment has, and on
// which hosts.
func (a *Commands) roleAgents(ctx context.Context) error {
	return a.With(ctx, func(c *client.Client) error {
		reply, err := c.Hosts(ctx, &loomv1.HostsRequest{})
		if err != nil {
			return err
		}
		return a.Print(reply, func(w io.Writer) {
			var rows [][]string
			for _, r := range cluster.AgentsInAll(reply) {
				said := "not known now"
				if reply.Unknown == nil {
					said = cluster.Wanted(reply.GetStaffing().GetScales()[r.Role])
				}
				rows = append(rows, []string{r.Role, countOf(r), console.Dash(agentsByHost(reply, r.Role)), said})
			}
			console.Table(w, []string{"role", "agents", "on", "wanted"}, rows)
		})
	})
}

// countOf says how many agents run, of how many, and how many work.
func countOf(r *loomv1.RoleCount) string {
	return fmt.Sprintf("%d/%d (%d)", r.Actual, r.Desired, r.Busy)
}

// agentsByHost says which hosts that live have agents of a role, HOST=N.
func agentsByHost(reply *loomv1.HostsReply, role string) string {
	var on []string
	for _, h := range reply.Hosts {
		for _, r := range h.Roles {
			if h.Alive && r.Role == role && r.Actual > 0 {
				on = append(on, fmt.Sprintf("%s=%d", h.Host, r.Actual))
			}
		}
	}
	return strings.Join(on, " ")
}

// tier is the tier of a role, which people have none of.
func tier(r roles.Role) string {
	if r.Human {
		return "-"
	}
	return strconv.Itoa(r.Tier)
}
