package approval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/permission"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/net/client"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// Permission returns the command of that name.
func (a *Commands) Permission() *cobra.Command {
	list := a.Viewer("list", "the permissions that hold", client.Services.Permission, permissionTable)
	list.Example = "  loom permission list --project shop"
	return console.Group("permission", "which tool calls agents may make, and which they ask about",
		"  loom permission list\n  loom permission ask --tool shell --reason \"let me see first\"", list,
		a.permit(permission.Allow, "grant", "let agents make tool calls without asking",
			`Grant lets agents make the tool calls that it matches without a question, also
of tools that their role asks about. It gives no role a tool that it lacks.`,
			"  loom permission grant --role implementer --tool shell --pattern \"go test *\" \\\n    --reason \"tests are harmless\""),
		a.permit(permission.Ask, "ask", "have agents ask before tool calls",
			`Ask has agents ask you before each tool call that it matches: the question comes
to the inbox, the work waits without holding an agent, and goes on when you have
answered with "loom approve" or "loom reject".`,
			"  loom permission ask --tool web_fetch --reason \"let me see where to\""),
		a.permit(permission.Deny, "deny", "refuse tool calls of agents",
			`Deny refuses the tool calls that it matches, whatever else allows them. The
agent is told why, and goes on without.`,
			"  loom permission deny --pattern \"secrets/**\" --reason \"not for agents\""),
		a.permissionAdopt(), a.permissionRevoke())
}

func permissionTable(w io.Writer, v *loomv1.View) {
	defer toolkitTable(w, v)
	if len(v.Permissions) == 0 {
		fmt.Fprintln(w, "nothing is said: what roles have they may use, and ask about what their files say")
		return
	}
	rows := make([][]string, 0, len(v.Permissions))
	for _, p := range v.Permissions {
		rows = append(rows, []string{p.Project, p.Id, project.Word(p.Verdict), cmp.Or(p.Role, "every role"), cmp.Or(p.Tool, "every tool"), console.Dash(console.Line(p.Pattern, 60)), console.Stamp(p.At), console.Line(p.Reason, 80)})
	}
	console.ProjectTable(w, []string{"id", "says", "role", "tool", "on", "since", "why"}, rows)
}

// toolkitTable shows which packages' tools are trusted, if any are.
func toolkitTable(w io.Writer, v *loomv1.View) {
	if len(v.Toolkits) == 0 {
		return
	}
	rows := make([][]string, 0, len(v.Toolkits))
	for _, t := range v.Toolkits {
		rows = append(rows, []string{t.Process, t.Digest[:min(len(t.Digest), 12)], console.Line(strings.Join(t.Tools, ", "), 60), console.Stamp(t.At), console.Line(t.Reason, 80)})
	}
	fmt.Fprintln(w)
	console.Table(w, []string{"process", "digest", "trusted tools", "since", "why"}, rows)
}

// permit is a verb that makes a permission.
func (a *Commands) permit(verdict loomv1.PermissionVerdict, verb, short, long, example string) *cobra.Command {
	var by OrderFlags
	var name string
	p := &loomv1.Permission{Verdict: verdict}
	cmd := &cobra.Command{
		Use: verb + " [flags]", Short: short, Args: console.Takes(), Example: example,
		Long: long + `

A pattern is held against what a call names: a path of the workspace (** is any
number of directories), a command, an address. Of the permissions that match,
one that denies wins, else the newest. It is signed with the CEO's key.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(console.CheckName("--project", name), checkPermission(p, a.RoleSet()), by.Check(cmd)); err != nil {
				return err
			}
			return a.OrderAll(cmd.Context(), &by, map[string]string{"grant": "granted", "ask": "will be asked", "deny": "denied"}[verb], func(_ context.Context, _ *client.Client, about *loomv1.HostReply) ([]Ordered, error) {
				of, err := TheProject(about, name)
				set := &loomv1.SetPermission{Permission: p, Reason: by.Reason}
				return []Ordered{{of, project.PermissionWords(p), &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Permit{Permit: set}}}}, err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.Role, "role", "", "only of the role of this `NAME`")
	f.StringVar(&p.Tool, "tool", "", "only of the tool of this `NAME`")
	f.StringVar(&p.Pattern, "pattern", "", "only what matches this `GLOB`")
	console.ProjectFlag(cmd, &name)
	by.Add(cmd)
	return cmd
}

// checkPermission refuses what would match nothing: a role or tool that there is
// not. Tools of other servers have a name that only their hosts know.
func checkPermission(p *loomv1.Permission, known *roles.Set) error {
	if p.Role != "" {
		r, ok := known.Get(p.Role)
		if !ok {
			return fault.New("role/unknown", "there is no such role").At("--role").Got(p.Role).Want("%s", suggest.Among(p.Role, known.Names()))
		}
		p.Role = r.Name
	}
	if tools := roles.KnownTools(); p.Tool != "" && !slices.Contains(tools, p.Tool) && !strings.HasPrefix(p.Tool, "mcp") && !strings.HasPrefix(p.Tool, "pkg") {
		return fault.New("tool/unknown", "there is no such tool").At("--tool").Got(p.Tool).Want("%s", suggest.Among(p.Tool, tools))
	}
	return permission.Check(p)
}

// TheProject returns the project that was named, or the only one there is. It
// refuses one that there is not.
func TheProject(about *loomv1.HostReply, name string) (string, error) {
	if name == "" && len(about.Projects) == 1 {
		name = about.Projects[0]
	}
	if name == "" {
		return "", console.NoProject()
	}
	if !slices.Contains(about.Projects, name) {
		return "", fault.New("project/unknown", "the deployment has no such project").At("--project").Got(name).Want("%s", suggest.Among(name, about.Projects))
	}
	return name, nil
}

func (a *Commands) permissionAdopt() *cobra.Command {
	var by OrderFlags
	var name string
	var show bool
	cmd := &cobra.Command{
		Use: "adopt [FILE] [flags]", Short: "sign the permissions that a repository's LOOM.md asks for", Args: console.Takes("[FILE]"),
		Long: `Adopt reads the permissions that a file of instructions asks for, LOOM.md where
none is named, and signs with the CEO's key those that do not hold yet. What the
file says has no force by itself, nor has what a later change of it says. A
block of this form asks, where "*" is every tool and role and on are optional:

` + "  ```yaml permissions\n  permissions:\n    - {allow: shell, on: \"go test *\", role: implementer}\n    - {deny: file_write, on: \".github/**\"}\n  ```" + `

--show tells what would be signed, and signs nothing.`,
		Example: "  loom permission adopt --show\n  loom permission adopt --project shop",
		RunE: func(cmd *cobra.Command, args []string) error {
			file := "LOOM.md"
			if len(args) > 0 {
				file = args[0]
			}
			asked, digest, err := a.requested(file)
			if err := cmp.Or(err, console.CheckName("--project", name)); err != nil {
				return err
			}
			if by.Reason == "" {
				by.Reason = fmt.Sprintf("asked for by %s of sha256 %.12s", filepath.Base(file), digest)
			}
			if show {
				return a.showRequested(cmd.Context(), name, asked)
			}
			return a.OrderAll(cmd.Context(), &by, "adopted", func(ctx context.Context, c *client.Client, about *loomv1.HostReply) ([]Ordered, error) {
				of, fresh, err := notHeld(ctx, c, about, name, asked)
				if err == nil && len(fresh) == 0 {
					fmt.Fprintf(a.Err, "all that %s asks for holds already\n", file)
				}
				var list []Ordered
				for _, p := range fresh {
					set := &loomv1.SetPermission{Permission: p, Reason: by.Reason}
					list = append(list, Ordered{of, project.PermissionWords(p), &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Permit{Permit: set}}})
				}
				return list, err
			})
		},
	}
	console.ProjectFlag(cmd, &name)
	by.Add(cmd)
	cmd.Flags().Lookup("reason").Usage = "`TEXT` that says why, for the record (default: the file and its digest)"
	cmd.Flags().BoolVar(&show, "show", false, "tell what would be signed, and sign nothing")
	return cmd
}

// requested returns what a file of instructions asks for, and its digest.
func (a *Commands) requested(file string) ([]*loomv1.Permission, string, error) {
	data, err := a.ReadFile(file)
	if err != nil {
		return nil, "", err
	}
	asked, err := permission.Requested(file, string(data))
	if err != nil {
		return nil, "", err
	}
	if len(asked) == 0 {
		return nil, "", fault.New("permission/invalid", "it asks for no permission").At(file).Want("a block that begins with ```yaml permissions; see loom permission adopt --help")
	}
	for _, p := range asked {
		if err := checkPermission(p, a.RoleSet()); err != nil {
			return nil, "", fault.From(err).At(file)
		}
	}
	return asked, fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

// notHeld returns those of the permissions that do not stand in a project.
func notHeld(ctx context.Context, c *client.Client, about *loomv1.HostReply, name string, asked []*loomv1.Permission) (string, []*loomv1.Permission, error) {
	of, err := TheProject(about, name)
	if err != nil {
		return "", nil, err
	}
	view, err := c.Permission(ctx, &loomv1.Query{Project: of})
	if err != nil {
		return "", nil, err
	}
	fresh := slices.DeleteFunc(slices.Clone(asked), func(p *loomv1.Permission) bool {
		return slices.ContainsFunc(view.Permissions, func(q *loomv1.Permission) bool {
			return p.Verdict == q.Verdict && p.Role == q.Role && p.Tool == q.Tool && p.Pattern == q.Pattern
		})
	})
	return of, fresh, nil
}

func (a *Commands) showRequested(ctx context.Context, name string, asked []*loomv1.Permission) error {
	return a.With(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			return err
		}
		of, fresh, err := notHeld(ctx, c, about, name, asked)
		if err != nil {
			return err
		}
		return a.Print(&loomv1.View{Permissions: fresh}, func(w io.Writer) {
			fmt.Fprintf(w, "%s asked for, %d of them new in %s:\n", console.Count(len(asked), "permission"), len(fresh), of)
			for _, p := range fresh {
				fmt.Fprintf(w, "  %s\n", project.PermissionWords(p))
			}
		})
	})
}

func (a *Commands) permissionRevoke() *cobra.Command {
	var by OrderFlags
	var name string
	cmd := &cobra.Command{
		Use: "revoke PERMISSION [flags]", Short: "take a permission back", Args: console.Takes("PERMISSION"),
		Long: `Revoke ends a permission, whatever it says, from the next tool call on. It is
signed with the CEO's key.`,
		Example: "  loom permission list\n  loom permission revoke p3 --reason \"not needed any more\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(console.CheckToken("PERMISSION", args[0]), console.CheckName("--project", name), by.Check(cmd)); err != nil {
				return err
			}
			return a.OrderAll(cmd.Context(), &by, "revoked", func(_ context.Context, _ *client.Client, about *loomv1.HostReply) ([]Ordered, error) {
				of, err := TheProject(about, name)
				revoke := &loomv1.RevokePermission{Id: args[0], Reason: by.Reason}
				return []Ordered{{of, "permission " + args[0], &loomv1.CeoCommand{Verb: &loomv1.CeoCommand_Revoke{Revoke: revoke}}}}, err
			})
		},
	}
	console.ProjectFlag(cmd, &name)
	by.Add(cmd)
	return cmd
}
