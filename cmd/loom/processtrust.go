package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/mcp"
	"github.com/loomrun/loom/internal/toolkit"
	"github.com/loomrun/loom/processes"
)

// packageTools is what is known of the tools that a package brings.
type packageTools struct {
	Process string `json:"process"`
	Digest  string `json:"digest"`
	// State is trusted, untrusted or changed.
	State   string         `json:"state"`
	Files   []string       `json:"files"`
	Tools   []toolkit.Tool `json:"tools,omitempty"`
	Servers []mcp.Pin      `json:"servers,omitempty"`
}

func (a *app) trustProcess() *cobra.Command {
	var show, unsandboxed bool
	cmd := &cobra.Command{
		Use: "trust NAME|FILE [flags]", Short: "let agents use the tools of a package", Args: takes("NAME|FILE"),
		Long: `Trust asks each program in tools/ of a process package what it says of itself,
in the sandbox and without trust in it, shows that, and keeps it on this data
directory together with a copy of all files. Agents that work by the process run
that copy, and are shown what was kept. When a byte of the tools is another one
later, they are not used until they are trusted again. Each host trusts for
itself. --show records nothing.`,
		Example: "  loom process trust tender --show\n  loom process trust tender",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, e, err := a.pick(args[0])
			if err != nil {
				return err
			}
			files, pin, err := a.lookAtTools(cmd.Context(), e, unsandboxed)
			if err != nil {
				return err
			}
			if !show {
				if err := toolkit.NewTrust(a.data).Add(pin, files); err != nil {
					return err
				}
			}
			t := a.toolsOf(e)
			if t.take(pin); show && t.State != "trusted" {
				t.State = "untrusted"
			}
			return a.printAny(t, func(w io.Writer) { toolsInFull(w, t) })
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "show what they say, and record nothing")
	cmd.Flags().BoolVar(&unsandboxed, "unsandboxed", false, "start them on this machine as it is")
	return cmd
}

func (a *app) revokeProcess() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "take back the trust in a package's tools", Args: takes("NAME"),
		Long: `Revoke takes back all trust in the tools of a process of this name. Turns that
begin from now on do not get them: work by the process is refused.`,
		Example: "  loom process revoke tender",
		RunE: func(_ *cobra.Command, args []string) error {
			if err := toolkit.NewTrust(a.data).Remove(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.err, "no tools of %s are trusted any more\n", printable(args[0]))
			return nil
		},
	}
}

// lookAtTools reads the tools of a package, and asks them what they are.
func (a *app) lookAtTools(ctx context.Context, e *processes.Entry, unsandboxed bool) ([]processes.ToolFile, toolkit.Pin, error) {
	files, err := e.Tools()
	if err != nil {
		return nil, toolkit.Pin{}, err
	}
	pin, err := host.LookAtTools(ctx, e.Name, files, a.data, unsandboxed)
	return files, pin, err
}

// trustTools trusts the tools of a process on another data directory.
func (a *app) trustTools(ctx context.Context, data string, e *processes.Entry, unsandboxed bool) error {
	if e.Definition.GetToolkit() == "" {
		return nil
	}
	files, pin, err := a.lookAtTools(ctx, e, unsandboxed)
	if err != nil {
		return err
	}
	return toolkit.NewTrust(data).Add(pin, files)
}

// toolsOf is what is known of a process's tools without running any; nil for
// one that brings none.
func (a *app) toolsOf(e *processes.Entry) *packageTools {
	digest := e.Definition.GetToolkit()
	if digest == "" {
		return nil
	}
	t := &packageTools{Process: e.Name, Digest: digest, State: "untrusted"}
	if files, err := e.Tools(); err == nil {
		for _, f := range files {
			t.Files = append(t.Files, f.Name)
		}
	}
	pin, _, err := toolkit.NewTrust(a.data).Open(e.Name, digest)
	switch {
	case err == nil:
		t.State = "trusted"
		t.take(pin)
	case fault.Code(err) == "process/tool-changed":
		t.State = "changed"
	}
	return t
}

func (t *packageTools) take(pin toolkit.Pin) {
	t.Tools = pin.Tools
	if len(pin.Servers) > 0 {
		_ = json.Unmarshal(pin.Servers, &t.Servers) // what is damaged is refused when it is used
	}
}

// toolsText says in a line what tools a package brings, and what would trust
// them.
func toolsText(w io.Writer, t *packageTools) {
	if t == nil {
		return
	}
	fmt.Fprintf(w, "\ntools of the package, %s: %s\n", t.State, dash(plainly(strings.Join(t.Files, ", "))))
	for _, one := range t.Tools {
		fmt.Fprintf(w, "  %s, %s: %s\n", one.FullName(), one.Class, line(one.Description, 80))
	}
	for _, s := range t.Servers {
		fmt.Fprintf(w, "  %s\n", count(len(s.Tools), "tool")+" of the server "+printable(s.Server))
	}
	if t.State != "trusted" {
		fmt.Fprintf(w, "  agents get them after: loom process trust %s\n", printable(t.Process))
	}
}

// toolsInFull shows all that is put before a model.
func toolsInFull(w io.Writer, t *packageTools) {
	fmt.Fprintf(w, "%s, %s: %s\ndigest %s\n", printable(t.Process), t.State, dash(plainly(strings.Join(t.Files, ", "))), t.Digest)
	for _, one := range t.Tools {
		fmt.Fprintf(w, "\n%s, %s, at most %s, from %s\n", one.FullName(), classText(one.Class), one.Timeout(), plainly(one.Program))
		saysOfItself(w, one.Description, one.Schema)
	}
	for _, s := range t.Servers {
		for _, one := range s.Tools {
			showTool(w, host.PackagedName(s.Server, one.Name), one)
		}
	}
}

func classText(class string) string {
	return map[string]string{"read": "reads", "write": "writes files", "exec": "may change things, and is not repeated blindly"}[class]
}
