package auth

import (
	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/console"
)

// Auth returns the command of that name.
func (a *Commands) Auth() *cobra.Command {
	return console.Group("auth", "keys, identities, certificates and tokens",
		"  loom auth user add ci --as publisher\n  loom auth tls init --host loom.example.com\n  loom auth ceo show\n  loom auth token create --name grafana --scope read",
		a.users(), a.transport(), a.ceo(), a.tokens(), a.sessions(), a.elsewhere())
}
