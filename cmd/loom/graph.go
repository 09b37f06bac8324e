package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/loomrun/loom/graph"
	"github.com/loomrun/loom/internal/client"
	"github.com/loomrun/loom/internal/fault"
	"github.com/loomrun/loom/internal/project"
	loomv1 "github.com/loomrun/loom/proto/loom/v1"
)

func (a *app) graph() *cobra.Command {
	var format, name string
	show := &cobra.Command{
		Use: "show [BEAD] [flags]", Short: "show the decision graph, or the part about one bead", Args: takes("[BEAD]"),
		Example: "  loom graph show shop-1\n  loom graph show --format mermaid > graph.mmd",
		RunE: func(cmd *cobra.Command, args []string) error {
			write, err := graphFormat(format)
			if err != nil {
				return err
			}
			if err := checkName("--project", name); err != nil {
				return err
			}
			q := &loomv1.Query{Project: name}
			if len(args) == 1 {
				if err := checkID("BEAD", args[0]); err != nil {
					return err
				}
				q.Id, q.Project = args[0], cmp.Or(name, project.Of(args[0]))
			}
			return a.with(cmd.Context(), func(c *client.Client) error {
				v, err := c.Look(cmd.Context(), "graph", q)
				if err != nil {
					return err
				}
				return a.print(v.Graph, func(w io.Writer) { fmt.Fprint(w, write(v.Graph)) })
			})
		},
	}
	show.Flags().StringVar(&format, "format", "text", "`FORMAT`: text, dot or mermaid")
	projectFlag(show, &name)
	return group("graph", "the decision graph", "  loom graph show shop-1", show)
}

func graphFormat(name string) (func(*loomv1.DecisionGraph) string, error) {
	switch name {
	case "text":
		return graph.Text, nil
	case "dot":
		return graph.DOT, nil
	case "mermaid":
		return graph.Mermaid, nil
	}
	return nil, fault.New("usage/argument", "unknown format").At("--format").Got(name).Want("text, dot or mermaid")
}
