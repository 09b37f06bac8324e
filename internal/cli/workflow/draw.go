package workflow

import (
	"cmp"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/internal/base/fault"
	"github.com/loomrun/loom/internal/base/suggest"
	"github.com/loomrun/loom/internal/cli/console"
	"github.com/loomrun/loom/internal/core/project"
	"github.com/loomrun/loom/internal/craft/drawing"
	"github.com/loomrun/loom/internal/net/client"
	"github.com/loomrun/loom/processes"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

// Drawer is the verb that draws workflows.
type Drawer struct {
	Library
	Format, Output, execution string
}

func (a *Commands) drawWorkflow() *cobra.Command {
	d := &Drawer{Library: Library{App: a}}
	cmd := &cobra.Command{
		Use: "graph [NAME|FILE] [flags]", Short: "draw a workflow, or where an execution of it is", Args: console.Takes("[NAME|FILE]"),
		Long: `Graph draws a workflow of a project, or a file, for Graphviz, for Mermaid or as
SVG. With --execution it draws the workflow that the execution is pinned to, and
how far each node has come. A NAME may go on with @HASH; a FILE has a point or a
slash in its name.`,
		Example: "  loom workflow graph auto-bug-workflow -o process.svg\n  loom workflow graph small-change.yaml --format mermaid\n  loom workflow graph --execution shop-1 -o shop-1.svg",
		RunE:    func(cmd *cobra.Command, args []string) error { return d.run(cmd, args) },
	}
	cmd.Flags().StringVar(&d.Format, "format", "", "`FORMAT`: dot, mermaid or svg (default: what the file is called, else mermaid)")
	cmd.Flags().StringVarP(&d.Output, "output", "o", "", "write to this `FILE`, also -o; - is standard output (default: -)")
	cmd.Flags().StringVar(&d.execution, "execution", "", "`ID` of an execution or its bead, to show how far it is")
	d.flags(cmd)
	return cmd
}

func (d *Drawer) run(cmd *cobra.Command, args []string) error {
	write, err := d.Writer()
	if err != nil {
		return err
	}
	var def *loomv1.Definition
	var x *loomv1.Execution
	switch {
	case d.execution != "" && (len(args) > 0 || d.builtin):
		return fault.New("usage/argument", "an execution has its own workflow").At("--execution").Want("leave NAME and --builtin out")
	case d.execution != "":
		def, x, err = d.running(cmd)
	case len(args) == 0:
		return console.Takes("NAME|FILE")(cmd, args)
	case console.IsFile(args[0]):
		def, err = d.App.parse(args[0])
	default:
		def, err = d.stored(cmd, args[0])
	}
	if err != nil {
		return err
	}
	return d.App.WriteTo(d.Output, write(processes.Picture(def, x)))
}

var drawings = map[string]func(*drawing.Graph) string{
	"dot": (*drawing.Graph).DOT, "mermaid": (*drawing.Graph).Mermaid, "svg": (*drawing.Graph).SVG,
}

// Writer returns how to write the picture.
func (d *Drawer) Writer() (func(*drawing.Graph) string, error) {
	byName := map[string]string{".svg": "svg", ".dot": "dot", ".gv": "dot"}[filepath.Ext(d.Output)]
	format := cmp.Or(d.Format, byName, "mermaid")
	write, ok := drawings[format]
	if !ok {
		return nil, fault.New("usage/argument", "unknown format").At("--format").Got(format).Want("%s", suggest.Among(format, []string{"dot", "mermaid", "svg"}))
	}
	return write, nil
}

func (d *Drawer) running(cmd *cobra.Command) (def *loomv1.Definition, x *loomv1.Execution, err error) {
	if err := cmp.Or(console.CheckID("--execution", d.execution), console.CheckName("--project", d.project)); err != nil {
		return nil, nil, err
	}
	err = d.App.With(cmd.Context(), func(c *client.Client) error {
		v, err := c.Execution(cmd.Context(), &loomv1.Query{Id: d.execution, Project: cmp.Or(d.project, project.Of(d.execution))})
		if err == nil {
			def, x = v.Definition, v.Executions[0]
		}
		return err
	})
	return def, x, err
}

func (d *Drawer) stored(cmd *cobra.Command, id string) (*loomv1.Definition, error) {
	if id == "" {
		return nil, console.CheckToken("NAME", "")
	}
	v, err := d.look(cmd, &loomv1.Query{Id: id})
	if err != nil {
		return nil, err
	}
	return v.Definitions[0].Definition, nil
}

// parse reads a workflow file; what is wrong with it is printed.
func (a *Commands) parse(file string) (*loomv1.Definition, error) {
	data, err := a.ReadFile(file)
	if err != nil {
		return nil, err
	}
	def, err := processes.Parse(file, data, a.RoleSet())
	if err != nil {
		return nil, a.Problems(err)
	}
	return def, nil
}
