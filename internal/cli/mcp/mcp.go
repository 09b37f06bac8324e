package mcp

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/loomrun/loom/internal/base/endpoint"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/internal/net/mcpserver"
)

// MCP returns the command of that name.
func (a *Commands) MCP() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp COMMAND", Short: "the Model Context Protocol: servers for agents, and Loom as one",
		Long: `Mcp says which servers of the Model Context Protocol agents may use (list,
trust, revoke), and offers beads, executions and the decision graph of a host,
and Loom's tools for a directory, to programs that speak it (serve). A host that
serves HTTP offers the same at /mcp, with the tokens of "loom auth token".`,
		Example: "  loom mcp trust files\n  loom mcp serve --workspace .",
		Args:    console.OnlyCommands,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.mcpServe(), a.mcpList(), a.mcpTrust(), a.mcpRevoke())
	return cmd
}

// mcpScopes are what a client of "loom mcp serve" can be allowed.
var mcpScopes = []string{endpoint.Read, endpoint.Submit, endpoint.Operate}

func (a *Commands) mcpServe() *cobra.Command {
	var workspace string
	var write, alone bool
	allow := []string{endpoint.Read}
	cmd := &cobra.Command{
		Use: "serve [flags]", Short: "serve one client on standard input and output", Args: console.Takes(),
		Long: `Serve speaks the Model Context Protocol on standard input and output, as
programs do that an editor or an assistant starts, until its input ends.

The client may read what the host has: projects, beads, executions, events, the
inbox, the decision graph. --allow submit lets it file beads, --allow operate
lets it change beads and the graph. It can never approve. With --workspace it
also gets the tools that read files of that directory, and compute; with --write
those that change them. No tool of these runs a command or asks the network.

The host may be started later, and restarted.`,
		Example: "  loom mcp serve --workspace . --allow read,submit\n" +
			"  {\"mcpServers\": {\"loom\": {\"command\": \"loom\", \"args\": [\"mcp\", \"serve\"]}}}",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.offer(allow, workspace, write, alone)
			if err != nil {
				return err
			}
			return mcpserver.Serve(cmd.Context(), c, io.NopCloser(a.In), unclosed{a.Out})
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&allow, "allow", allow, "what the client may do: `SCOPES` of "+strings.Join(mcpScopes, ", "))
	f.StringVar(&workspace, "workspace", "", "offer the tools for the files of this `DIR`")
	f.BoolVar(&write, "write", false, "with --workspace, also those that change files")
	f.BoolVar(&alone, "without-host", false, "offer the tools alone")
	return cmd
}

// offer puts together what a client gets.
func (a *Commands) offer(allow []string, workspace string, write, alone bool) (mcpserver.Config, error) {
	c := mcpserver.Config{Scopes: allow, Version: host.Version}
	for _, s := range allow {
		if !slices.Contains(mcpScopes, s) {
			return c, fault.New("usage/argument", "there is no such scope").At("--allow").Got(s).Want("%s", suggest.Among(s, mcpScopes))
		}
	}
	if workspace == "" && (write || alone) {
		return c, fault.New("usage/argument", "--write and --without-host need --workspace").At("--workspace")
	}
	if !alone {
		c.Ask = func(ctx context.Context, _, service string, request, reply proto.Message) error {
			return a.With(ctx, func(cl *client.Client) error { return cl.Call(ctx, service, request, reply) })
		}
	}
	if workspace == "" {
		return c, nil
	}
	var err error
	c.Tools, err = host.Workbench(workspace, write)
	return c, err
}

// unclosed is a writer that stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
