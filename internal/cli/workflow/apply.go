package workflow

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/cli/approval"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *Commands) applyWorkflow() *cobra.Command {
	var by approval.OrderFlags
	var name string
	cmd := &cobra.Command{
		Use: "apply FILE [flags]", Short: "put a workflow in force, in the place of one of its name", Args: console.Takes("FILE"),
		Long: `Apply validates a workflow file, signs it with the CEO's key and stores it in a
project. What begins from then on is worked by it; executions under way keep the
version that they began with. What comes with Loom no longer takes its place.`,
		Example: "  loom workflow apply small-change.yaml --reason \"two pairs of eyes\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(console.CheckName("--project", name), by.Check(cmd)); err != nil {
				return err
			}
			def, err := a.parse(args[0])
			if err != nil {
				return err
			}
			return a.apply(cmd.Context(), &by, &name, def)
		},
	}
	by.Add(cmd)
	console.ProjectFlag(cmd, &name)
	return cmd
}

// apply signs a definition and presents it over the CEO's own connection.
func (a *Commands) apply(ctx context.Context, by *approval.OrderFlags, named *string, def *loomv1.Definition) error {
	key, err := approval.OpenKey(by.Key)
	if err != nil {
		return err
	}
	return a.With(ctx, func(c *client.Client) error {
		about, err := c.Host(ctx, &loomv1.HostRequest{})
		if err != nil {
			return err
		}
		name := *named
		if name == "" && len(about.Projects) == 1 {
			name = about.Projects[0]
		}
		if name == "" {
			return console.NoProject()
		}
		signed, err := key.Define(about.Deployment, name, &loomv1.ChangeDefinition{Definition: def, Reason: by.Reason})
		if err != nil {
			return err
		}
		ceo, err := client.OpenCEO(a.Target())
		if err != nil {
			return err
		}
		defer ceo.Close()
		if err := ceo.Present(ctx, "define", signed); err != nil {
			return err
		}
		return a.applied(ctx, c, name, def)
	})
}

// applied tells what is in force now.
func (a *Commands) applied(ctx context.Context, c *client.Client, name string, def *loomv1.Definition) error {
	v, err := c.Workflow(ctx, &loomv1.Query{Project: name, Id: def.Name + "@" + processes.Hash(def)})
	if err != nil {
		return err
	}
	d := v.Definitions[0]
	d.Definition = nil
	return a.Print(v, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s is in force in %s\nhash %s\n", d.Name, d.Version, name, d.Hash)
		fmt.Fprintf(w, "executions under way keep the version that they began with\n")
	})
}
