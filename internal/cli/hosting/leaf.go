package hosting

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/board"
	"github.com/loomrun/loom/internal/cli/cluster"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/identity"
	"github.com/loomrun/loom/internal/ops/config"
)

// upLeaf runs a host that only runs agents, until it is interrupted or not let
// in any more, and shows on a board what they do.
func (a *Commands) upLeaf(cmd *cobra.Command, c host.Config, live *board.Board, said config.Layer) error {
	for _, flag := range cluster.NoLeaf {
		if cmd.Flags().Changed(flag) {
			return fault.New("usage/argument", "a host that only runs agents is none of a cluster").At("--" + flag)
		}
	}
	if a.Creds == "" {
		return fault.New("usage/argument", "a host that only runs agents needs credentials of a worker").At("--creds").
			Want("loom auth user add NAME --as worker --role ROLE, on a host")
	}
	credentials, err := identity.ReadCredentials(a.Creds)
	if err != nil {
		return err
	}
	c.Listen, c.HTTP = "", ""
	var projects []string
	for _, p := range c.Projects {
		projects = append(projects, p.ID)
	}
	agents := live.Agents(credentials.Name, projects)
	c.Told = agents.Hear
	l, err := host.StartLeaf(cmd.Context(), c, credentials, a.URL)
	if err != nil {
		return err
	}
	defer func() {
		l.Stop(context.Background())
		live.End() // what its agents gave back is said
		if broken := l.BrokenOff(); broken != "" {
			fmt.Fprintln(console.Prose(a.Err, 0), broken)
		}
		fmt.Fprintln(a.Err, "stopped cleanly")
	}()
	a.greetLeaf(l, c)
	a.remember(said, c.Secrets)
	agents.Begin(context.WithoutCancel(cmd.Context()))
	select {
	case <-cmd.Context().Done():
		return nil
	case <-l.Done():
		return l.Reason()
	}
}

func (a *Commands) greetLeaf(l *host.Leaf, c host.Config) {
	fmt.Fprintf(a.Err, "loom %s, agents only, as %s; workspaces in %s\n", host.Version, l.Name(), c.Data)
	for _, r := range l.Roles() {
		fmt.Fprintf(a.Err, "  %s: %d, model %s\n", r.Role, r.Desired, r.Model)
	}
	if !c.Unsandboxed && !l.Sandboxed() {
		fmt.Fprintln(a.Err, "there is no sandbox on this system: tools, checks and hooks that start processes are refused (--unsandboxed allows them)")
	}
	fmt.Fprintln(a.Err, "Ctrl-C gives back what agents work on, and stops")
}
