package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/identity"
)

// noLeaf are the flags of "loom up" that would make the host another kind of
// one. Those that mean nothing to it, such as --listen, are not heeded: a
// configuration file may have them for all hosts.
var noLeaf = []string{"join", "cluster", "cluster-listen", "cluster-advertise", "routes"}

// upLeaf runs a host that only runs agents, until it is interrupted or not let
// in any more.
func (a *app) upLeaf(cmd *cobra.Command, c host.Config) error {
	for _, flag := range noLeaf {
		if cmd.Flags().Changed(flag) {
			return fault.New("usage/argument", "a host that only runs agents is none of a cluster").At("--" + flag)
		}
	}
	if a.creds == "" {
		return fault.New("usage/argument", "a host that only runs agents needs credentials of a worker").At("--creds").
			Want("loom auth user add NAME --as worker --role ROLE, on a host")
	}
	credentials, err := identity.ReadCredentials(a.creds)
	if err != nil {
		return err
	}
	c.Listen, c.HTTP = "", ""
	l, err := host.StartLeaf(cmd.Context(), c, credentials, a.url)
	if err != nil {
		return err
	}
	defer func() {
		l.Stop(context.Background())
		fmt.Fprintln(a.err, "stopped cleanly")
	}()
	a.greetLeaf(l, c)
	select {
	case <-cmd.Context().Done():
		return nil
	case <-l.Done():
		return l.Reason()
	}
}

func (a *app) greetLeaf(l *host.Leaf, c host.Config) {
	fmt.Fprintf(a.err, "loom %s, agents only, as %s; workspaces in %s\n", host.Version, l.Name(), c.Data)
	for _, r := range l.Roles() {
		fmt.Fprintf(a.err, "  %s: %d, model %s\n", r.Role, r.Desired, r.Model)
	}
	if !c.Unsandboxed && !l.Sandboxed() {
		fmt.Fprintln(a.err, "there is no sandbox on this system: tools, checks and hooks that start processes are refused (--unsandboxed allows them)")
	}
	fmt.Fprintln(a.err, "Ctrl-C gives back what agents work on, and stops")
}
