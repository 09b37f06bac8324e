package role

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/cli/models"
	"github.com/loomrun/loom/roles"
)

// Role returns the command of that name.
func (a *Commands) Role() *cobra.Command {
	chosen, agents := models.Models{Console: a.Console}, false
	list := &cobra.Command{
		Use: "list [flags]", Short: "the built-in roles, their models and what they may use", Args: console.Takes(),
		Long: `List shows the roles that loom comes with, and which model each has on a host
that is given the same --model, --tier and --role-model. "loom status" shows
what the host that runs has. With --agents it shows how many agents of each role
the deployment has: those that run, of those that are wanted, and in brackets
those that work, on all hosts that live, those that only run agents included.`,
		Example: "  loom role list\n  loom role list --agents\n  loom role list --model openai:gpt-5-mini --tier 3=openai:gpt-5",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if agents {
				return a.roleAgents(cmd.Context())
			}
			return a.roles(a.RoleSet(), &chosen)
		},
	}
	chosen.Flags(list.Flags())
	list.Flags().BoolVar(&agents, "agents", false, "how many agents the deployment has, and where")
	validate := &cobra.Command{
		Use: "validate FILE", Short: "print everything that is wrong with a role file", Args: console.Takes("FILE"),
		Example: "  loom role validate my-role.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.Read(args[0])
			if err != nil {
				return err
			}
			_, err = roles.Parse(args[0], data)
			return a.Validated(console.All(err), 1)
		},
	}
	return console.Group("role", "list, show and validate roles", "  loom role list\n  loom role show lead\n  loom role validate my-role.yaml", list, a.showRole(), validate)
}

// roles writes what each role is for and may use.
func (a *Commands) roles(set *roles.Set, m *models.Models) error {
	if err := fault.Join(m.Read(set)); err != nil {
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
		spec, _ := m.Of(r)
		list = append(list, row{r.Name, r.Summary, r.Tier, spec, r.Tools.Allow})
		rows = append(rows, []string{r.Name, tier(r), console.Dash(spec), console.Line(r.Summary, 60), strings.Join(r.Tools.Allow, " ")})
	}
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(map[string]any{"roles": list})
	}
	console.Table(a.Out, []string{"role", "tier", "model", "what it does", "tools"}, rows)
	return nil
}
