package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/agents/mcp"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/outside"
)

// lookedAt is a server with what is known of it.
type lookedAt struct {
	mcp.Server
	// State is trusted, untrusted or changed.
	State   string `json:"state"`
	Network bool   `json:"network,omitempty"`
	// Unsandboxed says that it was trusted as it was on the machine as it is.
	Unsandboxed bool       `json:"unsandboxed,omitempty"`
	Variables   []string   `json:"variables,omitempty"`
	Tools       []mcp.Tool `json:"tools,omitempty"`
	Changes     []string   `json:"changes,omitempty"`
}

// serverFlags are where servers are named, and how they run while they are
// looked at.
type serverFlags struct {
	file, workspace string
	unsandboxed     bool
}

func (f *serverFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "file", mcp.FileName, "`FILE` that names the servers")
	cmd.Flags().StringVar(&f.workspace, "workspace", ".", "`DIR` that a server sees while it is looked at")
	cmd.Flags().BoolVar(&f.unsandboxed, "unsandboxed", false, "start it on this machine as it is")
}

func (a *Commands) mcpList() *cobra.Command {
	var f serverFlags
	var look bool
	cmd := &cobra.Command{
		Use: "list [flags]", Short: "list servers that a file names, and whether they are trusted", Args: console.Takes(),
		Long: `List shows the servers that a .mcp.json names, and whether agents of this data
directory's host may use them. With --look it starts each trusted one, in the
sandbox, and says whether its tools are still described as they were.

Agents get the tools of trusted servers that their role allows, by the names
mcp_SERVER_TOOL; a role allows all of a server's with "mcp_SERVER_*".`,
		Example: "  loom mcp list --look",
		RunE: func(cmd *cobra.Command, _ []string) error {
			servers, pins, err := a.trusted(f)
			if err != nil {
				return err
			}
			var list []lookedAt
			for _, s := range servers {
				l := knownServer(s, pins)
				if look && l.State == "trusted" {
					now, err := outside.LookAtServer(cmd.Context(), s, a.Data, f.workspace, host.Version, l.Network, f.unsandboxed)
					if err != nil {
						return err
					}
					if l.Changes = (mcp.Pin{Tools: l.Tools}).Changes(now); len(l.Changes) > 0 {
						l.State = "changed"
					}
				}
				list = append(list, l)
			}
			return a.showServers(list)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&look, "look", false, "start trusted servers and compare")
	return cmd
}

func (a *Commands) mcpTrust() *cobra.Command {
	var f serverFlags
	var network, show bool
	cmd := &cobra.Command{
		Use: "trust SERVER [flags]", Short: "let agents use a server as it describes itself now", Args: console.Takes("SERVER"),
		Long: `Trust starts the server, in the sandbox and without trust in it, shows what it
says of its tools, and records that: how the server is started, and the name,
description and schema of each tool. Agents are shown what is recorded. When the
server says anything else later, it is not used until it is trusted again.

Read what it says: a description is put before a model. What a server says about
only reading is believed from then on. --show records nothing.`,
		Example: "  loom mcp trust files --show\n  loom mcp trust files",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.serverNamed(f, args[0])
			if err != nil {
				return err
			}
			tools, err := outside.LookAtServer(cmd.Context(), s, a.Data, f.workspace, host.Version, network, f.unsandboxed)
			if err != nil {
				return err
			}
			l := lookedAt{Server: s, State: "untrusted", Network: network, Variables: s.Variables(), Tools: tools}
			if !show {
				if err := mcp.NewTrust(a.Data).Add(mcp.Pin{Server: s.Name, Launch: s.Digest(), Tools: tools, Network: network, Unsandboxed: f.unsandboxed && s.Command != "", At: time.Now().UTC()}); err != nil {
					return err
				}
				l.State, l.Unsandboxed = "trusted", f.unsandboxed && s.Command != ""
			}
			return a.showServer(l)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&network, "network", false, "let the server's process use the network")
	cmd.Flags().BoolVar(&show, "show", false, "show what it says, and record nothing")
	return cmd
}

func (a *Commands) mcpRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke SERVER", Short: "take back the trust in a server", Args: console.Takes("SERVER"),
		Long: `Revoke takes back all trust in a server of this name. Agents do not get its
tools in turns that begin from now on; a turn that has begun keeps them.`,
		Example: "  loom mcp revoke files",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := mcp.NewTrust(a.Data).Remove(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "nothing of %s is trusted any more\n", console.Printable(args[0]))
			return nil
		},
	}
}

// trusted reads the servers that a file names, and what is trusted.
func (a *Commands) trusted(f serverFlags) ([]mcp.Server, []mcp.Pin, error) {
	servers, err := outside.ReadServers(f.file)
	if err != nil && fault.Code(err) == "" {
		err = fault.New("usage/argument", "cannot be read").At(f.file).Because(err)
	}
	if err != nil {
		return nil, nil, err
	}
	pins, err := mcp.NewTrust(a.Data).Pins()
	return servers, pins, err
}

func (a *Commands) serverNamed(f serverFlags, name string) (mcp.Server, error) {
	servers, _, err := a.trusted(f)
	if err != nil {
		return mcp.Server{}, err
	}
	var names []string
	for _, s := range servers {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return mcp.Server{}, fault.New("mcp/unknown", "the file names no such server").At(f.file).Got(name).Want("%s", suggest.Among(name, names))
}

// knownServer is what is known of a server without asking it.
func knownServer(s mcp.Server, pins []mcp.Pin) lookedAt {
	l := lookedAt{Server: s, State: "untrusted", Variables: s.Variables()}
	for _, p := range pins {
		switch {
		case p.Server == s.Name && p.Launch == s.Digest():
			l.State, l.Tools, l.Network, l.Unsandboxed, l.Changes = "trusted", p.Tools, p.Network, p.Unsandboxed, nil
			return l
		case p.Server == s.Name:
			l.State, l.Changes = "changed", []string{"it is started or reached differently than when it was trusted"}
		}
	}
	return l
}

func (a *Commands) showServers(list []lookedAt) error {
	for _, l := range list {
		if a.JSON {
			if err := a.showServer(l); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.Out, "%-24s %-9s %s\n", console.Printable(l.Name), l.State, console.Line(howReached(l.Server), 80))
		if l.Unsandboxed {
			fmt.Fprintln(a.Out, "  trusted without a sandbox")
		}
		for _, c := range l.Changes {
			fmt.Fprintf(a.Out, "  %s\n", console.Printable(c))
		}
	}
	if len(list) == 0 && !a.JSON {
		fmt.Fprintln(a.Err, "the file names no server")
	}
	return nil
}

func howReached(s mcp.Server) string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

func (a *Commands) showServer(l lookedAt) error {
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(l)
	}
	fmt.Fprintf(a.Out, "%s, %s: %s\n", console.Printable(l.Name), l.State, console.Printable(howReached(l.Server)))
	if len(l.Variables) > 0 {
		fmt.Fprintf(a.Out, "is given %s of the host's environment\n", strings.Join(l.Variables, ", "))
	}
	if l.Network {
		fmt.Fprintln(a.Out, "may use the network")
	}
	if l.Unsandboxed {
		fmt.Fprintln(a.Out, "was trusted without a sandbox, which is on record once an agent uses it")
	}
	for _, t := range l.Tools {
		ShowTool(a.Out, mcp.FullName(l.Name, t.Name), t)
	}
	return nil
}

// ShowTool writes a tool of a server with what it says of itself.
func ShowTool(w io.Writer, name string, t mcp.Tool) {
	class := "may change things"
	if t.ReadOnly {
		class = "says that it only reads"
	}
	fmt.Fprintf(w, "\n%s, %s\n", name, class)
	SaysOfItself(w, t.Description, t.Schema)
}

// SaysOfItself shows what a model is told of a tool: all of it, with what is
// not seen.
func SaysOfItself(w io.Writer, description string, schema json.RawMessage) {
	for part := range strings.SplitSeq(description, "\n") {
		fmt.Fprintf(w, "  %s\n", console.Plainly(part))
	}
	text := string(schema)
	var short bytes.Buffer
	if json.Compact(&short, schema) == nil {
		text = short.String()
	}
	fmt.Fprintf(w, "  arguments: %s\n", console.Plainly(text))
}

// ServerNames completes the names of servers.
func ServerNames(*cobra.Command) (names []string) {
	servers, err := outside.ReadServers(mcp.FileName)
	if err != nil {
		return nil
	}
	for _, s := range servers {
		names = append(names, s.Name)
	}
	return slices.Sorted(slices.Values(names))
}
