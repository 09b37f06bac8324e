package process

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/agents/mcp"
	"github.com/loomrun/loom/internal/agents/toolkit"
	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	climcp "github.com/loomrun/loom/internal/cli/mcp"
	"github.com/loomrun/loom/internal/host"
	"github.com/loomrun/loom/internal/host/outside"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
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

func (a *Commands) trustProcess() *cobra.Command {
	var show, unsandboxed bool
	var in trustedIn
	cmd := &cobra.Command{
		Use: "trust NAME|FILE [flags]", Short: "let agents use the tools of a package", Args: console.Takes("NAME|FILE"),
		Long: `Trust asks each program in tools/ of a process package what it says of itself,
in the sandbox and without trust in it, shows that, and keeps it on this data
directory together with a copy of all files. Agents that work by the process run
that copy, and are shown what was kept. When a byte of the tools is another one
later, they are not used until they are trusted again. --show records nothing.

That is for this host. With --project it is the CEO's word for a project, signed
with her key: every host of the deployment gets the files, and uses them.`,
		Example: "  loom process trust tender --show\n  loom process trust tender\n  loom process trust tender --project shop --reason \"I have read them\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.check(cmd, show); err != nil {
				return err
			}
			_, e, err := a.Pick(args[0])
			if err != nil {
				return err
			}
			files, pin, err := a.lookAtTools(cmd.Context(), e, unsandboxed)
			switch {
			case err != nil:
				return err
			case in.project != "":
				return a.trustEverywhere(cmd.Context(), &in, pin, files)
			case !show:
				if err := toolkit.NewTrust(a.Data).Add(pin, files); err != nil {
					return err
				}
			}
			t := a.toolsOf(e)
			if t.take(pin); show && t.State != "trusted" {
				t.State = "untrusted"
			}
			return a.PrintAny(t, func(w io.Writer) { toolsInFull(w, t) })
		},
	}
	cmd.Flags().BoolVar(&show, "show", false, "show what they say, and record nothing")
	cmd.Flags().BoolVar(&unsandboxed, "unsandboxed", false, "start them on this machine as it is")
	in.add(cmd)
	return cmd
}

// trustedIn is a project in which tools are trusted on every host, by an order of
// the CEO's; without a name it is this data directory alone.
type trustedIn struct {
	project string
	by      approval.OrderFlags
}

func (t *trustedIn) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.project, "project", "", "on every host, for the project of this `NAME`, signed")
	t.by.Add(cmd)
}

// check refuses a name that is none, and what means nothing together.
func (t *trustedIn) check(cmd *cobra.Command, show bool) error {
	switch {
	case t.project != "" && show:
		return fault.New("usage/argument", "what is only shown is trusted nowhere").At("--project").Want("leave out --show or --project")
	case t.project != "":
		return cmp.Or(console.CheckName("--project", t.project), t.by.Check(cmd))
	case t.by.Reason != "" || t.by.Key != "":
		return fault.New("usage/argument", "without a project nothing is signed").At("--reason").Want("--project NAME, or neither of --reason and --key")
	}
	return nil
}

// trustEverywhere has the deployment keep the tools, and the CEO trust them.
func (a *Commands) trustEverywhere(ctx context.Context, in *trustedIn, pin toolkit.Pin, files []processes.ToolFile) error {
	t, parts, err := outside.Pack(pin, files)
	if err != nil {
		return err
	}
	return approval.New(a.Console).OrderAll(ctx, &in.by, "trusted on every host", func(ctx context.Context, c *client.Client, about *loomv1.HostReply) ([]approval.Ordered, error) {
		of, err := approval.TheProject(about, in.project)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			if _, err := c.Toolkit(ctx, &loomv1.ToolkitPart{Data: part}); err != nil {
				return nil, err
			}
		}
		trust := &loomv1.TrustTools{Toolkit: t, Reason: in.by.Reason}
		what := fmt.Sprintf("%s of process %s, digest %s", strings.Join(t.Tools, ", "), t.Process, t.Digest)
		return []approval.Ordered{{Project: of, About: console.Printable(what), Cmd: &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Trust{Trust: trust}}}}, nil
	})
}

func (a *Commands) distrustEverywhere(ctx context.Context, in *trustedIn, name string) error {
	return approval.New(a.Console).OrderAll(ctx, &in.by, "not trusted any more", func(_ context.Context, _ *client.Client, about *loomv1.HostReply) ([]approval.Ordered, error) {
		of, err := approval.TheProject(about, in.project)
		distrust := &loomv1.DistrustTools{Process: name, Reason: in.by.Reason}
		return []approval.Ordered{{Project: of, About: "tools of process " + console.Printable(name), Cmd: &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Distrust{Distrust: distrust}}}}, err
	})
}

func (a *Commands) revokeProcess() *cobra.Command {
	var in trustedIn
	cmd := &cobra.Command{
		Use: "revoke NAME [flags]", Short: "take back the trust in a package's tools", Args: console.Takes("NAME"),
		Long: `Revoke takes back all trust in the tools of a process of this name, on this data
directory, or with --project the CEO's. Turns that begin from now on do not get
them: work by the process is refused.`,
		Example: "  loom process revoke tender\n  loom process revoke tender --project shop --reason \"they are gone\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := in.check(cmd, false); err != nil {
				return err
			}
			if in.project != "" {
				return a.distrustEverywhere(cmd.Context(), &in, args[0])
			}
			if err := toolkit.NewTrust(a.Data).Remove(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Err, "no tools of %s are trusted any more\n", console.Printable(args[0]))
			return nil
		},
	}
	in.add(cmd)
	return cmd
}

// lookAtTools reads the tools of a package, and asks them what they are.
func (a *Commands) lookAtTools(ctx context.Context, e *processes.Entry, unsandboxed bool) ([]processes.ToolFile, toolkit.Pin, error) {
	files, err := e.Tools()
	if err != nil {
		return nil, toolkit.Pin{}, err
	}
	pin, err := outside.LookAtTools(ctx, e.Name, files, a.Data, host.Version, unsandboxed)
	return files, pin, err
}

// TrustTools trusts the tools of a process on another data directory.
func (a *Commands) TrustTools(ctx context.Context, data string, e *processes.Entry, unsandboxed bool) error {
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
func (a *Commands) toolsOf(e *processes.Entry) *packageTools {
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
	pin, _, err := toolkit.NewTrust(a.Data).Open(e.Name, digest)
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
	fmt.Fprintf(w, "\ntools of the package, %s: %s\n", t.State, console.Dash(console.Plainly(strings.Join(t.Files, ", "))))
	for _, one := range t.Tools {
		fmt.Fprintf(w, "  %s, %s: %s\n", one.FullName(), one.Class, console.Line(one.Description, 80))
	}
	for _, s := range t.Servers {
		fmt.Fprintf(w, "  %s\n", console.Count(len(s.Tools), "tool")+" of the server "+console.Printable(s.Server))
	}
	if t.State != "trusted" {
		fmt.Fprintf(w, "  agents get them after: loom process trust %s\n", console.Printable(t.Process))
	}
}

// toolsInFull shows all that is put before a model.
func toolsInFull(w io.Writer, t *packageTools) {
	fmt.Fprintf(w, "%s, %s: %s\ndigest %s\n", console.Printable(t.Process), t.State, console.Dash(console.Plainly(strings.Join(t.Files, ", "))), t.Digest)
	for _, one := range t.Tools {
		fmt.Fprintf(w, "\n%s, %s, at most %s, from %s\n", one.FullName(), classText(one.Class), one.Timeout(), console.Plainly(one.Program))
		climcp.SaysOfItself(w, one.Description, one.Schema)
	}
	for _, s := range t.Servers {
		for _, one := range s.Tools {
			climcp.ShowTool(w, outside.PackagedName(s.Server, one.Name), one)
		}
	}
}

func classText(class string) string {
	return map[string]string{"read": "reads", "write": "writes files", "exec": "may change things, and is not repeated blindly"}[class]
}
